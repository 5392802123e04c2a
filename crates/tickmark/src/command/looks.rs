//! Wake-ups that are shown while they are measured.

use crate::error::Error;
use crate::progress::View;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tickmark_analysis::sample::Spread;
use tickmark_probe::seen::Seen;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);

/// What is looked at: a file for each CPU that is measured.
pub(super) struct Looks {
    folder: TempDir,
    cpus: Vec<(Option<u32>, Seen)>,
}

impl Looks {
    /// For measurements of these CPUs.
    pub(super) fn new(cpus: &[Option<u32>]) -> Result<Self, Error> {
        let refused = |error: &dyn std::fmt::Display| Error::Refused(format!("--live: {error}"));
        let folder = tempfile::tempdir().map_err(|error| refused(&error))?;
        let seen = |(number, cpu): (usize, &Option<u32>)| {
            let own = Seen::create(&file(folder.path(), number)).map_err(|error| refused(&error))?;
            Ok((*cpu, own))
        };
        let cpus = cpus.iter().enumerate().map(seen).collect::<Result<_, Error>>()?;
        Ok(Self { folder, cpus })
    }

    /// Where the measurement of this number counts.
    pub(super) fn file(&self, number: usize) -> PathBuf {
        file(self.folder.path(), number)
    }

    /// Shows them until `over`, which is told by unparking this thread.
    pub(super) fn show(&self, view: &View, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            std::thread::park_timeout(EVERY);
            let seen = self.cpus.iter().filter_map(|(cpu, seen)| Some((*cpu, Spread::of(&seen.look())?)));
            let seen: Vec<(Option<u32>, Spread)> = seen.collect();
            if !seen.is_empty() {
                view.show(&tickmark_render::seen::text(&seen));
            }
        }
        view.finish();
    }
}

fn file(folder: &Path, number: usize) -> PathBuf {
    folder.join(number.to_string())
}

//! Records of gates beside the recordings: their limits, their claims, and the trials that measure them. A file each in the folder `gates`
//! of the store.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::PathBuf;
use tickmark_analysis::gate::{Figure, Figures};
use tickmark_analysis::report::Unit;
use tickmark_store::files::{SMALL, open_regular, read_regular, write_whole};
use tickmark_store::{Id, Store};
use tickmark_wire::Better;

const FOLDER: &str = "gates";
/// So many trials are kept, the newest.
const MOST: usize = 400;

/// One of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(in crate::command) struct Gate {
    /// The machine and what is measured on it.
    #[serde(default)]
    of: String,
    /// The recordings that new ones are judged by; none: the newest of the earlier ones.
    #[serde(default)]
    pub(in crate::command) baseline: Vec<Id>,
    /// Only those from here on.
    #[serde(default)]
    pub(in crate::command) since: Option<jiff::Timestamp>,
    /// Those that were claimed to differ since one was as before: nobody's earlier ones.
    #[serde(default)]
    pub(in crate::command) claimed: Vec<Id>,
    /// Recordings in which nothing was changed, in the order in which they were made.
    #[serde(default)]
    pub(in crate::command) trials: Vec<Trial>,
}

/// A recording in which nothing was changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::command) struct Trial {
    /// When.
    pub(in crate::command) at: jiff::Timestamp,
    /// The kernel that it was made with.
    pub(in crate::command) kernel: String,
    figures: Vec<BaselineFigure>,
}

/// A figure of it; its unit and direction are those of the recordings that are judged.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct BaselineFigure {
    metric: String,
    figure: String,
    value: f64,
    over: u64,
    contended: bool,
}

impl Trial {
    /// Of a recording that was made now.
    pub(in crate::command) fn new(kernel: &str, figures: Figures) -> Self {
        let kept = |((metric, figure), of): ((String, String), Figure)| {
            let Figure { value, over, contended, .. } = of;
            BaselineFigure { metric, figure, value, over, contended }
        };
        let figures = figures.into_iter().map(kept).collect();
        Self { at: jiff::Timestamp::now(), kernel: kernel.to_owned(), figures }
    }

    /// Its figures.
    pub(in crate::command) fn figures(&self) -> Figures {
        let one = |kept: &BaselineFigure| {
            let BaselineFigure { value, over, contended, .. } = *kept;
            let name = (kept.metric.clone(), kept.figure.clone());
            let (unit, better) = (Unit::Ratio, Better::Lower);
            (name, Figure { value, over, contended, partly: false, unit, better })
        };
        self.figures.iter().map(one).collect()
    }
}

impl Gate {
    fn file(store: &Store, of: &str) -> PathBuf {
        let hash: String = Sha256::digest(of).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        store.root().join(FOLDER).join(format!("{hash}.json"))
    }

    /// Reads the record of this gate; empty where there is no file.
    pub(in crate::command) fn read(store: &Store, of: &str) -> Result<Self, Error> {
        let path = Self::file(store, of);
        match read_regular(&path, SMALL) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error::file("read", path)(error)),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Error::Refused(format!("{}: {error}; delete it, and calibrate again", path.display()))
            }),
        }
    }

    /// Changes it where nobody else does, and writes all of it: whole or not at all.
    pub(in crate::command) fn change(
        store: &Store,
        of: &str,
        change: impl FnOnce(&mut Self),
    ) -> Result<(), Error> {
        let path = Self::file(store, of);
        let folder = store.root().join(FOLDER);
        let failed = |error: std::io::Error| Error::File { path: path.clone(), source: error };
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock =
            open_regular(&folder.join("lock"), File::options().create(true).append(true)).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut gate = Self::read(store, of)?;
        of.clone_into(&mut gate.of);
        change(&mut gate);
        let too_many = gate.trials.len().saturating_sub(MOST);
        gate.trials.drain(..too_many);
        let text = serde_json::to_vec(&gate).map_err(|error| failed(error.into()))?;
        write_whole(&path, &text).map_err(failed)
    }
}

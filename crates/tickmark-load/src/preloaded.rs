//! A command before whose libraries ours is loaded.

use super::started::{self, Scratch, Started};
use std::os::unix::fs::chown;
use std::process::Stdio;
use tickmark_preload::Preload;
use tickmark_probe::ProbeError;

/// It runs, or has run.
pub(super) struct Preloaded {
    /// The process.
    pub(super) started: Started,
    /// The library that counts, and its cost for a read.
    pub(super) preload: Preload,
    /// Gone with this.
    _folder: Scratch,
}

/// Where the library has to be loaded and was not.
pub(super) const NOT_LOADED: &str = "the preloaded library was not loaded: a program with more rights than its user, or a folder from which nothing may be executed";

impl Preloaded {
    /// Starts it in a folder, as a user of this number and group where that is not ours, with what its reads are counted by, on CPUs that it may use.
    ///
    /// # Errors
    /// It cannot be started, or nothing can be written.
    pub(super) fn start(
        words: &[String],
        folder: &str,
        sites: bool,
        cpus: &[u32],
        output: Stdio,
        user: Option<(u32, u32)>,
    ) -> Result<Self, ProbeError> {
        let wrong = |error: std::io::Error| ProbeError::Other(format!("the preloaded library: {error}"));
        let own = Scratch::make("run").map_err(wrong)?;
        let preload = Preload::new(&own.0, sites).map_err(wrong)?;
        let mut command = started::command(words, folder, output, user);
        command.envs(preload.environment());
        if let Some((number, group)) = user {
            // What is counted is written by that user.
            for path in [own.0.clone(), own.0.join("page")] {
                chown(path, Some(number), Some(group)).map_err(wrong)?;
            }
        }
        let started = Started::start(&mut command, cpus)?;
        Ok(Self { started, preload, _folder: own })
    }
}

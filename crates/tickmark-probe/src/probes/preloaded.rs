//! A command before whose libraries ours is loaded.

use crate::sys::limits;
use crate::{Params, ProbeError};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use tickmark_preload::Preload;

/// It runs, or has run.
pub(super) struct Preloaded {
    /// What it was told, as one line.
    pub(super) name: String,
    /// The process.
    pub(super) child: Child,
    /// What was counted, and how long a read takes.
    pub(super) preload: Preload,
    /// Gone with this.
    _folder: Folder,
}

impl Preloaded {
    /// Starts it with what its reads are counted by, on CPUs that it may use. It is of this run's group, and ends with the run at the latest.
    ///
    /// # Errors
    /// It cannot be started, or nothing can be written.
    pub(super) fn start(
        words: &[String],
        params: &Params,
        sites: bool,
        cpus: &[u32],
        output: Stdio,
    ) -> Result<Self, ProbeError> {
        let name = words.join(" ");
        let wrong = |why: String| ProbeError::Other(format!("`{name}`: {why}"));
        let folder =
            Folder::make().map_err(|error| wrong(format!("a folder for the preloaded library: {error}")))?;
        let preload = Preload::new(&folder.0, sites)
            .map_err(|error| wrong(format!("the preloaded library: {error}")))?;
        let mut command = Command::new(words.first().map_or("", String::as_str));
        command.args(&words[1..]).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
        if !params.told("folder").is_empty() {
            command.current_dir(params.told("folder"));
        }
        command.envs(preload.environment());
        limits::end_with_this(&mut command);
        limits::pin(cpus)?;
        let child = command.spawn().map_err(|error| wrong(error.to_string()))?;
        Ok(Self { name, child, preload, _folder: folder })
    }

    /// That it still runs.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn goes_on(&mut self) -> Result<(), ProbeError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.wrong(&format!("ended with {status} while it was measured"))),
            Err(error) => Err(self.wrong(&error.to_string())),
        }
    }

    /// Has it end by itself, and ends it where it does not.
    pub(super) fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        for _ in 0..100 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What is wrong with it.
    pub(super) fn wrong(&self, why: &str) -> ProbeError {
        ProbeError::Other(format!("`{}`: {why}", self.name))
    }
}

/// Where the library has to be loaded and was not.
pub(super) const NOT_LOADED: &str = "the preloaded library was not loaded: a program with more rights than its user, or a folder from which nothing may be executed";

/// For the library and what it counts; gone with this, and with the run.
struct Folder(PathBuf);

impl Folder {
    fn make() -> std::io::Result<Self> {
        let path = std::env::current_dir()?.join(format!("run-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! Programs that a run starts and ends.

use crate::ProbeError;
use crate::sys::limits;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

/// One that runs.
pub(super) struct Started {
    /// What it was told, as one line.
    name: String,
    /// The process.
    pub(super) child: Child,
}

impl Started {
    /// Starts it on CPUs that it may use. It is of this run's group, and ends with the run at the latest.
    ///
    /// # Errors
    /// Those of fork(2) and execve(2).
    pub(super) fn start(command: &mut Command, cpus: &[u32]) -> Result<Self, ProbeError> {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let name = words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        limits::end_with_this(command);
        limits::pin(cpus)?;
        match command.spawn() {
            Ok(child) => Ok(Self { name, child }),
            Err(error) => Err(ProbeError::Other(format!("`{name}`: {error}"))),
        }
    }

    /// What is wrong with it.
    pub(super) fn wrong(&self, why: &str) -> ProbeError {
        ProbeError::Other(format!("`{}`: {why}", self.name))
    }

    /// That it still runs.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn goes_on(&mut self) -> Result<(), ProbeError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.wrong(&format!("ended with {status}"))),
            Err(error) => Err(self.wrong(&error.to_string())),
        }
    }
}

impl Drop for Started {
    /// Has it end by itself, and ends it where it does not.
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        for _ in 0..250 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder in that of the run; gone with this, and with the run.
#[derive(Debug)]
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    /// Makes it; the name is this process's.
    ///
    /// # Errors
    /// Those of mkdir(2).
    pub(super) fn make(name: &str) -> std::io::Result<Self> {
        let path = std::env::current_dir()?.join(format!("{name}-{}", std::process::id()));
        // What is in it is this user's alone.
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

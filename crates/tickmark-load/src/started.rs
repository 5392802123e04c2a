//! Programs that a run starts and ends.

use super::sql::server::as_user;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tickmark_probe::ProbeError;
use tickmark_probe::sys::{limits, segment, tasks};

/// One that runs.
pub(super) struct Started {
    /// Its command line.
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

    /// Ends it and all that it has started, and waits until they are gone.
    pub(super) fn end_all(&mut self) {
        // What is left when its parent has ended is nobody's child that is known: all are looked for before.
        let mut all = tasks::below(self.child.id(), &tasks::all());
        all.reverse();
        for pid in &all {
            if let Some(pid) = rustix::process::Pid::from_raw(*pid as i32) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        let _ = self.child.wait();
        let is_there = |pid: &u32| {
            // One that has ended and was not waited for is no task any more.
            std::fs::read_to_string(format!("/proc/{pid}/stat"))
                .is_ok_and(|status| !status.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
        };
        for _ in 0..200 {
            if !all.iter().any(is_there) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// An error about it.
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

/// Starts a program in a folder, as a user of this number and group where that is not ours.
///
/// # Errors
/// Those of fork(2) and execve(2).
pub(super) fn plain(
    words: &[String],
    folder: &str,
    cpus: &[u32],
    output: Stdio,
    user: Option<(u32, u32)>,
) -> Result<Started, ProbeError> {
    Started::start(&mut command(words, folder, output, user), cpus)
}

/// A command that reads nothing and complains to nobody.
pub(super) fn command(words: &[String], folder: &str, output: Stdio, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(words.first().map_or("", String::as_str));
    command.args(&words[1..]).stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    if !folder.is_empty() {
        command.current_dir(folder);
    }
    as_user(&mut command, user);
    command
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
        segment::remove_of_postgres(&self.0.join("data"));
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! Child processes of the host: each in a group of its own, which a Ctrl-C of this program does not reach. The group ends when its
//! time is over or it is no longer wanted; the child itself also with this program, where that is killed. What it writes is read
//! all the while, so that no full pipe stops it.
//!
//! # Where things are
//!
//! - **What others send**: a line has a length (`process/src/lines.rs`, of the fleet's launchers up to `drive/src/fleet/launch.rs`), a message
//!   of PostgreSQL and of MariaDB too (`database/src/postgres.rs`, `database/src/mariadb.rs`), and so has a file (`store/src/files.rs`). Who connects waits in a
//!   lobby until it has shown the token (`probe/src/session/lobby.rs`).
//! - **What a killed program leaves**: `probe/src/sys/segment.rs` finds shared memory of our own databases, `probe/src/sys/osnoise.rs` has a keeper that puts the
//!   tracer away, `process/src/keeper.rs` one that ends what a launcher started; `tickmark recordings prune` sweeps.
#![forbid(unsafe_code)]

mod keeper;
mod lines;
mod pipe;

pub use keeper::Keeper;
pub use lines::{Line, Lines, text};
pub use pipe::Drained;

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use tickmark_probe::sys::limits;

/// How often it is asked whether a child is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// How long a child that was killed may take to end.
const GRACE: Duration = Duration::from_secs(3);
/// How long what a child left running may hold its output open.
const PATIENCE: Duration = Duration::from_millis(300);

/// A child that was started. Dropped, it ends with all that it started, unless it had ended by itself.
pub struct Child {
    /// Where it reads, if that is a pipe.
    pub stdin: Option<ChildStdin>,
    /// Its standard output, if that is a pipe.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if that is a pipe.
    pub stderr: Option<ChildStderr>,
    id: u32,
    ended: Receiver<Ended>,
    over: bool,
}

/// How it ended, and when after its start.
type Ended = (std::io::Result<ExitStatus>, Duration);

/// How waiting for a child ended. One that did not end by itself was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It ended by itself: how, and the time from its start to its end.
    Exited(ExitStatus, Duration),
    /// Its time was over.
    Late,
    /// Nobody wanted it any longer.
    Stopped,
}

/// How long a child may take.
#[derive(Clone, Copy)]
pub struct Until<'a> {
    /// On the wall; none is as long as it likes.
    pub limit: Option<Duration>,
    /// True if it is no longer wanted. Asked all the while, it may also look at what the child does.
    pub stop: &'a dyn Fn() -> bool,
}

/// Result of a child that was waited for, with its output.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Standard output, at most 16 MiB.
    pub stdout: Vec<u8>,
    /// Standard error, at most 16 MiB.
    pub stderr: Vec<u8>,
}

impl Child {
    /// Starts it. Standard input, output and error are what the command says.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: Command) -> std::io::Result<Self> {
        let Ok(child) = Self::start_after(command, || Ok::<_, std::convert::Infallible>(()));
        child
    }

    /// The same in a thread that first does something whose effects the child inherits: its CPU, its priority.
    ///
    /// # Errors
    /// Outside what that says, inside that it cannot be started.
    pub fn start_after<E: Send + 'static>(
        mut command: Command,
        before: impl FnOnce() -> Result<(), E> + Send + 'static,
    ) -> Result<std::io::Result<Self>, E> {
        command.process_group(0);
        limits::end_with_this(&mut command);
        let (say, started) = channel();
        let (send, ended) = channel();
        // The kernel ends a child with the thread that started it, which therefore waits for it; its end is stamped at once.
        std::thread::spawn(move || {
            let allowed = before();
            let start = Instant::now();
            let child = allowed.map(|()| command.spawn());
            // Its ends of pipes are the child's alone from here on.
            drop(command);
            let spawned = match child {
                Ok(Ok(mut child)) => {
                    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
                    let _ = say.send(Ok(Ok((child.id(), pipes))));
                    let _ = send.send((child.wait(), start.elapsed()));
                    return;
                }
                Ok(Err(error)) => Ok(Err(error)),
                Err(error) => Err(error),
            };
            let _ = say.send(spawned);
        });
        let lost = |_| Ok(Err(std::io::Error::other("the thread that was to start it is gone")));
        let started = started.recv().unwrap_or_else(lost)?;
        Ok(started.map(|(id, (stdin, stdout, stderr))| Self {
            stdin,
            stdout,
            stderr,
            id,
            ended,
            over: false,
        }))
    }

    /// Waits until it ends, its time is over or it is no longer wanted, and ends it then.
    ///
    /// # Errors
    /// It is lost, or cannot be ended: another user's, as behind sudo, or waiting for a device.
    pub fn wait(&mut self, until: &Until<'_>) -> std::io::Result<End> {
        let since = Instant::now();
        loop {
            match self.ended.recv_timeout(LOOK) {
                Ok(ended) => return self.exited(ended),
                Err(RecvTimeoutError::Disconnected) => return Err(std::io::Error::other("it is lost")),
                Err(RecvTimeoutError::Timeout) if (until.stop)() => return self.end(End::Stopped),
                Err(RecvTimeoutError::Timeout)
                    if until.limit.is_some_and(|limit| since.elapsed() > limit) =>
                {
                    return self.end(End::Late);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn exited(&mut self, (status, took): Ended) -> std::io::Result<End> {
        self.over = true;
        status.map(|status| End::Exited(status, took))
    }

    /// Ends it and all that it started, for this reason; or how it ended by itself before.
    fn end(&mut self, why: End) -> std::io::Result<End> {
        if let Ok(ended) = self.ended.try_recv() {
            return self.exited(ended);
        }
        limits::kill_group(self.id);
        // One that cannot be ended is waited for once.
        self.over = true;
        match self.ended.recv_timeout(GRACE) {
            Ok(_) => Ok(why),
            Err(_) => Err(std::io::Error::other(format!("process {} cannot be ended", self.id))),
        }
    }
}

impl Child {
    /// Says how much time of processors it has taken, in steps of a hundredth of a second (proc_pid_stat(5): utime and stime); nothing of one
    /// that is gone.
    pub fn processor_time(&self) -> impl Fn() -> Option<Duration> + use<> {
        let path = format!("/proc/{}/stat", self.id);
        move || {
            let status = std::fs::read_to_string(&path).ok()?;
            // Behind the name, which may have anything in it.
            let mut fields = status.rsplit_once(')')?.1.split_whitespace().skip(11);
            let mut ticks = || fields.next()?.parse::<u64>().ok();
            Some(Duration::from_millis((ticks()? + ticks()?) * 10))
        }
    }

    /// Has the whole group end where this program is killed, and then a command run.
    ///
    /// # Errors
    /// There is no shell.
    pub fn keep(&self, after: &[String]) -> std::io::Result<Keeper> {
        Keeper::start(self.id, after)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.over {
            let _ = self.end(End::Stopped);
        }
    }
}

/// Runs a command to its end with this input, and reads what it writes. What it left running may go on, or ends with it
/// where it is to be `alone`.
///
/// # Errors
/// It cannot be started, or is lost.
pub fn output(
    mut command: Command,
    input: Vec<u8>,
    alone: bool,
    until: &Until<'_>,
) -> std::io::Result<Finished> {
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(Child::start(command)?, input, alone, until)
}

/// The same for one that was started, with all of its pipes.
///
/// # Errors
/// It is lost.
pub fn finish(mut child: Child, input: Vec<u8>, alone: bool, until: &Until<'_>) -> std::io::Result<Finished> {
    if let Some(mut stdin) = child.stdin.take() {
        // It may end before it has read all; how it ended says why.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let (out, err) = (Drained::start(child.stdout.take()), Drained::start(child.stderr.take()));
    let end = child.wait(until);
    if alone {
        limits::kill_group(child.id);
    }
    let patience = Instant::now() + PATIENCE;
    Ok(Finished { end: end?, stdout: out.until(patience), stderr: err.until(patience) })
}

#[cfg(test)]
mod tests;

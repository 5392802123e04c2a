//! A child that was not waited for yet, while it writes.

use super::{COMPLAINT, MOST, PATIENCE};
use crate::sys::{CallError, check, limits};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::Child;
use std::time::Instant;
use tickmark_wire::{ExecutionEnd, Nanos};

/// Reads at once, before it is asked again whether the command is over: as many as a pipe holds.
const CHUNKS: usize = 16;

/// A child that was not waited for yet, with what it wrote.
pub(super) struct Running {
    child: Child,
    handle: OwnedFd,
    /// Standard output and standard error.
    written: [Written; 2],
    reaped: bool,
}

/// What comes out of a pipe.
#[derive(Default)]
struct Written {
    pipe: Option<File>,
    kept: Vec<u8>,
    cut: bool,
}

impl Written {
    fn from_pipe(pipe: Option<OwnedFd>) -> Self {
        let unblocked = |pipe: &OwnedFd| rustix::fs::fcntl_setfl(pipe, rustix::fs::OFlags::NONBLOCK).is_ok();
        Self { pipe: pipe.filter(unblocked).map(File::from), ..Self::default() }
    }

    /// Reads what is there, and keeps at most so much: the beginning, or the end. What never ends is left for the next time.
    fn drain(&mut self, most: usize, beginning: bool) {
        let mut chunk = [0; 64 << 10];
        for _ in 0..CHUNKS {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(count) if beginning => {
                    let room = count.min(most - self.kept.len());
                    self.kept.extend_from_slice(&chunk[..room]);
                    self.cut |= room < count;
                }
                Ok(count) => {
                    self.kept.extend_from_slice(&chunk[..count]);
                    self.kept.drain(..self.kept.len().saturating_sub(most));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.pipe = None,
            }
        }
    }
}

impl Running {
    pub(super) fn new(mut child: Child) -> Result<Self, CallError> {
        // SAFETY: numbers alone.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
        let handle = check("pidfd_open", handle as i32).inspect_err(|_| {
            let _ = child.kill();
        })?;
        // SAFETY: the descriptor that was just given.
        let handle = unsafe { OwnedFd::from_raw_fd(handle) };
        let pipes = [child.stdout.take().map(OwnedFd::from), child.stderr.take().map(OwnedFd::from)];
        Ok(Self { child, handle, written: pipes.map(Written::from_pipe), reaped: false })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    fn drain(&mut self) {
        let [out, err] = &mut self.written;
        out.drain(MOST, true);
        err.drain(COMPLAINT, false);
    }

    /// Until it has ended, while what it writes is read; why it is to be ended, if it did not by itself.
    pub(super) fn wait(&mut self, limit: Nanos, stop: BorrowedFd<'_>) -> Option<ExecutionEnd> {
        let deadline = Instant::now() + limit.to_duration();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(ExecutionEnd::Late);
            }
            let pipes = self.written.iter().filter_map(|written| Some(written.pipe.as_ref()?.as_fd()));
            let watched: Vec<BorrowedFd<'_>> = [self.handle.as_fd(), stop].into_iter().chain(pipes).collect();
            let ready = limits::readable(&watched, Nanos::from(left));
            match ready.as_deref() {
                Ok([true, ..]) => return None,
                Ok([_, true, ..]) | Err(_) => return Some(ExecutionEnd::Stopped),
                Ok(_) => self.drain(),
            }
        }
    }

    /// True if it ends within this time.
    pub(super) fn is_over(&self, time: Nanos) -> bool {
        limits::readable(&[self.handle.as_fd()], time).is_ok_and(|ready| ready[0])
    }

    /// Its number; nobody waits for it any longer.
    pub(super) fn give_up(&mut self) -> u32 {
        self.reaped = true;
        self.id()
    }

    /// Its status and what it used.
    pub(super) fn reap(&mut self) -> Result<(i32, libc::rusage), CallError> {
        let mut status = 0;
        // SAFETY: rusage is plain numbers, for which zero is a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both are valid to write to.
            let found = unsafe { libc::wait4(self.id() as i32, &raw mut status, 0, &raw mut usage) };
            match check("wait4", found) {
                Err(error) if error.errno == libc::EINTR => {}
                other => {
                    self.reaped = true;
                    return other.map(|_| (status, usage));
                }
            }
        }
    }

    /// What it wrote. What it left running may hold its output open, and is not waited for.
    pub(super) fn rest(&mut self) -> (Vec<u8>, Vec<u8>, bool) {
        let patience = Instant::now() + PATIENCE;
        self.drain();
        // What it wrote before it ended may be more than is read at once.
        while self.written[0].pipe.is_some() && Instant::now() < patience {
            let pipes: Vec<BorrowedFd<'_>> =
                self.written.iter().filter_map(|written| Some(written.pipe.as_ref()?.as_fd())).collect();
            let _ = limits::readable(&pipes, Nanos::from(patience.saturating_duration_since(Instant::now())));
            self.drain();
        }
        let [out, err] = &mut self.written;
        (std::mem::take(&mut out.kept), std::mem::take(&mut err.kept), out.cut)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            limits::kill_group(self.id());
            let _ = self.child.wait();
        }
    }
}

//! Another process of ours that answers.

use super::{CallError, check, file, limits};
use std::os::fd::{AsFd, OwnedFd};

/// A child process that runs a closure and ends with us, or when it is dropped.
#[derive(Debug)]
pub struct Peer {
    pid: u32,
}

impl Peer {
    /// Starts a child that runs `body` until it fails, which it does when its pipe is closed.
    ///
    /// # Errors
    /// Those of fork(2).
    pub fn start(body: impl FnOnce() -> Result<(), CallError>) -> Result<Self, CallError> {
        let parent = std::process::id();
        // SAFETY: called while this process has one thread; the child only runs `body`, which makes
        // system calls, and then leaves without running anything of ours.
        let pid = check("fork", unsafe { libc::fork() })?;
        if pid == 0 {
            let _ = limits::die_with_parent(parent).and_then(|()| body());
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) };
        }
        Ok(Self { pid: pid as u32 })
    }

    /// A child that sends back each byte that it reads, and the two ends to talk to it.
    ///
    /// # Errors
    /// Those of pipe2(2) and fork(2).
    pub fn echo() -> Result<(Self, OwnedFd, OwnedFd), CallError> {
        let (there, to_peer) = file::pipe()?;
        let (from_peer, back) = file::pipe()?;
        let ours = (to_peer, from_peer);
        let mut kept = Some((there, back));
        let peer = Self::start(|| {
            // The child holds copies of our ends; only when they are closed does it see ours close.
            let (there, back) = kept.take().ok_or(CallError { call: "fork", errno: libc::EINVAL })?;
            close(&ours.0);
            close(&ours.1);
            loop {
                file::read_byte(there.as_fd())?;
                file::write_byte(back.as_fd())?;
            }
        })?;
        drop(kept);
        Ok((peer, ours.0, ours.1))
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }
}

fn close(fd: &OwnedFd) {
    use std::os::fd::AsRawFd;
    // SAFETY: only called in a child that leaves by _exit, so the owner never closes it again.
    unsafe { libc::close(fd.as_raw_fd()) };
}

impl Drop for Peer {
    fn drop(&mut self) {
        // SAFETY: our own child, not yet waited for, so its id is not another's.
        unsafe {
            libc::kill(self.pid as libc::pid_t, libc::SIGKILL);
            libc::waitpid(self.pid as libc::pid_t, std::ptr::null_mut(), 0);
        }
    }
}

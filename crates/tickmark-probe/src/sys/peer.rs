//! Another process of ours that answers. When one ends by itself, so does the run: nobody waits for an answer
//! that cannot come.

use super::{CallError, check, file, limits, usage};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

/// With this status a run ends whose peer was ended.
pub const PEER_ENDED: i32 = 97;
/// With this one a run ends whose peer has failed and has said so itself.
pub const PEER_TOLD: i32 = 98;

/// A peer's action when a call of its own fails.
static TELL: OnceLock<Tell> = OnceLock::new();
type Tell = Box<dyn Fn(&CallError) + Send + Sync>;

/// Says how peers tell of a call that failed; they do it themselves, as nobody else knows.
pub fn peers_tell(tell: impl Fn(&CallError) + Send + Sync + 'static) {
    let _ = TELL.set(Box::new(tell));
}

extern "C" fn peer_ended(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a siginfo_t, of SIGCHLD, to handlers that ask for it with SA_SIGINFO.
    let (how, status) = unsafe { ((*info).si_code, (*info).si_status()) };
    let is_reported = how == libc::CLD_EXITED && status == PEER_TOLD;
    // SAFETY: ends the process, which a handler may.
    unsafe { libc::_exit(if is_reported { PEER_TOLD } else { PEER_ENDED }) };
}

/// Errors of a call when the other side is gone.
const GONE: [i32; 3] = [libc::EPIPE, libc::ECONNRESET, libc::ECONNREFUSED];

/// A call failed because the other side is gone: the kernel closes what a peer held before it says that the peer ended. Waits for
/// that, which ends this process.
pub fn let_peers_end(error: &CallError) {
    if GONE.contains(&error.errno) {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Tells why a peer ends; its status. That the other side is gone is no news.
fn last_words(ended: Result<(), CallError>) -> i32 {
    let Err(error) = ended else { return 0 };
    match TELL.get().filter(|_| !GONE.contains(&error.errno)) {
        Some(tell) => {
            tell(&error);
            PEER_TOLD
        }
        None => 0,
    }
}

/// Sets what SIGCHLD does: ends this process, or nothing.
fn end_with_peers(yes: bool) -> Result<(), CallError> {
    let handler = if yes { peer_ended as *const () as usize } else { libc::SIG_DFL };
    super::signal::action(libc::SIGCHLD, handler, libc::SA_SIGINFO | libc::SA_NOCLDSTOP)
}

/// A child process that runs a closure and ends with us, or when it is dropped.
#[derive(Debug)]
pub struct Peer {
    pid: u32,
}

impl Peer {
    /// Starts a child that runs `body` until it fails, which it does when its pipe is closed.
    ///
    /// # Errors
    /// Those of fork(2); EBUSY where this process has more threads than one.
    pub fn start(body: impl FnOnce() -> Result<(), CallError>) -> Result<Self, CallError> {
        let parent = std::process::id();
        // A lock that another thread holds would be held for ever in the child.
        if usage::threads().is_some_and(|threads| threads > 1) {
            return Err(CallError { call: "fork", errno: libc::EBUSY });
        }
        end_with_peers(true)?;
        // SAFETY: this process has one thread; the child only runs `body`, which makes
        // system calls, and then leaves without running anything of ours.
        let pid = check("clone", unsafe { libc::fork() })?;
        if pid == 0 {
            let ended = limits::die_with_parent(parent).and_then(|()| body());
            // SAFETY: ends the process.
            unsafe { libc::_exit(last_words(ended)) };
        }
        Ok(Self { pid: pid as u32 })
    }

    /// A child that answers: `body` is called over and over with its ends, ours being closed in it.
    ///
    /// # Errors
    /// Those of fork(2).
    pub fn serve<T>(
        ours: &[&OwnedFd],
        theirs: T,
        mut body: impl FnMut(&mut T) -> Result<(), CallError>,
    ) -> Result<Self, CallError> {
        let mut theirs = Some(theirs);
        Self::start(|| {
            // The child holds copies of our ends; only when they are closed does it see ours close.
            Self::close(ours.iter().copied());
            let mut theirs = theirs.take().ok_or(CallError { call: "fork", errno: libc::EINVAL })?;
            loop {
                body(&mut theirs)?;
            }
        })
    }

    /// A child that sends back each byte that it reads, and the two ends to talk to it.
    ///
    /// # Errors
    /// Those of pipe2(2) and fork(2).
    pub fn echo() -> Result<(Self, OwnedFd, OwnedFd), CallError> {
        let (there, to_peer) = file::pipe()?;
        let (from_peer, back) = file::pipe()?;
        let peer = Self::serve(&[&to_peer, &from_peer], (there, back), |(there, back)| {
            file::read_byte(there.as_fd())?;
            file::write_byte(back.as_fd())
        })?;
        Ok((peer, to_peer, from_peer))
    }

    /// In a child: closes descriptors that it has copies of.
    pub fn close<'a>(ends: impl Iterator<Item = &'a OwnedFd>) {
        ends.for_each(close);
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }
}

/// Carries out `body` in a child, and waits for it: the signal that ended it, where one did.
///
/// # Errors
/// Those of fork(2); EBUSY where this process has more threads than one.
pub fn apart(body: impl FnOnce()) -> Result<Option<i32>, CallError> {
    if usage::threads().is_some_and(|threads| threads > 1) {
        return Err(CallError { call: "fork", errno: libc::EBUSY });
    }
    let parent = std::process::id();
    // SAFETY: this process has one thread; the child leaves without running anything of ours.
    let pid = check("clone", unsafe { libc::fork() })?;
    if pid == 0 {
        let ready = limits::die_with_parent(parent);
        if ready.is_ok() {
            body();
        }
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(ready.is_err())) };
    }
    let mut status = 0;
    // SAFETY: our own child.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    Ok(libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)))
}

fn close(fd: &OwnedFd) {
    use std::os::fd::AsRawFd;
    // SAFETY: only called in a child that leaves by _exit, so the owner never closes it again.
    unsafe { libc::close(fd.as_raw_fd()) };
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = end_with_peers(false);
        // SAFETY: our own child, not yet waited for, so its id is not another's.
        unsafe {
            libc::kill(self.pid as libc::pid_t, libc::SIGKILL);
            libc::waitpid(self.pid as libc::pid_t, std::ptr::null_mut(), 0);
        }
    }
}

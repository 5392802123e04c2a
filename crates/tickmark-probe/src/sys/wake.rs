//! Ways to wake another process or to ask the kernel what is ready: futex, eventfd, epoll; and the CPU number.

use super::{CallError, check, check_long};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Waits until the word is no longer `while_at`.
///
/// # Errors
/// Those of futex(2) but EAGAIN and EINTR.
#[inline(always)]
pub fn futex_wait(word: &AtomicU32, while_at: u32) -> Result<(), CallError> {
    while word.load(Ordering::Acquire) == while_at {
        let none = std::ptr::null::<libc::timespec>();
        // SAFETY: the word outlives the call; no time limit.
        let done = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, while_at, none) };
        match check_long("futex", done) {
            Err(CallError { errno: libc::EAGAIN | libc::EINTR, .. }) | Ok(_) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sets the word and wakes the one that waits for it.
///
/// # Errors
/// Those of futex(2).
#[inline(always)]
pub fn futex_wake(word: &AtomicU32, value: u32) -> Result<(), CallError> {
    word.store(value, Ordering::Release);
    // SAFETY: the word outlives the call.
    check_long("futex", unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) })
        .map(drop)
}

/// A counter to wait for.
///
/// # Errors
/// Those of eventfd2(2).
pub fn eventfd() -> Result<OwnedFd, CallError> {
    // SAFETY: no pointers.
    let fd = check("eventfd2", unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Adds one to the counter.
///
/// # Errors
/// Those of write(2).
#[inline(always)]
pub fn eventfd_add(fd: BorrowedFd<'_>) -> Result<(), CallError> {
    let one = 1u64;
    // SAFETY: eight bytes are valid to read.
    let count = unsafe { libc::write(fd.as_raw_fd(), (&raw const one).cast(), 8) };
    if count == 8 { Ok(()) } else { Err(CallError::last("write")) }
}

/// Waits until the counter is not zero and takes it.
///
/// # Errors
/// Those of read(2).
#[inline(always)]
pub fn eventfd_take(fd: BorrowedFd<'_>) -> Result<(), CallError> {
    let mut count = 0u64;
    // SAFETY: eight bytes are valid to write.
    let read = unsafe { libc::read(fd.as_raw_fd(), (&raw mut count).cast(), 8) };
    if read == 8 { Ok(()) } else { Err(CallError::last("read")) }
}

/// A set of descriptors that the kernel watches.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

impl Epoll {
    /// Watches these descriptors for something to read.
    ///
    /// # Errors
    /// Those of epoll_create1(2) and epoll_ctl(2).
    pub fn new<'a>(fds: impl IntoIterator<Item = BorrowedFd<'a>>) -> Result<Self, CallError> {
        // SAFETY: no pointers.
        let fd = check("epoll_create1", unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the kernel has just given us this descriptor.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        for watched in fds {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            let (fd, add) = (watched.as_raw_fd(), libc::EPOLL_CTL_ADD);
            // SAFETY: `event` is valid to read.
            check("epoll_ctl", unsafe { libc::epoll_ctl(epoll.as_raw_fd(), add, fd, &raw mut event) })?;
        }
        Ok(Self(epoll))
    }

    /// How many are ready, at most 128, without waiting.
    ///
    /// # Errors
    /// Those of epoll_wait(2).
    #[inline(always)]
    pub fn ready(&self) -> Result<i32, CallError> {
        let mut events = [const { std::mem::MaybeUninit::<libc::epoll_event>::uninit() }; 128];
        // SAFETY: room for 128 events, which the kernel fills and nobody reads.
        check("epoll_wait", unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr().cast(), 128, 0)
        })
    }
}

unsafe extern "C" {
    /// The C library's, which takes the vDSO where there is one.
    fn getcpu(cpu: *mut libc::c_uint, node: *mut libc::c_uint) -> libc::c_int;
}

/// The CPU that this thread is on, from the vDSO where there is one.
///
/// # Errors
/// Those of getcpu(2).
#[inline(always)]
pub fn cpu() -> Result<u32, CallError> {
    let (mut cpu, mut node) = (0, 0);
    // SAFETY: both are valid to write to.
    check("getcpu", unsafe { getcpu(&raw mut cpu, &raw mut node) }).map(|_| cpu)
}

/// The same as a system call.
///
/// # Errors
/// Those of getcpu(2).
#[inline(always)]
pub fn cpu_by_call() -> Result<u32, CallError> {
    let (mut cpu, mut node) = (0u32, 0u32);
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: both are valid to write to; the third argument is unused.
    check_long("getcpu", unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, none) })
        .map(|_| cpu)
}

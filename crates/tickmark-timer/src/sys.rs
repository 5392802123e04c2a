//! The system calls of this crate.

use std::io;
#[cfg(not(loom))]
use std::sync::atomic::AtomicU32;

fn timespec(nanos: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    }
}

/// Sleeps until a time of CLOCK_MONOTONIC, ns; a signal does not cut it short.
///
/// # Errors
/// Those of clock_nanosleep(2) but EINTR: a filter that denies it.
pub(crate) fn sleep_until(nanos: u64) -> io::Result<()> {
    let until = timespec(nanos);
    loop {
        let (clock, how) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
        // SAFETY: `until` is valid to read; no remainder is asked for with an absolute time.
        match unsafe { libc::clock_nanosleep(clock, how, &raw const until, std::ptr::null_mut()) } {
            0 => return Ok(()),
            libc::EINTR => {}
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
    }
}

/// The CPU time of this thread, ns; 0 where it cannot be read.
#[must_use]
pub(crate) fn thread_cpu_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The timer slack of this thread, ns: by so much the kernel may let its sleeps end late. Real-time threads have none, whatever this says.
#[must_use]
pub(crate) fn slack() -> Option<u64> {
    // SAFETY: no pointers.
    u64::try_from(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) }).ok()
}

/// Sets it; whether that was done. 0 would mean the thread's default.
pub(crate) fn set_slack(nanos: u64) -> bool {
    let nanos: libc::c_ulong = nanos.max(1);
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, nanos, 0, 0, 0) == 0 }
}

/// Waits while the word has this value, until a time of CLOCK_MONOTONIC, ns, where one is given. May return without a reason.
#[cfg(not(loom))]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, until: Option<u64>) -> io::Result<()> {
    let until = until.map(timespec);
    let limit = until.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let (how, every) = (libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG, libc::FUTEX_BITSET_MATCH_ANY);
    let no_second = std::ptr::null::<u32>();
    // SAFETY: the word and the limit outlive the call; FUTEX_WAIT_BITSET takes an absolute time of CLOCK_MONOTONIC.
    let done = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), how, value, limit, no_second, every) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        _ if done == 0 => Ok(()),
        Some(libc::EAGAIN | libc::EINTR | libc::ETIMEDOUT) => Ok(()),
        _ => Err(error),
    }
}

/// Wakes the one that waits for the word.
#[cfg(not(loom))]
pub(crate) fn futex_wake(word: &AtomicU32) {
    let how = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call, which only uses its address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), how, 1) };
}

/// Asks for huge pages under a piece of memory that fills some; what the kernel says does not matter.
pub(crate) fn prefer_huge_pages(start: *const u8, bytes: usize) {
    const HUGE: usize = 2 << 20;
    let inside = start.align_offset(HUGE);
    if let Some(rest) = bytes.checked_sub(inside).filter(|rest| *rest >= HUGE) {
        let from = start.wrapping_add(inside).cast_mut().cast();
        // SAFETY: the advice changes no contents, whatever the memory holds.
        unsafe { libc::madvise(from, rest - rest % HUGE, libc::MADV_HUGEPAGE) };
    }
}

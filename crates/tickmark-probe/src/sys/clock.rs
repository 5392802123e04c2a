//! Clocks of the C library and of the kernel.

use super::{CallError, check, check_long};
use tickmark_wire::Nanos;

fn nanos(time: libc::timespec) -> Nanos {
    Nanos::new(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

const NEVER: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// That the processor has RDTSCP, an instruction of x86.
#[derive(Debug, Clone, Copy)]
pub struct Rdtscp(());

impl Rdtscp {
    /// Asks the processor.
    #[must_use]
    pub fn get() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return tickmark_timer::has_rdtscp().then_some(Self(()));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Reads the counter.
    #[must_use]
    #[inline(always)]
    pub fn read(self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a value of this type is only made where the processor has the instruction.
        return unsafe { tickmark_timer::rdtscp() };
        #[cfg(not(target_arch = "x86_64"))]
        tickmark_timer::fenced_counter()
    }
}

/// clock_gettime of the C library, which asks the vDSO where it can.
///
/// # Errors
/// EINVAL for a clock that this kernel lacks.
#[inline(always)]
pub fn read(id: i32) -> Result<Nanos, CallError> {
    let mut now = NEVER;
    // SAFETY: `now` is valid to write to.
    check("clock_gettime", unsafe { libc::clock_gettime(id, &raw mut now) })?;
    Ok(nanos(now))
}

/// clock_gettime as a system call.
///
/// # Errors
/// EINVAL for a clock that this kernel lacks.
#[inline(always)]
pub fn read_by_syscall(id: i32) -> Result<Nanos, CallError> {
    let mut now = NEVER;
    // SAFETY: `now` is valid to write to.
    check_long("clock_gettime", unsafe { libc::syscall(libc::SYS_clock_gettime, id, &raw mut now) })?;
    Ok(nanos(now))
}

/// Resolution of a clock as the kernel states it.
///
/// # Errors
/// EINVAL for a clock that this kernel lacks.
pub fn resolution(id: i32) -> Result<Nanos, CallError> {
    let mut step = NEVER;
    // SAFETY: `step` is valid to write to.
    check("clock_getres", unsafe { libc::clock_getres(id, &raw mut step) })?;
    Ok(nanos(step))
}

/// gettimeofday of the C library.
///
/// # Errors
/// None that is documented for a valid pointer.
#[inline(always)]
pub fn gettimeofday() -> Result<i64, CallError> {
    let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: `now` is valid to write to; a null time zone is allowed.
    check("gettimeofday", unsafe { libc::gettimeofday(&raw mut now, std::ptr::null_mut()) })?;
    Ok(now.tv_usec)
}

/// gettimeofday as a system call.
///
/// # Errors
/// ENOSYS where the kernel lacks it.
#[inline(always)]
pub fn gettimeofday_by_syscall() -> Result<i64, CallError> {
    let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let zone = std::ptr::null_mut::<libc::timezone>();
    // SAFETY: `now` is valid to write to; a null time zone is allowed.
    check_long("gettimeofday", unsafe { libc::syscall(libc::SYS_gettimeofday, &raw mut now, zone) })?;
    Ok(now.tv_usec)
}

/// time() of the C library, in seconds.
#[must_use]
#[inline(always)]
pub fn time() -> i64 {
    // SAFETY: a null pointer is allowed.
    unsafe { libc::time(std::ptr::null_mut()) }
}

/// time() as a system call.
///
/// # Errors
/// ENOSYS where the architecture has none.
#[inline(always)]
pub fn time_by_syscall() -> Result<i64, CallError> {
    let number = crate::Syscall::Time.number().ok_or(CallError { call: "time", errno: libc::ENOSYS })?;
    let none = std::ptr::null_mut::<libc::time_t>();
    // SAFETY: a null pointer is allowed.
    check_long("time", unsafe { libc::syscall(number, none) })
}

/// Sleeps until a time of CLOCK_MONOTONIC; a signal does not cut it short.
///
/// # Errors
/// Those of clock_nanosleep(2) but EINTR.
pub fn sleep_until(when: Nanos) -> Result<(), CallError> {
    let target = libc::timespec { tv_sec: when.get() / 1_000_000_000, tv_nsec: when.get() % 1_000_000_000 };
    loop {
        // SAFETY: `target` is valid to read; no remainder is asked for with an absolute time.
        let errno = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const target,
                std::ptr::null_mut(),
            )
        };
        match errno {
            0 => return Ok(()),
            libc::EINTR => {}
            errno => return Err(CallError { call: "clock_nanosleep", errno }),
        }
    }
}

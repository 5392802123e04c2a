//! The ways in which Linux lets a program wait for a time.

use super::{CallError, check, check_long, clock};
use io_uring::{IoUring, opcode, types};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tickmark_timer::{Options, Sleeper, monotonic_ns};

/// A way to wait for a time of CLOCK_MONOTONIC, ready.
pub enum WaitMethod {
    /// clock_nanosleep(2), until a time.
    Nanosleep,
    /// The same, for a while.
    NanosleepRelative,
    /// A descriptor that can be read at that time.
    Timerfd(OwnedFd),
    /// ppoll(2) of nothing, for a while.
    Ppoll,
    /// epoll_pwait2(2) of nothing, for a while.
    EpollPwait2(OwnedFd),
    /// futex(2) on a word that nobody changes, until a time.
    Futex(AtomicU32),
    /// A POSIX timer whose signal is waited for.
    Signal(Timer),
    /// A POSIX timer that calls a function on a thread of the C library's.
    Thread(Timer),
    /// A timeout of io_uring.
    Uring(Box<IoUring>),
    /// The sleeper of tickmark-timer.
    Sleeper(Box<Sleeper>),
    /// The standard library's sleep, for a while.
    Std,
    /// tokio's, on a runtime of this thread alone.
    #[cfg(feature = "tokio")]
    Tokio(tokio::runtime::Runtime),
    /// Not at all: the clock is read until it is time.
    Spin,
}

/// A POSIX timer of this process; the kernel's number of it.
pub struct Timer(libc::timer_t);

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: this is ours, and nobody uses it any more.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// When the timer's thread ran last, ns, and a word that it changes.
static CALLED: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU32 = AtomicU32::new(0);

extern "C" fn called(_: usize) {
    CALLED.store(monotonic_ns(), Ordering::Relaxed);
    CALLS.fetch_add(1, Ordering::Release);
    // SAFETY: a word of the program's own.
    unsafe { libc::syscall(libc::SYS_futex, CALLS.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// `struct sigevent` with the function of SIGEV_THREAD, which the libc crate leaves out (sigevent(3type)).
#[repr(C)]
struct CallsFunction {
    value: usize,
    signal: libc::c_int,
    notify: libc::c_int,
    function: extern "C" fn(usize),
    attributes: *mut libc::c_void,
    rest: [usize; 4],
}

fn span(nanos: u64) -> libc::timespec {
    let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    libc::timespec { tv_sec: seconds as libc::time_t, tv_nsec: rest as libc::c_long }
}

fn expiring(nanos: u64) -> libc::itimerspec {
    libc::itimerspec { it_interval: span(0), it_value: span(nanos) }
}

/// The signal of timers; blocked, so that it can be waited for.
fn signals() -> libc::sigset_t {
    // SAFETY: sigemptyset makes a set of the zeros, and the signal exists.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGRTMIN());
        set
    }
}

impl WaitMethod {
    /// Makes one ready by its name.
    ///
    /// # Errors
    /// Those of the calls that set it up; ENOSYS for a name that is none.
    pub fn from_name(name: &str) -> Result<Self, CallError> {
        let owned = |call, fd| {
            // SAFETY: the kernel has just given us this descriptor.
            check(call, fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
        };
        Ok(match name {
            "nanosleep" => Self::Nanosleep,
            "nanosleep-relative" => Self::NanosleepRelative,
            // SAFETY: no pointers.
            "timerfd" => Self::Timerfd(owned("timerfd_create", unsafe {
                libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC)
            })?),
            "ppoll" => Self::Ppoll,
            // SAFETY: no pointers.
            "epoll_pwait2" => Self::EpollPwait2(owned("epoll_create1", unsafe {
                libc::epoll_create1(libc::EPOLL_CLOEXEC)
            })?),
            "futex" => Self::Futex(AtomicU32::new(0)),
            "posix-signal" => Self::Signal(Timer::signalling()?),
            "posix-thread" => Self::Thread(Timer::calling()?),
            "io_uring" => {
                let ring = IoUring::new(8).map_err(|e| CallError::from_io("io_uring_setup", &e))?;
                Self::Uring(Box::new(ring))
            }
            "sleeper" => Self::Sleeper(Box::new(Sleeper::new(Options::default()))),
            "std" => Self::Std,
            #[cfg(feature = "tokio")]
            "tokio" => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
                Self::Tokio(runtime.map_err(|e| CallError::from_io("epoll_create1", &e))?)
            }
            #[cfg(not(feature = "tokio"))]
            "tokio" => {
                return Err(CallError { call: "tokio, which the static agent has not", errno: libc::ENOSYS });
            }
            "spin" => Self::Spin,
            _ => return Err(CallError { call: "no such way to wait", errno: libc::ENOSYS }),
        })
    }

    /// Waits until a time of CLOCK_MONOTONIC, ns; when it was over. Who was stopped meanwhile waits for the rest.
    ///
    /// # Errors
    /// Those of the calls but EINTR.
    pub fn until(&mut self, target: u64) -> Result<u64, CallError> {
        loop {
            match self.once(target) {
                Err(CallError { errno: libc::EINTR, .. }) => {}
                done => return done,
            }
        }
    }

    fn once(&mut self, target: u64) -> Result<u64, CallError> {
        let ahead = || target.saturating_sub(monotonic_ns()).max(1);
        match self {
            Self::Nanosleep => clock::sleep_until(tickmark_wire::Nanos::new(target as i64))?,
            Self::NanosleepRelative => {
                let time = span(ahead());
                // SAFETY: `time` is valid to read; what is left is not asked for.
                let errno = unsafe {
                    libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &raw const time, std::ptr::null_mut())
                };
                if errno != 0 {
                    return Err(CallError { call: "clock_nanosleep", errno });
                }
            }
            Self::Timerfd(fd) => {
                let (time, none) = (expiring(target.max(1)), std::ptr::null_mut());
                let (fd, how) = (fd.as_raw_fd(), libc::TFD_TIMER_ABSTIME);
                // SAFETY: `time` is valid to read; the old one is not asked for.
                check("timerfd_settime", unsafe { libc::timerfd_settime(fd, how, &raw const time, none) })?;
                let mut count = 0u64;
                // SAFETY: eight bytes are valid to write.
                if unsafe { libc::read(fd, (&raw mut count).cast(), 8) } != 8 {
                    return Err(CallError::last("read"));
                }
            }
            Self::Ppoll => {
                let time = span(ahead());
                // SAFETY: no descriptors, a time that is valid to read, and no signals.
                let none = unsafe { libc::ppoll(std::ptr::null_mut(), 0, &raw const time, std::ptr::null()) };
                check("ppoll", none)?;
            }
            Self::EpollPwait2(fd) => {
                let time = span(ahead());
                let mut event = libc::epoll_event { events: 0, u64: 0 };
                let (call, fd) = (libc::SYS_epoll_pwait2, fd.as_raw_fd());
                let no_signals = std::ptr::null::<libc::sigset_t>();
                // SAFETY: room for one event, a time that is valid to read, and no signals.
                let none = unsafe {
                    libc::syscall(call, fd, &raw mut event, 1, &raw const time, no_signals, size_of::<u64>())
                };
                check_long("epoll_pwait2", none)?;
            }
            Self::Futex(word) => {
                let time = span(target);
                futex_until(word, 0, Some(&time))?;
            }
            Self::Signal(timer) => {
                timer.arm(target)?;
                let set = signals();
                // SAFETY: the set is valid to read; no information is asked for.
                let signal = unsafe { libc::sigwaitinfo(&raw const set, std::ptr::null_mut()) };
                check("rt_sigtimedwait", signal)?;
            }
            Self::Thread(timer) => {
                let before = CALLS.load(Ordering::Acquire);
                timer.arm(target)?;
                while CALLS.load(Ordering::Acquire) == before {
                    futex_until(&CALLS, before, None)?;
                }
                return Ok(CALLED.load(Ordering::Relaxed));
            }
            Self::Uring(ring) => {
                let (seconds, nanos) = (target / 1_000_000_000, (target % 1_000_000_000) as u32);
                let time = types::Timespec::new().sec(seconds).nsec(nanos);
                let entry = opcode::Timeout::new(&raw const time).flags(types::TimeoutFlags::ABS).build();
                let lost = CallError { call: "io_uring_enter", errno: libc::EIO };
                // SAFETY: the time outlives the call, which waits for the completion.
                unsafe { ring.submission().push(&entry) }.map_err(|_| lost)?;
                ring.submit_and_wait(1).map_err(|e| CallError::from_io("io_uring_enter", &e))?;
                match ring.completion().next() {
                    Some(entry) if entry.result() == -libc::ETIME => {}
                    Some(entry) => {
                        return Err(CallError { call: "io_uring timeout", errno: -entry.result() });
                    }
                    None => return Err(lost),
                }
            }
            Self::Sleeper(sleeper) => {
                sleeper.sleep_until(target).map_err(|e| CallError::from_io("clock_nanosleep", &e))?;
            }
            Self::Std => std::thread::sleep(Duration::from_nanos(ahead())),
            #[cfg(feature = "tokio")]
            Self::Tokio(runtime) => {
                let sleep = async { tokio::time::sleep(Duration::from_nanos(ahead())).await };
                runtime.block_on(sleep);
            }
            Self::Spin => while monotonic_ns() < target {},
        }
        Ok(monotonic_ns())
    }
}

fn futex_until(word: &AtomicU32, value: u32, until: Option<&libc::timespec>) -> Result<(), CallError> {
    let until = until.map_or(std::ptr::null(), std::ptr::from_ref);
    let (how, every) = (libc::FUTEX_WAIT_BITSET, libc::FUTEX_BITSET_MATCH_ANY);
    let no_second = std::ptr::null::<u32>();
    // SAFETY: the word and the time outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), how, value, until, no_second, every) };
    match check_long("futex", done) {
        Err(CallError { errno: libc::EAGAIN | libc::EINTR | libc::ETIMEDOUT, .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

impl Timer {
    /// Its signal goes to this thread, which blocks it.
    fn signalling() -> Result<Self, CallError> {
        let set = signals();
        // SAFETY: the set is valid to read; the old mask is not asked for.
        let errno = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if errno != 0 {
            return Err(CallError { call: "rt_sigprocmask", errno });
        }
        // SAFETY: a sigevent of zeros is one of SIGEV_SIGNAL.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGRTMIN();
        event.sigev_notify_thread_id = super::usage::thread_id() as libc::pid_t;
        Self::make(&raw mut event)
    }

    fn calling() -> Result<Self, CallError> {
        let mut event = CallsFunction {
            value: 0,
            signal: 0,
            notify: libc::SIGEV_THREAD,
            function: called,
            attributes: std::ptr::null_mut(),
            rest: [0; 4],
        };
        Self::make((&raw mut event).cast())
    }

    fn make(event: *mut libc::sigevent) -> Result<Self, CallError> {
        let mut timer: libc::timer_t = std::ptr::null_mut();
        // SAFETY: both are valid, and the event has the size and layout of the C library's.
        check("timer_create", unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, event, &raw mut timer) })?;
        Ok(Self(timer))
    }

    fn arm(&self, target: u64) -> Result<(), CallError> {
        let (time, none) = (expiring(target.max(1)), std::ptr::null_mut());
        let how = libc::TIMER_ABSTIME;
        // SAFETY: `time` is valid to read; the old one is not asked for.
        check("timer_settime", unsafe { libc::timer_settime(self.0, how, &raw const time, none) }).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_waits_until_its_time() {
        for name in crate::probes::WAYS.iter().map(|way| way.value) {
            let mut way = match WaitMethod::from_name(name) {
                Ok(way) => way,
                // A container may forbid the one, and this build be without the other.
                Err(error) => {
                    let without = name == "tokio" && !cfg!(feature = "tokio");
                    assert!(name == "io_uring" || without, "{name}: {error}");
                    continue;
                }
            };
            for ahead in [300_000, 50_000, 0] {
                let target = monotonic_ns() + ahead;
                let woke = way.until(target).unwrap();
                assert!(woke + 1_000 >= target, "{name} is {} ns early", target - woke);
            }
        }
        assert_eq!(WaitMethod::from_name("sundial").err().map(|error| error.errno), Some(libc::ENOSYS));
    }
}

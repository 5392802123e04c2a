//! Specification of a probe: list, verify, docs, tables and report come from it.

use crate::case::Parameter;
use tickmark_wire::{Arguments, Better, Group, Headline, Part, Picos, Unit};

/// The definition of a probe and of the metric that it stands for, in the words of the field. `{PARAMETER}` in the metric's name,
/// the title and what is timed is what the probe is told.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The probe's name.
    pub name: &'static str,
    /// The metric's: dotted, without a unit.
    pub metric: &'static str,
    /// Title of a row of the summary.
    pub title: &'static str,
    /// Its chapter.
    pub group: Group,
    /// Its unit.
    pub unit: Unit,
    /// Which way is good.
    pub better: Better,
    /// How observations become a figure.
    pub headline: Headline,
    /// The work between two timestamps.
    pub timed: &'static str,
    /// System calls without which it cannot run.
    pub needs: &'static [Syscall],
    /// Where the definition comes from.
    pub source: &'static str,
    /// A cost below this is refused: no hardware does it.
    pub physical_floor: Picos,
    /// Side effects of one call of the timed step by itself.
    pub expected: Expected,
    /// True if it sleeps by design.
    pub sleeps: bool,
    /// True if its processes may run on any CPU.
    pub roams: bool,
    /// How many slices of the budget a run gets, in tenths of an ordinary probe's.
    pub weight: u32,
    /// True if it works on as much memory as there is: setting that up takes its time, which its limit must leave.
    pub much_memory: bool,
    /// The parts of the metric's figure, where there are more than the whole.
    pub parts: &'static [Part],
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Changes of this specification by the arguments.
    pub tune: fn(&mut Self, &Arguments),
    /// Metrics that its runs give beside the first.
    pub also: &'static [Also],
}

/// Another metric of the same runs.
#[derive(Debug, Clone, Copy)]
pub struct Also {
    /// Its name.
    pub metric: &'static str,
    /// Title of its row.
    pub title: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way is good.
    pub better: Better,
    /// How observations become a figure.
    pub headline: Headline,
}

/// The context switches and page faults that one call of the timed step makes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Context switches of the measuring thread, voluntary or not; none where their number is the kernel's to say.
    pub switches: Option<u32>,
    /// Page faults of the measuring thread; none where their number is not the probe's to say.
    pub faults: Option<u32>,
}

impl Expected {
    /// Neither switches nor faults.
    pub const NONE: Self = Self { switches: Some(0), faults: Some(0) };
    /// Both are the kernel's to say.
    pub const UNKNOWN: Self = Self { switches: None, faults: None };
}

impl Spec {
    /// A cost in time, lower is better, one slice of the budget, no switches and no faults.
    #[must_use]
    pub const fn cost(group: Group, name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            metric: name,
            title,
            group,
            unit: Unit::Time,
            better: Better::Lower,
            headline: Headline::Floor,
            timed: "",
            needs: &[],
            source: "",
            physical_floor: Picos::ZERO,
            expected: Expected::NONE,
            sleeps: false,
            roams: false,
            weight: 10,
            much_memory: false,
            parts: &[],
            parameters: &[],
            tune: |_, _| {},
            also: &[],
        }
    }
}

/// The system call that replaces one of x86-64 on other architectures: later ones lack the older of two equivalent calls (Linux,
/// include/uapi/asm-generic/unistd.h).
#[cfg(not(target_arch = "x86_64"))]
macro_rules! elsewhere {
    (name $name:literal $number:ident) => {
        $name
    };
    (name $name:literal $number:ident $other:literal $($there:ident)?) => {
        $other
    };
    (number $name:literal $number:ident) => {
        Some(libc::$number)
    };
    (number $name:literal $number:ident $other:literal) => {
        None
    };
    (number $name:literal $number:ident $other:literal $there:ident) => {
        Some(libc::$there)
    };
}

macro_rules! syscalls {
    ($($variant:ident = $name:literal $number:ident $(or $other:literal $($there:ident)?)?),* $(,)?) => {
        /// A system call that a probe needs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Syscall { $(#[doc = $name] $variant),* }

        impl Syscall {
            /// Every one that a probe names.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name in the kernel's table for this architecture.
            #[must_use]
            pub const fn name(self) -> &'static str {
                #[cfg(target_arch = "x86_64")]
                { match self { $(Self::$variant => $name),* } }
                #[cfg(not(target_arch = "x86_64"))]
                { match self { $(Self::$variant => elsewhere!(name $name $number $($other $($there)?)?)),* } }
            }

            /// Its number on this architecture, where it has it.
            #[must_use]
            pub const fn number(self) -> Option<i64> {
                #[cfg(target_arch = "x86_64")]
                { Some(match self { $(Self::$variant => libc::$number),* }) }
                #[cfg(not(target_arch = "x86_64"))]
                { match self { $(Self::$variant => elsewhere!(number $name $number $($other $($there)?)?)),* } }
            }
        }
    };
}

syscalls! {
    Accept = "accept4" SYS_accept4,
    Bind = "bind" SYS_bind,
    ClockGetres = "clock_getres" SYS_clock_getres,
    ClockGettime = "clock_gettime" SYS_clock_gettime,
    ClockNanosleep = "clock_nanosleep" SYS_clock_nanosleep,
    Clone = "clone" SYS_clone,
    Clone3 = "clone3" SYS_clone3,
    Close = "close" SYS_close,
    Connect = "connect" SYS_connect,
    EpollCreate = "epoll_create1" SYS_epoll_create1,
    EpollCtl = "epoll_ctl" SYS_epoll_ctl,
    EpollPwait2 = "epoll_pwait2" SYS_epoll_pwait2,
    EpollWait = "epoll_wait" SYS_epoll_wait or "epoll_pwait" SYS_epoll_pwait,
    Eventfd = "eventfd2" SYS_eventfd2,
    Execve = "execve" SYS_execve,
    ExitGroup = "exit_group" SYS_exit_group,
    Fcntl = "fcntl" SYS_fcntl,
    Fork = "fork" SYS_fork or "clone" SYS_clone,
    Ftruncate = "ftruncate" SYS_ftruncate,
    Futex = "futex" SYS_futex,
    Getcpu = "getcpu" SYS_getcpu,
    Getsockname = "getsockname" SYS_getsockname,
    Getppid = "getppid" SYS_getppid,
    Gettimeofday = "gettimeofday" SYS_gettimeofday,
    IoUringEnter = "io_uring_enter" SYS_io_uring_enter,
    IoUringSetup = "io_uring_setup" SYS_io_uring_setup,
    Kill = "kill" SYS_kill,
    Listen = "listen" SYS_listen,
    Lseek = "lseek" SYS_lseek,
    Madvise = "madvise" SYS_madvise,
    Mkdir = "mkdir" SYS_mkdir or "mkdirat" SYS_mkdirat,
    Mmap = "mmap" SYS_mmap,
    Mprotect = "mprotect" SYS_mprotect,
    Munmap = "munmap" SYS_munmap,
    Openat = "openat" SYS_openat,
    Pipe2 = "pipe2" SYS_pipe2,
    Poll = "poll" SYS_poll or "ppoll" SYS_ppoll,
    Ppoll = "ppoll" SYS_ppoll,
    Prctl = "prctl" SYS_prctl,
    Pselect = "pselect6" SYS_pselect6,
    Read = "read" SYS_read,
    RtSigaction = "rt_sigaction" SYS_rt_sigaction,
    RtSigreturn = "rt_sigreturn" SYS_rt_sigreturn,
    RtSigtimedwait = "rt_sigtimedwait" SYS_rt_sigtimedwait,
    SchedSetaffinity = "sched_setaffinity" SYS_sched_setaffinity,
    Getsockopt = "getsockopt" SYS_getsockopt,
    Setsockopt = "setsockopt" SYS_setsockopt,
    Socket = "socket" SYS_socket,
    Socketpair = "socketpair" SYS_socketpair,
    Stat = "newfstatat" SYS_newfstatat,
    Time = "time" SYS_time or "time",
    TimerCreate = "timer_create" SYS_timer_create,
    TimerSettime = "timer_settime" SYS_timer_settime,
    TimerfdCreate = "timerfd_create" SYS_timerfd_create,
    TimerfdSettime = "timerfd_settime" SYS_timerfd_settime,
    Unlink = "unlink" SYS_unlink or "unlinkat" SYS_unlinkat,
    Vfork = "vfork" SYS_vfork or "clone" SYS_clone,
    Wait4 = "wait4" SYS_wait4,
    Write = "write" SYS_write,
}

/// System calls of every run beside those that its probe names: to get memory, to read the kernel's accounts, to take timestamps, to make
/// its threads, to write the result and to end.
pub const EVERY_RUN: &[(&str, i64)] = &[
    ("brk", libc::SYS_brk),
    ("clock_gettime", libc::SYS_clock_gettime),
    ("close", libc::SYS_close),
    ("exit", libc::SYS_exit),
    ("exit_group", libc::SYS_exit_group),
    ("fstat", libc::SYS_fstat),
    ("getpid", libc::SYS_getpid),
    ("getrusage", libc::SYS_getrusage),
    ("gettid", libc::SYS_gettid),
    ("lseek", libc::SYS_lseek),
    ("madvise", libc::SYS_madvise),
    ("mmap", libc::SYS_mmap),
    ("mprotect", libc::SYS_mprotect),
    ("mremap", libc::SYS_mremap),
    ("munmap", libc::SYS_munmap),
    ("newfstatat", libc::SYS_newfstatat),
    ("openat", libc::SYS_openat),
    ("prctl", libc::SYS_prctl),
    ("pread64", libc::SYS_pread64),
    ("read", libc::SYS_read),
    ("rseq", libc::SYS_rseq),
    ("rt_sigaction", libc::SYS_rt_sigaction),
    ("rt_sigprocmask", libc::SYS_rt_sigprocmask),
    ("rt_sigreturn", libc::SYS_rt_sigreturn),
    ("sched_getaffinity", libc::SYS_sched_getaffinity),
    ("set_robust_list", libc::SYS_set_robust_list),
    ("sigaltstack", libc::SYS_sigaltstack),
    ("statx", libc::SYS_statx),
    ("write", libc::SYS_write),
    ("writev", libc::SYS_writev),
];

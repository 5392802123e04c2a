//! What a probe says of itself: list, verify, docs, tables and report come from it.

use tickmark_wire::{Better, Group, Headline, Metric, Name, Picos, Unit};

/// The definition of a metric, in the words of the field.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// Dotted name, without a unit.
    pub name: &'static str,
    /// What a row of the summary calls it.
    pub title: &'static str,
    /// Its chapter.
    pub group: Group,
    /// What it counts.
    pub unit: Unit,
    /// Which way is good.
    pub better: Better,
    /// How observations become a figure.
    pub headline: Headline,
    /// What happens between two stamps.
    pub timed: &'static str,
    /// System calls without which it cannot run.
    pub needs: &'static [Syscall],
    /// Where the definition comes from.
    pub source: &'static str,
    /// A cost below this is refused: no hardware does it.
    pub physical_floor: Picos,
    /// What one call of the timed step does by itself.
    pub expected: Expected,
    /// Whether it sleeps by design.
    pub sleeps: bool,
    /// How many slices of the budget a run gets, in tenths of an ordinary probe's.
    pub weight: u32,
}

/// The context switches and page faults that one call of the timed step makes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Context switches of the measuring thread, voluntary or not.
    pub switches: u32,
    /// Page faults of the measuring thread; none where their number is not the probe's to say.
    pub faults: Option<u32>,
}

impl Expected {
    /// Neither switches nor faults.
    pub const NONE: Self = Self { switches: 0, faults: Some(0) };
}

impl Spec {
    /// A cost in time, lower is better, one slice of the budget, no switches and no faults.
    #[must_use]
    pub const fn cost(group: Group, name: &'static str, title: &'static str) -> Self {
        Self {
            name,
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
            weight: 10,
        }
    }

    /// The metric as a recording keeps it.
    #[must_use]
    pub fn metric(&self) -> Metric {
        Metric {
            name: Name::new(self.name),
            title: self.title.to_owned(),
            group: self.group,
            unit: self.unit,
            better: self.better,
            headline: self.headline,
            physical_floor: self.physical_floor,
            sleeps: self.sleeps,
        }
    }
}

macro_rules! syscalls {
    ($($variant:ident = $name:literal),* $(,)?) => {
        /// A system call that a probe needs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Syscall { $(#[doc = $name] $variant),* }

        impl Syscall {
            /// Its name in the kernel's table.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }
    };
}

syscalls! {
    Accept = "accept4",
    Bind = "bind",
    ClockGetres = "clock_getres",
    ClockGettime = "clock_gettime",
    ClockNanosleep = "clock_nanosleep",
    Clone = "clone",
    Clone3 = "clone3",
    Close = "close",
    Connect = "connect",
    Dup = "dup",
    Execve = "execve",
    ExitGroup = "exit_group",
    Fork = "fork",
    Futex = "futex",
    Getppid = "getppid",
    Getrusage = "getrusage",
    Gettimeofday = "gettimeofday",
    Kill = "kill",
    Listen = "listen",
    Madvise = "madvise",
    Mmap = "mmap",
    Mprotect = "mprotect",
    Openat = "openat",
    Pipe2 = "pipe2",
    Read = "read",
    RtSigaction = "rt_sigaction",
    RtSigreturn = "rt_sigreturn",
    SchedSetaffinity = "sched_setaffinity",
    Select = "select",
    Socket = "socket",
    Stat = "newfstatat",
    Time = "time",
    Vfork = "vfork",
    Wait4 = "wait4",
    Write = "write",
}

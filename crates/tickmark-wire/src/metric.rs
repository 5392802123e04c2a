//! Name, unit and direction of a number.

use crate::word::vocabulary;
use crate::{Part, Picos};
use serde::{Deserialize, Serialize};

/// The dotted name of a metric, such as `clock.monotonic.read`. It holds no unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Name(String);

impl Name {
    /// A name as it stands in a spec.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

vocabulary! {
    /// Unit of a value. Times are kept in nanoseconds.
    Unit {
        /// Nanoseconds.
        Time = "time",
        /// Cycles a second.
        Frequency = "frequency",
        /// Events a second: packets, transactions.
        Rate = "rate",
        /// A part of one, shown in per cent.
        Share = "share",
        /// A bare number.
        Count = "count",
        /// Bytes a second.
        Throughput = "throughput",
        /// Bytes.
        Bytes = "bytes",
        /// A number of times, such as a speed-up.
        Ratio = "ratio",
    }
}

vocabulary! {
    /// Which way is an improvement.
    Better {
        /// Less is better: costs, errors.
        Lower = "lower",
        /// More is better: rates of work done.
        Higher = "higher",
        /// Neither: a fact such as the tick's rate.
        Neither = "neither",
    }
}

vocabulary! {
    /// The chapter of the summary that a metric belongs to, in the order in which a reader thinks.
    Group {
        /// Reading clocks.
        Clock = "clock",
        /// The timer interrupt that the kernel takes HZ times a second.
        Tick = "tick",
        /// How late a sleep ends.
        Timer = "timer",
        /// System calls, signals, faults.
        SystemCall = "system_call",
        /// Making and ending processes and threads.
        Process = "process",
        /// Files, mappings and page faults.
        File = "file",
        /// Messages and switches between processes.
        Communication = "communication",
        /// Bytes a second through pipes, sockets, files and memory.
        Bandwidth = "bandwidth",
        /// How long a load takes, by the size of what is loaded from.
        Memory = "memory",
        /// Arithmetic on time stamps.
        Timestamp = "timestamp",
        /// Arithmetic of the processor.
        Arithmetic = "arithmetic",
        /// Properties of the processor: clock rate, TLB, cache line, parallel loads.
        Machine = "machine",
        /// Commands of the user: their time, memory, faults, bytes.
        Command = "command",
        /// Probes that misbehave on purpose, to prove the limits; part of no suite.
        Selftest = "selftest",
    }
}

impl Group {
    /// The name of the suite that runs this group.
    #[must_use]
    pub const fn suite(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Tick => "tick",
            Self::Timer => "timer",
            Self::SystemCall => "syscall",
            Self::Process => "process",
            Self::File => "file",
            Self::Communication => "communication",
            Self::Bandwidth => "bandwidth",
            Self::Memory => "memory",
            Self::Timestamp => "timestamp",
            Self::Arithmetic => "arithmetic",
            Self::Machine => "machine",
            Self::Command => "command",
            Self::Selftest => "selftest",
            Self::Other(word) => word.as_str(),
        }
    }

    /// The heading of the group.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Clock => "Clocks",
            Self::Tick => "Tick",
            Self::Timer => "Timers",
            Self::SystemCall => "System calls",
            Self::Process => "Processes",
            Self::File => "Files and virtual memory",
            Self::Communication => "Communication",
            Self::Bandwidth => "Bandwidths",
            Self::Memory => "Memory latency",
            Self::Timestamp => "Time stamp arithmetic",
            Self::Arithmetic => "Processor arithmetic",
            Self::Machine => "Machine",
            Self::Command => "Commands",
            Self::Selftest => "Self-test",
            Self::Other(word) => word.as_str(),
        }
    }
}

vocabulary! {
    /// How the observations of one run become the figure of that run.
    Headline {
        /// The 10th percentile of the batches' cost; beside it stand mean cost and CPU cost.
        Floor = "floor",
        /// The median of latencies or values.
        Median = "median",
        /// The mean of values.
        Mean = "mean",
        /// The smallest positive latency or value.
        Minimum = "minimum",
        /// Rate, cost and share of a periodic interruption, found in gaps.
        TickTrain = "tick_train",
        /// Offset and backward steps between CPUs, from exchanges.
        Offset = "offset",
        /// The latencies of the caches and of memory, from a curve over sizes.
        Levels = "levels",
        /// The cost at the largest sizes of a curve: the median of three.
        Farthest = "farthest",
        /// The largest size of a curve before its cost first rises.
        Capacity = "capacity",
        /// The smallest size of a curve at which its cost has risen.
        Step = "step",
        /// The cost of a curve's first point over its least.
        Speedup = "speedup",
        /// The median at a curve's first point: of messages, the time of the smallest.
        First = "first",
    }
}

/// Description of a metric in a recording, so that it can be read without the program that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name.
    pub name: Name,
    /// Title of its row.
    pub title: String,
    /// Its chapter.
    pub group: Group,
    /// Its unit.
    pub unit: Unit,
    /// Which way is good.
    pub better: Better,
    /// How observations become a figure.
    pub headline: Headline,
    /// The cost below which the work was not done, in ps.
    #[serde(default)]
    pub physical_floor: Picos,
    /// True if the probe sleeps by design, so that time off the CPU says nothing of contention.
    #[serde(default)]
    pub sleeps: bool,
    /// True if it may run on any CPU, so that its own processes may wait for each other's CPU.
    #[serde(default)]
    pub roams: bool,
    /// The parts that its figure is made of, where there are more than the whole: without one of them there is no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

impl Metric {
    /// A metric whose runs give values, and nothing is known of how.
    #[must_use]
    pub fn of_values(name: &str, title: &str, group: Group, unit: Unit, better: Better) -> Self {
        Self {
            name: Name::new(name),
            title: title.to_owned(),
            group,
            unit,
            better,
            headline: Headline::Median,
            physical_floor: Picos::ZERO,
            sleeps: false,
            roams: false,
            parts: Vec::new(),
        }
    }
}

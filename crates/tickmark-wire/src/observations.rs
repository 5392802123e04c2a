//! Raw observations of a probe: no statistic has touched them.

use crate::{Histogram, KernelEvents, Nanos};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The raw observations of one metric in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observations {
    /// A contiguous stream of batches.
    Batches(Batches),
    /// One latency a wake-up or a step; negative where it came early or went backwards.
    Latencies(Vec<Nanos>),
    /// Interruptions of a spinning loop.
    Gaps(GapTrace),
    /// Clock readings passed to and fro between two CPUs.
    Exchanges(Vec<Exchange>),
    /// The same work at several sizes, ascending.
    Curve(Vec<Point>),
    /// Figures that another program printed, in the metric's unit.
    Values(Values),
    /// How often each of many values was seen, each known to a bounded share of itself.
    Histogram(Histogram),
    /// Counts in each window of time.
    Windows(Windows),
    /// Activity of a processor while messages went to and fro, window by window.
    Loads(Box<Loads>),
    /// How often each of several things was counted.
    Tally(Tally),
    /// Observations of a kind that a later minor version has: its name.
    #[serde(skip)]
    Unknown(String),
}

/// Counts by name, in columns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Names of the counters.
    pub names: Vec<String>,
    /// How often.
    pub count: Vec<u64>,
}

/// Counts in windows of time, in columns: one entry a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// When each window began, from the first stamp of the run, in ns.
    pub start: Vec<Nanos>,
    /// How long it was, in ns.
    pub length: Vec<Nanos>,
    /// Counted events: messages, transactions.
    pub count: Vec<u64>,
}

/// Activity of one CPU in windows of time, in columns with one entry a window: progress of a task that computes beside the communicating
/// ones, and the kernel's accounts. Times in ns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Loads {
    /// The CPU.
    pub cpu: u32,
    /// Work of the computing task alone; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<Alone>,
    /// From the first window's beginning to the last one's end, with what is between them; absent without a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
    /// Bytes of a message.
    pub size: Vec<u64>,
    /// How long the window was.
    pub wall: Vec<Nanos>,
    /// Round trips, or exchanges there and back, in it.
    pub trips: Vec<u64>,
    /// CPU time of the communicating tasks of this CPU.
    pub communicating: Vec<Nanos>,
    /// Steps of the computing task; this and the next three are empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<u64>,
    /// The time in which it saw no gap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unbroken: Vec<Nanos>,
    /// Its CPU time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub computing: Vec<Nanos>,
    /// How long it stood runnable without the CPU (schedstat); empty where the kernel does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waited: Vec<Nanos>,
    /// Of /proc/stat, in steps of its tick: user (with nice), system, interrupts, soft interrupts, idle (with iowait), steal; empty without
    /// it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stat: Vec<[Nanos; 6]>,
    /// Context switches of the communicating task that measures; empty on another CPU than its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches: Vec<u64>,
    /// Interrupts and soft interrupts of the CPU, while /proc was read too; empty where it does not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interrupts: Vec<[u64; 2]>,
    /// Whose CPU it is, where that is another host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<Host>>,
}

/// Another host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The release of its kernel.
    pub kernel: String,
    /// Whether its kernel charges interrupts to no task; absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_apart: Option<bool>,
}

/// Accounts of one CPU over all windows and what is between them, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// How long it was.
    pub wall: Nanos,
    /// CPU time of the communicating tasks.
    pub communicating: Nanos,
    /// CPU time of the computing task; 0 where there is none.
    pub computing: Nanos,
    /// How long that stood runnable without the CPU; absent where the kernel does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<Nanos>,
    /// Of /proc/stat, as in the windows; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stat: Option<[Nanos; 6]>,
}

/// A computing task that nothing disturbs but what disturbs always.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Alone {
    /// How long it was looked at, in ns.
    pub wall: Nanos,
    /// Its CPU time, in ns.
    pub computing: Nanos,
    /// Its steps.
    pub steps: u64,
    /// The time in which it saw no gap, in ns.
    pub unbroken: Nanos,
}

/// A contiguous stream of batches, in columns: `start` and `elapsed` have one entry a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    /// When each batch began, from the first stamp of the run, in ns.
    pub start: Vec<Nanos>,
    /// How long each batch took, in ns.
    pub elapsed: Vec<Nanos>,
    /// Operations in each batch; the same for all of a run.
    pub iterations: NonZeroU64,
    /// Bytes that one operation moves; 0 where that is not what is measured.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Bytes of memory or of a file that the work goes over; 0 where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub over: u64,
    /// The batches whose switches or faults differ from what the probe makes by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<Disturbance>,
}

pub(crate) fn is_zero<T: PartialEq + Default>(value: &T) -> bool {
    *value == T::default()
}

/// One point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The size: bytes, pages or chains, as the probe says.
    pub at: u64,
    /// The observations at that place.
    pub observations: Observations,
}

/// Figures as another program printed them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Values {
    /// In the metric's unit (ns, Hz, bytes a second).
    pub values: Vec<f64>,
    /// Value of one step of the last printed digit, in the same unit.
    pub step: f64,
    /// Bytes of memory or of a file that the work went over; 0 where that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub over: u64,
}

/// How far a batch's context switches and page faults lay from what its spec declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Index of the batch.
    pub batch: u32,
    /// Context switches, seen less declared.
    pub switches: i32,
    /// Page faults, seen less declared.
    pub faults: i32,
    /// Of them, those for which a page had to be read again, and reads that went to a disk.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reclaimed: i32,
    /// Segments that TCP sent again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retransmits: i32,
}

/// The gaps that a loop which does nothing but read the clock saw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapTrace {
    /// Pauses longer than this were kept, in ns.
    pub threshold: Nanos,
    /// How long the loop spun, in ns.
    pub span: Nanos,
    /// Local timer interrupts that the kernel counted on this CPU meanwhile, from /proc/interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_interrupts: Option<u64>,
    /// When each gap began, from the first reading, in ns of CLOCK_MONOTONIC.
    pub start: Vec<Nanos>,
    /// How long each gap was, in ns.
    pub length: Vec<Nanos>,
    /// The gaps in which another task had the CPU, as indices, by the thread's involuntary context switches or by recorded events; absent
    /// where that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Vec<u32>>,
    /// The kernel's counts around them; absent where they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Box<Counted>>,
    /// Events of the kernel on this CPU meanwhile; absent where they were not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Box<KernelEvents>>,
}

/// The kernel's counters of interrupts, soft interrupts and page faults around gaps, in columns. They are read before the
/// loop and after some of its gaps: what moved between two readings did so in the gaps between them, or while they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The counters: a line of /proc/interrupts as `interrupt LOC` or `interrupt 36 virtio1-req.0`, one of /proc/softirqs as
    /// `softirq NET_RX`, `page fault` of the loop's own thread, and `quota`: periods in which the quota of a cgroup above it was used up.
    pub names: Vec<String>,
    /// The gap that each reading follows, as an index, ascending.
    pub gap: Vec<u32>,
    /// How long it took, from the end of that gap, in ns: what came meanwhile, the loop did not see.
    pub took: Vec<Nanos>,
    /// How much of that another task had, in ns; empty where that was not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub away: Vec<Nanos>,
    /// Time since the reading before that was not counted as the thread's CPU time, in ns.
    pub absent: Vec<Nanos>,
    /// Which counters moved, in three columns: the index of the reading, ascending,
    pub reading: Vec<u32>,
    /// the index of the counter's name,
    pub counter: Vec<u32>,
    /// and by how many.
    pub more: Vec<u32>,
}

impl Counted {
    /// The counter of quotas.
    pub const QUOTA: &str = "quota";
    /// Prefix of the name of a task that ran during a wake-up's latency; its number follows in parentheses, then whether it ran after it too.
    pub const TASK: &str = "task ";

    /// True if a counter is that of a timer that ticks: the APIC's, Hyper-V's, ARM's, RISC-V's, Xen's, a PC's first one.
    #[must_use]
    pub fn is_timer(name: &str) -> bool {
        let last = name.rsplit(' ').next().unwrap_or_default();
        let numbered =
            last.strip_prefix("timer").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        matches!(name, "interrupt LOC" | "interrupt HVS")
            || (name.starts_with("interrupt ") && (numbered || ["arch_timer", "riscv-timer"].contains(&last)))
    }

    /// The gaps between which no other was since the reading before, and whether a timer's interrupt was counted in each; none where no timer
    /// that is known by its name was counted at all.
    #[must_use]
    pub fn timers(&self) -> Vec<(u32, bool)> {
        let timers: Vec<usize> = self
            .names
            .iter()
            .enumerate()
            .filter(|(_, name)| Self::is_timer(name))
            .map(|(at, _)| at)
            .collect();
        let counted: std::collections::BTreeSet<u32> = self
            .reading
            .iter()
            .zip(&self.counter)
            .filter(|(_, counter)| timers.contains(&(**counter as usize)))
            .map(|(reading, _)| *reading)
            .collect();
        if counted.is_empty() {
            return Vec::new();
        }
        let before = std::iter::once(None).chain(self.gap.iter().map(|gap| Some(*gap)));
        let alone = self.gap.iter().zip(before).enumerate().filter(|(_, (gap, before))| {
            before.map_or(**gap == 0, |before| before.checked_add(1) == Some(**gap))
        });
        alone.map(|(reading, (gap, _))| (*gap, counted.contains(&(reading as u32)))).collect()
    }
}

/// Clock readings passed between the measured CPU and another: this CPU reads, the other reads, this
/// CPU reads again. Columns have one entry an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The other CPU.
    pub cpu: u32,
    /// The other's reading less ours before it, in ns; negative means backwards.
    pub out: Vec<Nanos>,
    /// Our reading after it less the other's, in ns; negative means backwards.
    pub back: Vec<Nanos>,
}

impl Observations {
    /// The number of single observations.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Batches(batches) => batches.elapsed.len(),
            Self::Latencies(latencies) => latencies.len(),
            Self::Gaps(gaps) => gaps.length.len(),
            Self::Exchanges(exchanges) => exchanges.iter().map(|e| e.out.len()).sum(),
            Self::Curve(points) => points.iter().map(|point| point.observations.len()).sum(),
            Self::Values(values) => values.values.len(),
            Self::Histogram(histogram) => usize::try_from(histogram.total()).unwrap_or(usize::MAX),
            Self::Windows(windows) => windows.count.len(),
            Self::Loads(loads) => loads.wall.len(),
            Self::Tally(tally) => tally.names.len(),
            Self::Unknown(_) => 0,
        }
    }

    /// True if nothing was observed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

//! What a probe saw, raw: no statistic has touched it.

use crate::Nanos;
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
    /// The batches whose switches or faults differ from what the probe makes by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<Disturbance>,
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
}

/// The gaps that a loop which does nothing but read the clock saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
        }
    }

    /// Whether nothing was observed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

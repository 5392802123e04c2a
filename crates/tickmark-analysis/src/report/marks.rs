//! Marks of a row's figures, each with its numbers.

use super::row::Unit;
use crate::sample::{NoFigure, SeparateModes};
use tickmark_stats::states::TwoStates;

/// A mark that a reader needs before believing a figure, wherever the figure stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// Other tasks had up to `share` of so many of the runs.
    Contended {
        /// The largest share that they had of a run.
        share: f64,
        /// Contended runs.
        runs: usize,
        /// All runs.
        of: usize,
    },
    /// Some runs ended without observations.
    Failed {
        /// How many.
        runs: usize,
        /// Of how many.
        of: usize,
        /// The agent's reason for the first.
        why: String,
    },
    /// Some runs' observations give no figure.
    WithoutFigure {
        /// How many.
        runs: usize,
        /// Of how many.
        of: usize,
        /// Of the last.
        why: NoFigure,
    },
    /// The machine's settings were not the same at the end of a run.
    Changed {
        /// The changes, as "old -> new".
        what: Vec<String>,
        /// In how many runs.
        runs: usize,
        /// Of how many.
        of: usize,
    },
    /// The kernel's count of timer interrupts does not confirm the rate.
    Unconfirmed,
    /// The cost of a tick is known in some runs, or in none.
    CostUnknown {
        /// In how many it is known.
        known: usize,
        /// Of how many.
        of: usize,
        /// True if other tasks are why; else too few ticks came alone.
        contended: bool,
    },
    /// The 10th percentile is no cost without ticks.
    NoFloor(NoFloor),
    /// Too few batches for a 10th percentile: the median stands in its place.
    Median,
    /// No run has a figure: what the agent said of the first.
    Said(String),
    /// No run has a figure, though observations are there.
    Nothing(NoFigure),
    /// No run was made yet.
    NotRun,
    /// The largest size does not leave the last cache: no main memory was seen.
    InsideCache {
        /// The size, in bytes.
        size: f64,
        /// The cache's name.
        cache: &'static str,
        /// Its bytes.
        bytes: f64,
    },
    /// Batches that lost their CPU are not in the mean.
    Excluded(usize),
}

/// Why the 10th percentile is no cost without ticks: it is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFloor {
    /// Every batch has a tick in it.
    LongerThanATick,
    /// A part that is subtracted varies more than the rest.
    AboveMean,
}

/// A note on a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Note {
    /// Its value as a number of instructions.
    Instructions(f64),
    /// Whether a clock is read by the vDSO; else through the kernel.
    Vdso(bool),
    /// Of all latencies of all runs, in ns.
    Percentiles {
        /// The 99th.
        p99: f64,
        /// The largest.
        max: f64,
        /// How many there are.
        count: usize,
    },
    /// The same of all gaps of a spinning loop.
    Gaps {
        /// The 99th percentile.
        p99: f64,
        /// The largest.
        max: f64,
        /// How many there are.
        count: usize,
    },
    /// Of all values of all runs, in ns, each known to a share of itself.
    Spread {
        /// The 99th percentile.
        p99: f64,
        /// The largest.
        max: f64,
        /// How many there are.
        count: u64,
        /// How far off a value may be, as a share of it.
        within: f64,
    },
    /// Events a second in each window of time of all runs.
    Windows {
        /// The least.
        least: f64,
        /// The most.
        most: f64,
        /// How many windows there are.
        count: usize,
    },
    /// How often a clock went backwards.
    StepsBackwards(usize),
    /// 10th and 90th percentile of what a tick takes, in ns.
    Between(f64, f64),
    /// The share of the tick's periods in which it was seen, at least.
    Detected(f64),
    /// The half width that an offset between CPUs is known to, in ns.
    Within {
        /// The half width.
        nanos: f64,
        /// How many other CPUs.
        cpus: usize,
    },
    /// Its runs fall into two states.
    States {
        /// Which.
        states: TwoStates,
        /// The unit of the row.
        unit: Unit,
    },
    /// Batches of other modes: not in the figures.
    Excluded(SeparateModes),
    /// Bytes that the work went over.
    Over(u64),
    /// Main memory begins at this many bytes.
    From(f64),
    /// How far a level of memory was measured to reach, and the cache that it is.
    Level {
        /// Bytes, as measured.
        reach: f64,
        /// Name and bytes in sysfs.
        listed: Option<(&'static str, f64)>,
        /// True if one is more than twice the other.
        differs: bool,
    },
    /// Levels measured and listed in sysfs, where they are not as many.
    Levels {
        /// Measured.
        measured: usize,
        /// In sysfs, with main memory.
        listed: usize,
    },
}

impl Mark {
    /// True if it says the same as another, shares being told to the percent.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        let percent = |share: &f64| (share * 100.0).round();
        match (self, other) {
            (
                Self::Contended { share, runs, of },
                Self::Contended { share: share2, runs: runs2, of: of2 },
            ) => percent(share) == percent(share2) && (runs, of) == (runs2, of2),
            _ => self == other,
        }
    }

    /// For programs: the kind alone.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Contended { .. } => "contended",
            Self::Failed { .. } => "runs_failed",
            Self::WithoutFigure { .. } => "runs_without_figure",
            Self::Changed { .. } => "settings_changed",
            Self::Unconfirmed => "unconfirmed",
            Self::CostUnknown { .. } => "cost_unknown",
            Self::NoFloor(NoFloor::LongerThanATick) => "batches_longer_than_a_tick",
            Self::NoFloor(NoFloor::AboveMean) => "floor_above_mean",
            Self::Median => "median_for_floor",
            Self::Said(_) => "no_run_ended_well",
            Self::Nothing(_) => "no_figure",
            Self::NotRun => "not_run",
            Self::InsideCache { .. } => "inside_cache",
            Self::Excluded(_) => "preempted_batches_excluded",
        }
    }
}

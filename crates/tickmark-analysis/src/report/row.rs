//! One line of the report.

use super::marks::{Mark, NoFloor, Note};
use crate::sample::SeparateModes;
use serde::{Deserialize, Serialize};
use tickmark_stats::Estimate;
use tickmark_stats::states::TwoStates;
use tickmark_wire::Better;

/// The name of the figure that is a 99th percentile.
pub const TAIL: &str = "p99";

/// How a metric ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RowStatus {
    /// All of its runs gave a figure.
    Ok,
    /// Some of its runs gave no figure.
    Partly,
    /// It cannot be measured on this system.
    Unsupported,
    /// It went wrong.
    Failed,
    /// It reached its limit.
    Timeout,
    /// No run of it was made.
    Missing,
    /// Its runs were made, and what disturbed them leaves it unknown.
    Unknown,
}

/// One row: a metric, or one of the figures that a metric gives.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name: the metric's, or that with the figure's behind it.
    pub metric: String,
    /// Title for people.
    pub title: String,
    /// Of value, deviation and mean.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// How it ended.
    pub status: RowStatus,
    /// Median of the runs' values, with its interval.
    pub value: Option<Estimate>,
    /// Standard deviation between runs, in the unit of the value.
    pub deviation: Option<f64>,
    /// Mean over the runs of their mean costs.
    pub mean: Option<f64>,
    /// Standard deviation of the mean cost between runs.
    pub mean_deviation: Option<f64>,
    /// CPU time of an operation, ns.
    pub cpu: Option<f64>,
    /// Runs with a figure.
    pub runs: usize,
    /// Runs that were planned, with a figure or without.
    pub made: usize,
    /// Values of each run.
    pub each: Vec<Each>,
    /// The share of the batches that was disturbed.
    pub disturbed: Option<f64>,
    /// The largest share that other tasks had of a run, where half of the runs or more were contended.
    pub contended: Option<f64>,
    /// How many runs were.
    pub contended_runs: usize,
    /// True if the kernel's own count does not confirm it.
    pub unconfirmed: bool,
    /// Batches of other modes, over all runs.
    pub apart: SeparateModes,
    /// Bytes of memory or of a file that the work went over; 0 where there are none.
    pub over: u64,
    /// Of a tick: Hz.
    pub frequency: Option<f64>,
    /// The value as a number of instructions, in a guest that counts them.
    pub instructions: Option<f64>,
    /// Marks that a reader needs before believing its figures, wherever they stand.
    pub marks: Vec<Mark>,
    /// The same of its floor alone.
    pub floor_marks: Vec<Mark>,
    /// Further notes.
    pub notes: Vec<Note>,
}

/// Value of one run of a row, in the unit of the row's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Each {
    /// Which round.
    pub round: u32,
    /// Its headline.
    pub value: f64,
    /// With everything that happened; the value where there is no such figure.
    pub mean: f64,
    /// Its 99th percentile, where it keeps enough of what it saw.
    pub tail: Option<f64>,
    /// Value of one step of the last digit, where another program printed it.
    pub step: Option<f64>,
}

/// The unit of a row's value, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Time.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Cycles a second.
    Hz,
    /// Events a second.
    #[serde(rename = "1/s")]
    Rate,
    /// A part of one.
    #[serde(rename = "share")]
    Share,
    /// A number of things.
    #[serde(rename = "count")]
    Count,
    /// Bytes a second.
    #[serde(rename = "B/s")]
    Throughput,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// One over another.
    #[serde(rename = "ratio")]
    Ratio,
    /// A unit of a later version: a bare number with its word.
    #[serde(untagged)]
    Other(tickmark_wire::Word),
}

impl From<tickmark_wire::Unit> for Unit {
    fn from(unit: tickmark_wire::Unit) -> Self {
        match unit {
            tickmark_wire::Unit::Time => Self::Nanoseconds,
            tickmark_wire::Unit::Frequency => Self::Hz,
            tickmark_wire::Unit::Rate => Self::Rate,
            tickmark_wire::Unit::Share => Self::Share,
            tickmark_wire::Unit::Count => Self::Count,
            tickmark_wire::Unit::Throughput => Self::Throughput,
            tickmark_wire::Unit::Bytes => Self::Bytes,
            tickmark_wire::Unit::Ratio => Self::Ratio,
            tickmark_wire::Unit::Other(word) => Self::Other(word),
        }
    }
}

impl Row {
    /// The sum over all runs, for counts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.each.iter().map(|each| each.value).sum()
    }

    /// The two states into which its runs fall, where they do: a deviation between runs describes neither.
    #[must_use]
    pub fn states(&self) -> Option<TwoStates> {
        self.notes.iter().find_map(|note| match note {
            Note::States { states, .. } => Some(*states),
            _ => None,
        })
    }

    /// Why its 10th percentile is no cost without ticks, where it is none: it is not compared.
    #[must_use]
    pub fn no_floor(&self) -> Option<NoFloor> {
        self.floor_marks.iter().find_map(|mark| match mark {
            Mark::NoFloor(why) => Some(*why),
            _ => None,
        })
    }

    /// True if two rows went over the same bytes, to 5 % (16 MB and 16 MiB are the same). Where one does not say, they are.
    #[must_use]
    pub fn same_size(&self, other: &Self) -> bool {
        let (a, b) = (self.over as f64, other.over as f64);
        a == 0.0 || b == 0.0 || (a / b - 1.0).abs() <= 0.05
    }

    /// Figures that can be compared: the floor and the mean cost, or the single value, with its 99th percentile in the runs that have one;
    /// of each run in the order of the rounds.
    #[must_use]
    pub fn figures(&self) -> Vec<(&'static str, Vec<(u32, f64)>)> {
        let column = |of: fn(&Each) -> Option<f64>| {
            let mut values: Vec<(u32, f64)> =
                self.each.iter().filter_map(|each| Some((each.round, of(each)?))).collect();
            values.sort_by_key(|(round, _)| *round);
            values
        };
        let value = column(|each| Some(each.value));
        if self.mean.is_some() {
            return vec![("floor", value), ("mean", column(|each| Some(each.mean)))];
        }
        let tails = column(|each| each.tail);
        if tails.is_empty() { vec![("value", value)] } else { vec![("value", value), (TAIL, tails)] }
    }

    /// Coefficient of variation between runs: standard deviation over the value.
    #[must_use]
    pub fn cv(&self) -> Option<f64> {
        if self.states().is_some() {
            return None;
        }
        let point = self.value?.point;
        (point != 0.0).then(|| self.deviation.map(|d| (d / point).abs())).flatten()
    }
}

//! One line of the report.

use crate::sample::Apart;
use serde::Serialize;
use tickmark_stats::Estimate;
use tickmark_wire::Better;

/// How a metric ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowStatus {
    Ok,
    /// Some of its runs gave no figure.
    Partly,
    Unsupported,
    Failed,
    Timeout,
    /// No run of it was made.
    Missing,
    /// Its runs were made, and what disturbed them leaves it unknown.
    Unknown,
}

/// One row: a metric, or one of the figures that a metric gives.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) metric: String,
    pub(crate) title: String,
    pub(crate) unit: Unit,
    pub(crate) better: Better,
    pub(crate) status: RowStatus,
    pub(crate) value: Option<Estimate>,
    /// Standard deviation between runs, in the unit of the value.
    pub(crate) deviation: Option<f64>,
    pub(crate) mean: Option<f64>,
    /// Standard deviation of the mean cost between runs.
    pub(crate) mean_deviation: Option<f64>,
    pub(crate) cpu: Option<f64>,
    pub(crate) runs: usize,
    /// What each run says.
    pub(crate) each: Vec<Each>,
    pub(crate) disturbed: Option<f64>,
    /// The largest share that other tasks had of a run, where half of the runs or more were contended.
    pub(crate) contended: Option<f64>,
    /// How many runs were.
    pub(crate) contended_runs: usize,
    /// Whether the kernel's own count does not confirm it.
    pub(crate) unconfirmed: bool,
    /// Batches of other modes, over all runs.
    pub(crate) apart: Apart,
    /// Bytes of memory or of a file that the work went over; 0 where there are none.
    pub(crate) over: u64,
    pub(crate) frequency: Option<f64>,
    /// The value as a number of instructions, in a guest that counts them.
    pub(crate) instructions: Option<f64>,
    /// Why the 10th percentile is no cost without ticks, where it is none: it is not compared.
    pub(crate) no_floor: Option<&'static str>,
    /// What is to be known before its figures are believed; wherever they stand, this does.
    pub(crate) marks: Vec<String>,
    /// The same of its floor alone.
    pub(crate) floor_marks: Vec<String>,
    /// What else there is to say.
    pub(crate) notes: Vec<String>,
}

/// What one run says of a row, in the unit of its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Each {
    pub(crate) round: u32,
    pub(crate) value: f64,
    /// With everything that happened; the value where there is no such figure.
    pub(crate) mean: f64,
    /// What one step of the last digit is worth, where another program printed it.
    pub(crate) step: Option<f64>,
}

/// The unit of a row's value, as it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "ns")]
    Nanoseconds,
    Hz,
    #[serde(rename = "share")]
    Share,
    #[serde(rename = "count")]
    Count,
    #[serde(rename = "B/s")]
    Throughput,
    #[serde(rename = "B")]
    Bytes,
    #[serde(rename = "ratio")]
    Ratio,
}

impl From<tickmark_wire::Unit> for Unit {
    fn from(unit: tickmark_wire::Unit) -> Self {
        match unit {
            tickmark_wire::Unit::Time => Self::Nanoseconds,
            tickmark_wire::Unit::Frequency => Self::Hz,
            tickmark_wire::Unit::Share => Self::Share,
            tickmark_wire::Unit::Count => Self::Count,
            tickmark_wire::Unit::Throughput => Self::Throughput,
            tickmark_wire::Unit::Bytes => Self::Bytes,
            tickmark_wire::Unit::Ratio => Self::Ratio,
        }
    }
}

impl Row {
    /// Marks and notes.
    pub(crate) fn remarks(&self) -> Vec<&str> {
        self.marks.iter().chain(&self.floor_marks).chain(&self.notes).map(String::as_str).collect()
    }

    /// Whether two rows went over the same bytes, to 5 % (16 MB and 16 MiB are the same). Where one does not say, they
    /// are.
    pub(crate) fn same_size(&self, other: &Self) -> bool {
        let (a, b) = (self.over as f64, other.over as f64);
        a == 0.0 || b == 0.0 || (a / b - 1.0).abs() <= 0.05
    }

    /// What can be compared: the floor and the mean cost, or the one value that there is; of each run in the order of the
    /// rounds.
    pub(crate) fn figures(&self) -> Vec<(&'static str, Vec<(u32, f64)>)> {
        let column = |of: fn(&Each) -> f64| {
            let mut values: Vec<(u32, f64)> = self.each.iter().map(|each| (each.round, of(each))).collect();
            values.sort_by_key(|(round, _)| *round);
            values
        };
        match self.mean {
            Some(_) => vec![("floor", column(|each| each.value)), ("mean", column(|each| each.mean))],
            None => vec![("value", column(|each| each.value))],
        }
    }

    /// Spread between runs: standard deviation over the value.
    pub(crate) fn spread(&self) -> Option<f64> {
        let point = self.value?.point;
        (point != 0.0).then(|| self.deviation.map(|d| (d / point).abs())).flatten()
    }
}

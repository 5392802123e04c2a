//! The highest rate of transactions that keeps a limit.

use crate::http::{Load, each};
use tickmark_stats::{Estimate, median_of_runs};
use tickmark_store::Recording;
use tickmark_wire::names;

/// Summary of a search for the capacity: requests a second of its runs, without the last run.
#[derive(Debug)]
pub struct Capacity {
    /// How many runs.
    pub runs: usize,
    /// The rate that keeps the limit half of the time.
    pub rate: Estimate,
    /// The highest of a slice that kept it, in the middle run.
    pub kept: f64,
    /// The lowest of one that did not.
    pub broke: f64,
    /// Where the next request is sent when an answer has come.
    pub closed: f64,
    /// Slices that did not count, as the client itself was late: a share of all.
    pub late: f64,
}

/// Every search in a recording.
#[must_use]
pub fn read_capacities(recording: &Recording) -> Vec<Load<Capacity>> {
    each(recording, names::CAPACITY, &|_, sample| {
        let values = |end: &str| -> Vec<f64> {
            sample(end).map_or_else(Vec::new, |sample| sample.runs.iter().map(|run| run.value).collect())
        };
        let middle = |end: &str| median_of_runs(&values(end)).map(|all| all.point);
        Some(Capacity {
            runs: values("").len(),
            rate: median_of_runs(&values(""))?,
            kept: middle(".kept")?,
            broke: middle(".broke")?,
            closed: middle(".closed")?,
            late: middle(".late")?,
        })
    })
}

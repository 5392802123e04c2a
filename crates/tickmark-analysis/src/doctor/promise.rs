//! Whether a remedy helped: whether taking a cause away from a CPU saved what its share there promised.

use crate::noise::{Cause, GapCause, OTHER_TASKS, Quantile, shares_by_run, summarize_late};
use crate::report;
use serde::Serialize;
use std::collections::BTreeMap;
use tickmark_stats::median_of_runs;
use tickmark_store::Recording;
use tickmark_wire::names;

const LOST: &str = "tick.lost";
const CONFIDENCE: f64 = 0.95;

/// Quantity of a promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Saved {
    /// How much less of the CPU is lost, as a share.
    Lost,
    /// The 99th percentile of wake-up latency without the cause, ns.
    WakeUpP99,
    /// The 99.9th.
    WakeUpP999,
}

/// What was promised, and what came, each between the limits of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Promise {
    /// Of what.
    pub what: Saved,
    /// With the cause here, by its own time in what was recorded: lower limit, value, upper limit.
    pub promised: [f64; 3],
    /// By what was measured with the cause away.
    pub measured: [f64; 3],
}

impl Promise {
    /// Whether both can be the same: their intervals meet.
    #[must_use]
    pub fn held(&self) -> bool {
        self.promised[0] <= self.measured[2] && self.measured[0] <= self.promised[2]
    }
}

/// Whether wake-ups are promised to be earlier without a cause.
#[must_use]
pub fn promises_wake_ups(cause: &str) -> bool {
    // A thread that waits leaves the CPU idle beside a quota, too; one in real time has no timer slack, which is no other task's time.
    cause != GapCause::Quota.code() && cause != OTHER_TASKS
}

/// Promises of a cause, by its name among those who took the CPU, of interleaved recordings with it and without it; none where there are too few runs.
#[must_use]
pub fn promises(with: &Recording, without: &Recording, cause: &str) -> Vec<Promise> {
    let interval = |values: &[f64]| {
        median_of_runs(values).map(|middle| [middle.interval.low, middle.point, middle.interval.high])
    };
    let lost = |recording: &Recording| -> BTreeMap<u32, f64> {
        let groups = report::rows_of(recording, &|metric| metric.name.as_str() == names::TICK);
        let row = groups.into_iter().flat_map(|(_, rows)| rows).find(|row| row.metric == LOST);
        row.into_iter().flat_map(|row| row.each).map(|run| (run.round, run.value)).collect()
    };
    let (here, away) = (lost(with), lost(without));
    // Those of one block are a pair.
    let saved: Vec<f64> = here.iter().filter_map(|(block, here)| Some(here - away.get(block)?)).collect();
    let is_quota = cause == GapCause::Quota.code();
    // What watches a CPU leaves it idle only while a quota stops it.
    let taker = if is_quota { Cause::Idle.words() } else { cause.to_owned() };
    let share = interval(&shares_by_run(with, &taker)).zip(interval(&saved));
    let mut all: Vec<Promise> = share
        .map(|(promised, measured)| Promise { what: Saved::Lost, promised, measured })
        .into_iter()
        .collect();
    let late =
        |recording| summarize_late(recording, 0.0, CONFIDENCE)?.ok().filter(|_| promises_wake_ups(cause));
    if let Some((late, measured)) = late(with).zip(late(without)) {
        let limits = |known: &Option<Quantile>| {
            let known = known.as_ref()?;
            Some([known.limits[0]?, known.value, known.limits[1]?])
        };
        let tails = late.without(cause, CONFIDENCE);
        for ((what, promised), measured) in
            [Saved::WakeUpP99, Saved::WakeUpP999].into_iter().zip(&tails).zip(&measured.quantiles)
        {
            let both = limits(promised).zip(limits(measured));
            all.extend(both.map(|(promised, measured)| Promise { what, promised, measured }));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_holds_where_both_intervals_meet() {
        let promise = |promised, measured| Promise { what: Saved::Lost, promised, measured };
        assert!(promise([0.1, 0.2, 0.3], [0.25, 0.35, 0.4]).held());
        assert!(!promise([0.1, 0.2, 0.3], [0.31, 0.35, 0.4]).held());
        assert!(!promise([0.1, 0.2, 0.3], [0.0, 0.05, 0.09]).held());
    }
}

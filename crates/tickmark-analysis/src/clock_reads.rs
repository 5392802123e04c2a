//! How often a command reads clocks: which, and from where.

use crate::sample::{Sample, tallied};
use tickmark_stats::median;
use tickmark_store::Recording;
use tickmark_wire::names;

/// Counts of a command: means of its runs.
#[derive(Debug)]
pub struct Reads {
    /// The command.
    pub command: String,
    /// How many runs.
    pub runs: usize,
    /// Reads of each clock, most often first.
    pub clocks: Vec<(String, f64)>,
    /// From each call site, most often first.
    pub sites: Vec<(String, f64)>,
    /// What the count cannot see, in words.
    pub blind: Vec<String>,
    /// How long the command took, in ns.
    pub time: f64,
    /// How often it did what is counted.
    pub count: Option<f64>,
}

/// What a recording says; none where it has no such counts, and else why there is none.
#[must_use]
pub fn of(recording: &Recording) -> Option<Result<Reads, String>> {
    let metric = |name: &str| recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name);
    let first = metric(names::CLOCK_READS)?;
    let sample = |name: &str| metric(name).map(|metric| Sample::of(recording, metric));
    let middle = |name: &str| median(sample(name)?.runs.iter().map(|run| run.value));
    let tally = |name: &str| {
        let runs = sample(name)?.runs;
        let count = runs.len() as f64;
        let mut all: Vec<(String, f64)> =
            tallied(&runs).into_iter().map(|(name, sum)| (name, sum as f64 / count)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        (count > 0.0).then_some(all)
    };
    let reads = || {
        let planned = recording.runs.iter().find(|run| run.planned.gives(&first.name))?;
        let words = planned.planned.arguments.get("words")?;
        Some(Reads {
            command: crate::bill::shown(words),
            runs: sample(names::CLOCK_READS)?.runs.len(),
            clocks: tally(names::CLOCK_READS)?,
            sites: tally(names::CLOCK_READS_SITES)?,
            blind: tally(names::CLOCK_READS_BLIND)
                .unwrap_or_default()
                .into_iter()
                .map(|(name, _)| name)
                .collect(),
            time: middle(names::CLOCK_READS_TIME)?,
            count: middle(names::CLOCK_READS_COUNT),
        })
    };
    let why = || {
        let failures = Sample::of(recording, first).failures;
        failures.first().and_then(|run| run.why()).unwrap_or("no run of it was made").to_owned()
    };
    Some(reads().ok_or_else(why))
}

//! How often the kernel reads its clock source in each operation: by how much that takes longer where a read does.

use crate::hz;
use crate::sample::Sample;
use tickmark_stats::{batches, median};
use tickmark_store::Recording;
use tickmark_wire::shared::GAP_THRESHOLD;
use tickmark_wire::{Observations, Unit, names};

/// Cost of a clock read, and the share of each operation.
#[derive(Debug)]
pub struct Reads {
    /// By how much a read took longer, in ns.
    pub longer: f64,
    /// Each operation.
    pub operations: Vec<Operation>,
    /// Of each tick, where a loop saw what ticks take.
    pub tick: Option<f64>,
}

/// An operation, in words, and its reads: the median of its pairs of boots, the least and the most of them.
#[derive(Debug)]
pub struct Operation {
    /// The operation in words.
    pub title: String,
    /// Clock reads of one operation: the median of its pairs of boots.
    pub reads: f64,
    /// The least and the most of those pairs.
    pub range: [f64; 2],
    /// Reads counted by the clock source itself, where that was read.
    pub counted: Option<f64>,
}

/// The clock whose read by a program is one read of the clock source.
const CLOCK: &str = "monotonic";

/// Of these the whole is looked at, which one CPU does: the time between two of them.
const TRANSACTIONS: &str = "http.";

fn is_rate(metric: &tickmark_wire::Metric) -> bool {
    metric.unit == Unit::Rate && metric.name.as_str().starts_with(TRANSACTIONS)
}

/// Means, where runs have one.
fn runs(recording: &Recording, name: &str) -> Vec<f64> {
    let metric = recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name);
    metric.map_or_else(Vec::new, |metric| {
        Sample::from_recording(recording, metric)
            .runs
            .iter()
            .map(|run| run.mean.unwrap_or(run.value))
            .collect()
    })
}

/// What a tick takes, in ns: the mean excess over the floor of the spinning loop's batches that had one. Ticks between two batches are not
/// seen, and their number depends on how the batches fall: the loss of the whole run, over the ticks that the clock rate promises, would vary
/// with it.
fn tick_time(recording: &Recording) -> Option<f64> {
    let of_spin = recording.runs.iter().filter(|run| run.planned.probe.as_str() == names::SPIN);
    let excesses: Vec<f64> = of_spin
        .flat_map(|run| recording.observed(run, &run.planned.probe))
        .flatten()
        .filter_map(|observed| match observed.observations {
            Observations::Batches(batches) => Some(batches),
            _ => None,
        })
        .flat_map(|batches| {
            let elapsed: Vec<f64> = batches.elapsed.iter().map(|elapsed| elapsed.as_f64()).collect();
            let floor = batches::figures(&elapsed, 1.0).map_or(f64::INFINITY, |figures| figures.floor);
            elapsed.into_iter().map(move |elapsed| elapsed - floor)
        })
        .filter(|excess| *excess > GAP_THRESHOLD.as_f64())
        .collect();
    (!excesses.is_empty()).then(|| excesses.iter().sum::<f64>() / excesses.len() as f64)
}

/// From two recordings that differ in how long a read takes: the first is the shorter. None where the read itself was not measured in both, or took no longer.
#[must_use]
pub fn count_kernel_reads(short: &Recording, long: &Recording) -> Option<Reads> {
    let lost = |recording: &Recording| hz::read_tick(recording).map_or(0.0, |tick| tick.lost[0]);
    // Means, without what the ticks took of them: a floor may be of another mode in another boot.
    let values = |recording: &Recording, name: &str| -> Vec<f64> {
        let own = 1.0 - lost(recording);
        let metric = recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name);
        let each = |value: f64| own * if metric.is_some_and(is_rate) { 1e9 / value } else { value };
        runs(recording, name).into_iter().map(each).collect()
    };
    // Boots of the same number begin at the same part of a tick.
    let more = |name: &str| -> Vec<f64> {
        values(long, name).iter().zip(values(short, name)).map(|(long, short)| long - short).collect()
    };
    let read = names::clock_read(CLOCK);
    let longer = median(more(&read)).filter(|longer| *longer > 0.0)?;
    let known = short.meta.plan.metrics.iter().filter(|metric| {
        let own = |first: &str| metric.name.as_str().starts_with(first);
        is_rate(metric)
            || (metric.unit == Unit::Time
                && !["clock.", "tick.", TRANSACTIONS].iter().any(|first| own(first)))
    });
    let one = |metric: &tickmark_wire::Metric| {
        let all: Vec<f64> = more(metric.name.as_str()).iter().map(|more| more / longer).collect();
        let range =
            [all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(f64::MIN, f64::max)];
        let counts = format!("{}.source_reads", metric.name.as_str());
        let counted = median(
            [short, long].into_iter().flat_map(|recording| runs(recording, &counts)).collect::<Vec<f64>>(),
        );
        Some(Operation { title: metric.title.clone(), reads: median(all)?, range, counted })
    };
    let tick = tick_time(short).zip(tick_time(long)).map(|(short, long)| (long - short) / longer);
    Some(Reads { longer, operations: known.filter_map(one).collect(), tick })
}

//! From the runs of a metric to its rows.

use super::marks::{Mark, NoFloor, Note};
use super::row::{Each, Row, RowStatus, Unit};
use crate::sample::{Detail, Figures, NoFigure, Sample, SeparateModes, Spread};
use std::collections::HashMap;
use tickmark_stats::states::two_states;
use tickmark_stats::{Sorted, median, median_of_runs, spread};
use tickmark_store::{Recording, Status};
use tickmark_wire::{Better, Headline, names};

/// A read that costs more than this part of the system call went through the kernel.
pub(super) const KERNEL_PATH: f64 = 0.7;

pub(super) fn base(sample: &Sample<'_>, suffix: &str, title: &str) -> Row {
    let metric = sample.metric;
    Row {
        metric: format!("{}{suffix}", metric.name),
        title: title.to_owned(),
        unit: metric.unit.into(),
        better: metric.better,
        status: RowStatus::Ok,
        value: None,
        deviation: None,
        mean: None,
        mean_deviation: None,
        cpu: None,
        runs: sample.runs.len(),
        made: sample.runs.len()
            + sample.failures.len()
            + sample.without.as_ref().map_or(0, |(runs, _)| *runs)
            + sample.open,
        each: Vec::new(),
        disturbed: None,
        contended: None,
        contended_runs: 0,
        unconfirmed: false,
        apart: SeparateModes::default(),
        over: 0,
        frequency: None,
        instructions: None,
        marks: Vec::new(),
        floor_marks: Vec::new(),
        notes: Vec::new(),
    }
}

/// A row whose value is taken from each run.
pub(super) fn row(
    sample: &Sample<'_>,
    suffix: &str,
    title: &str,
    value: impl Fn(&Figures) -> Option<f64>,
) -> Row {
    let with_mean = |run: &Figures| value(run).map(|value| (value, value));
    row_with_mean(sample, suffix, title, with_mean)
}

/// The same for a value that has a mean beside it.
pub(super) fn row_with_mean(
    sample: &Sample<'_>,
    suffix: &str,
    title: &str,
    value: impl Fn(&Figures) -> Option<(f64, f64)>,
) -> Row {
    let each: Vec<Each> = sample
        .runs
        .iter()
        .filter_map(|run| {
            let (value, mean) = value(run)?;
            Some(Each { round: run.round, value, mean, tail: None, step: run.step })
        })
        .collect();
    let values: Vec<f64> = each.iter().map(|each| each.value).collect();
    let contended: Vec<f64> = sample.runs.iter().filter(|run| run.contended).map(|run| run.taken).collect();
    let marked = contended.len();
    // Fewer than half of the runs cannot carry the median out of the range of the others.
    let counts = 2 * marked >= sample.runs.len();
    let contended = contended.into_iter().max_by(f64::total_cmp).filter(|_| counts);
    let mut row = Row {
        value: median_of_runs(&values),
        deviation: spread(&values).filter(|_| values.len() > 1).map(|s| s.deviation),
        contended,
        contended_runs: marked,
        each,
        ..base(sample, suffix, title)
    };
    if let Some(share) = contended {
        row.marks.push(Mark::Contended { share, runs: marked, of: sample.runs.len() });
    }
    if let Some(failed) = sample.failures.first() {
        row.status = RowStatus::Partly;
        let (runs, of) = (sample.failures.len(), sample.failures.len() + sample.runs.len());
        row.marks.push(Mark::Failed { runs, of, why: status_reason(failed).1 });
    }
    if let Some((runs, why)) = &sample.without {
        // What some runs could not tell is a note; what most could not, a failure of theirs.
        if (*runs > sample.runs.len() && *why != NoFigure::NotTold) || why.is_broken() {
            row.status = RowStatus::Partly;
        }
        let of = runs + sample.runs.len();
        row.marks.push(Mark::WithoutFigure { runs: *runs, of, why: why.clone() });
    }
    let changed: Vec<&Figures> = sample.runs.iter().filter(|run| !run.changed.is_empty()).collect();
    if let Some(first) = changed.first() {
        let (what, of) = (first.changed.clone(), sample.runs.len());
        row.marks.push(Mark::Changed { what, runs: changed.len(), of });
    }
    row
}

pub(super) fn plain(sample: &Sample<'_>, period: Option<f64>) -> Row {
    let both = |run: &Figures| Some((run.value, run.mean.unwrap_or(run.value)));
    let mut row = row_with_mean(sample, "", &sample.metric.title, both);
    row.disturbed = disturbed(sample);
    let means: Vec<f64> = sample.runs.iter().filter_map(|run| run.mean).collect();
    // What another program printed is one figure, with no mean beside it.
    let imported = sample.runs.iter().any(|run| run.step.is_some());
    row.mean = average(&means).filter(|_| !imported);
    note_states(&mut row);
    row.mean_deviation = spread(&means).filter(|_| means.len() > 1).map(|s| s.deviation);
    row.cpu = median(sample.runs.iter().filter_map(|run| run.cpu));
    note_modes(sample, &mut row);
    let longer = |value: f64| period.is_some_and(|period| value > period);
    if median(sample.runs.iter().filter_map(|run| run.batch)).is_some_and(longer) {
        row.floor_marks.push(Mark::NoFloor(NoFloor::LongerThanATick));
    } else if let (Some(value), Some(mean)) = (row.value, row.mean)
        && rises(&row, value.point, mean)
    {
        row.floor_marks.push(Mark::NoFloor(NoFloor::AboveMean));
    }
    latencies(sample, &mut row);
    row
}

/// True if the 10th percentile is dearer than the mean, by more than rounding.
fn rises(row: &Row, floor: f64, mean: f64) -> bool {
    let ratio = floor / mean;
    match row.better {
        Better::Lower => row.unit == Unit::Nanoseconds && ratio > 1.01,
        Better::Higher => row.unit == Unit::Throughput && ratio < 1.0 / 1.01,
        Better::Neither | Better::Other(_) => false,
    }
}

/// Times as numbers of instructions.
pub(super) fn count_instructions(rows: &mut [Row], instruction: f64) {
    for row in rows.iter_mut().filter(|row| row.unit == Unit::Nanoseconds) {
        row.instructions = row.value.map(|value| value.point / instruction);
        if let Some(count) = row.instructions {
            row.notes.insert(0, Note::Instructions(count));
        }
    }
}

/// The share of the batches that was disturbed.
pub(super) fn disturbed(sample: &Sample<'_>) -> Option<f64> {
    let counts = sample.runs.iter().filter_map(|run| run.disturbed);
    let (disturbed, all) = counts.fold((0, 0), |sum, (some, all)| (sum.0 + some, sum.1 + all));
    (all > 0).then(|| disturbed as f64 / all as f64)
}

/// Batches of other modes, and over how much memory the work went.
pub(super) fn note_modes(sample: &Sample<'_>, row: &mut Row) {
    row.apart = sample.runs.iter().fold(SeparateModes::default(), |sum, run| sum.plus(run.apart));
    // What is told from a curve's shape is no floor.
    let shape = [Headline::Capacity, Headline::Step, Headline::Speedup].contains(&sample.metric.headline);
    if !shape && sample.runs.iter().any(|run| run.few) {
        row.floor_marks.push(Mark::Median);
    }
    if row.apart != SeparateModes::default() {
        row.notes.push(Note::Excluded(row.apart));
    }
    if let Some(over) = sample.runs.iter().map(|run| run.over).find(|over| *over > 0) {
        row.over = over;
        row.notes.push(Note::Over(over));
    }
}

/// The 99th percentile of each run that has one.
pub(super) fn tails(sample: &Sample<'_>, row: &mut Row) {
    // Of two runs of one round the first.
    let by_round: HashMap<u32, &Figures> = sample.runs.iter().rev().map(|run| (run.round, run)).collect();
    for each in &mut row.each {
        each.tail = by_round.get(&each.round).and_then(|run| run.tail());
    }
}

/// Percentiles over the wake-ups of all runs, and backward steps of a clock.
fn latencies(sample: &Sample<'_>, row: &mut Row) {
    let all = sample.runs.iter().filter_map(|run| match &run.detail {
        Detail::Latencies(sorted) => Some(sorted.as_slice().iter().copied()),
        _ => None,
    });
    let all = Sorted::new(all.flatten());
    if sample.metric.headline == Headline::Minimum {
        let backwards = all.as_slice().iter().filter(|step| **step < 0.0).count();
        if backwards > 0 {
            row.notes.push(Note::StepsBackwards(backwards));
        }
        return;
    }
    tails(sample, row);
    if let (Some(p99), Some(max)) = (all.quantile(0.99), all.quantile(1.0)) {
        row.notes.push(Note::Percentiles { p99, max, count: all.as_slice().len() });
    }
    if let Some(all) = spread_of(sample) {
        let (p99, max, count, within) = (all.quantile(0.99), all.most, all.count, all.within);
        row.notes.push(Note::Spread { p99, max, count, within });
    }
    let rates = sample.runs.iter().filter_map(|run| match &run.detail {
        Detail::Rates(rates) => Some(rates.iter().map(|(_, rate)| *rate)),
        _ => None,
    });
    let rates = Sorted::new(rates.flatten());
    if let (Some(least), Some(most)) = (rates.quantile(0.0), rates.quantile(1.0)) {
        row.notes.push(Note::Windows { least, most, count: rates.as_slice().len() });
    }
}

/// The values of all runs together, where they are histograms.
pub(super) fn spread_of(sample: &Sample<'_>) -> Option<Spread> {
    let all = sample.runs.iter().filter_map(|run| match &run.detail {
        Detail::Spread(spread) => Some(spread),
        _ => None,
    });
    Spread::of_all(&all.collect::<Vec<_>>())
}

/// The mean over the runs of what each says: no run is left out of it, as a median leaves out all but one.
pub(super) fn average(runs: &[f64]) -> Option<f64> {
    spread(runs).map(|spread| spread.mean)
}

/// Says that the runs fall into two states, where they do.
pub(super) fn note_states(row: &mut Row) {
    let each: Vec<f64> = row.each.iter().map(|each| each.value).collect();
    row.notes.extend(two_states(&each).map(|states| Note::States { states, unit: row.unit }));
}

/// How a clock is read: by the vDSO where a read costs much less than the system call.
pub(super) fn note_paths(rows: &mut [Row]) {
    let costs: Vec<(String, f64)> =
        rows.iter().filter_map(|row| Some((row.metric.clone(), row.value?.point))).collect();
    for row in rows {
        let (Some(clock), Some(read)) = (names::clock_of(&row.metric), row.value) else { continue };
        let syscall = names::clock_syscall(clock);
        if let Some((_, cost)) = costs.iter().find(|(metric, _)| *metric == syscall) {
            row.notes.insert(0, Note::Vdso(read.point < KERNEL_PATH * cost));
        }
    }
}

/// The row of a metric that gave no figure.
pub(super) fn without(sample: &Sample<'_>, recording: &Recording) -> Row {
    let mut row = base(sample, "", &sample.metric.title);
    (row.status, row.marks) = match (sample.failures.first(), &sample.without) {
        (Some(failed), _) => {
            let (status, why) = status_reason(failed);
            (status, vec![Mark::Said(why)])
        }
        (None, Some((_, why @ NoFigure::NotTold))) => {
            (RowStatus::Unsupported, vec![Mark::Nothing(why.clone())])
        }
        // Where instructions are counted there are no caches to see.
        (None, Some((_, why @ (NoFigure::NoRise | NoFigure::NoStep))))
            if crate::instruction(recording).is_some() =>
        {
            (RowStatus::Unsupported, vec![Mark::Nothing(why.clone())])
        }
        (None, Some((_, why))) => (RowStatus::Failed, vec![Mark::Nothing(why.clone())]),
        (None, None) => (RowStatus::Missing, vec![Mark::NotRun]),
    };
    row
}

fn status_reason(status: &Status) -> (RowStatus, String) {
    match status {
        Status::Unsupported(reason) => (RowStatus::Unsupported, reason.message.clone()),
        Status::Failed(reason) => (RowStatus::Failed, reason.message.clone()),
        Status::TimedOut(reason) => (RowStatus::Timeout, reason.message.clone()),
        Status::Ok | Status::Open => (RowStatus::Missing, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::shared::INSTRUCTION;

    #[test]
    fn what_has_no_caches_lacks_their_figures_and_does_not_fail() {
        let folder = format!("{}/../../fixtures/doctor", env!("CARGO_MANIFEST_DIR"));
        let mut recording = tickmark_store::load(std::path::Path::new(&folder)).unwrap();
        let status = |recording: &Recording, why| {
            let metric = &recording.meta.plan.metrics[0];
            let (runs, failures) = (Vec::new(), Vec::new());
            without(&Sample { metric, runs, failures, without: Some((1, why)), open: 0 }, recording).status
        };
        assert_eq!(status(&recording, NoFigure::NoRise), RowStatus::Failed);
        recording.sessions[0].environment.know(INSTRUCTION, "planted", "16");
        for (why, expected) in [
            (NoFigure::NoRise, RowStatus::Unsupported),
            (NoFigure::NoStep, RowStatus::Unsupported),
            (NoFigure::NoBatch, RowStatus::Failed),
        ] {
            assert_eq!(status(&recording, why), expected);
        }
    }
}

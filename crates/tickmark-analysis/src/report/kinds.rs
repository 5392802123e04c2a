//! Which rows a metric has, by what makes its figure.

use super::marks::{Mark, Note};
use super::row::{Row, RowStatus, Unit};
use super::{levels, rows};
use crate::sample::{Detail, Figures, Sample};
use tickmark_stats::tick::Train;
use tickmark_stats::{Sorted, median};
use tickmark_store::Recording;
use tickmark_wire::{Better, Headline, Metric, names};

/// The rows of a metric: one, or one for each figure that it gives. `period` is the tick's, in ns.
pub(super) fn rows_of_sample(sample: &Sample<'_>, recording: &Recording, period: Option<f64>) -> Vec<Row> {
    let is_tick = sample.metric.headline == Headline::TickTrain;
    let gaps = if is_tick { gaps(&Sample::of_gaps(recording, sample.metric)) } else { Vec::new() };
    if sample.runs.is_empty() {
        return std::iter::once(rows::without(sample, recording)).chain(gaps).collect();
    }
    match sample.metric.headline {
        Headline::TickTrain => tick(sample, recording).into_iter().chain(gaps).collect(),
        Headline::Offset => offsets(sample),
        Headline::Levels => levels::rows(sample, recording),
        _ if sample.metric.name.as_str() == names::SPIN => vec![rows::plain(sample, period), lost(sample)],
        _ => vec![rows::plain(sample, period)],
    }
}

/// Suffixes of a metric's row names, where it has several.
#[must_use]
pub fn row_names(metric: &Metric) -> &'static [&'static str] {
    match metric.headline {
        Headline::TickTrain => &["rate", "cost", "share", "gap", "lost"],
        Headline::Offset => &["offset", "backwards"],
        Headline::Levels => &["l1", "l2", "l3", "main"],
        _ if metric.name.as_str() == names::SPIN => &["lost"],
        _ => &[],
    }
}

/// By what share the mean of a loop that does nothing is above its floor: whatever made its turns longer.
fn lost(sample: &Sample<'_>) -> Row {
    let share = |run: &Figures| run.mean.map(|mean| 1.0 - run.value / mean);
    let mut row = rows::row(sample, ".lost", "spinning loop, mean above floor", share);
    row.unit = Unit::Share;
    row
}

/// A title of the tick's loop, which is another where the kernel's events were recorded beside it.
fn titled(sample: &Sample<'_>, title: &str) -> String {
    let is_witnessed = sample.metric.name.as_str() == names::WITNESS;
    format!("{title}{}", if is_witnessed { ", events recorded" } else { "" })
}

fn tick(sample: &Sample<'_>, recording: &Recording) -> Vec<Row> {
    let train = |run: &Figures| match &run.detail {
        Detail::Tick(train) => Some(train.clone()),
        _ => None,
    };
    let each = |pick: fn(&Train) -> Option<f64>| move |run: &Figures| pick(&train(run)?);
    let titled = |title: &str| titled(sample, title);
    let mut rate = rows::row(sample, ".rate", &titled("tick rate"), each(|train| Some(train.frequency)));
    rate.unit = Unit::Hz;
    rate.better = Better::Neither;
    rate.unconfirmed = sample.runs.iter().filter_map(train).any(|train| !train.confirmed);
    if rate.unconfirmed {
        rate.marks.push(Mark::Unconfirmed);
    }
    let frequency = rate.value.map(|value| value.point);
    rate.frequency = frequency;

    let mut cost =
        rows::row(sample, ".cost", &titled("cost of one tick"), each(|train| Some(train.cost?.length[1])));
    let ends = |pick: fn(&Train) -> Option<f64>| median(sample.runs.iter().filter_map(each(pick)));
    if let (Some(low), Some(high)) = (ends(|t| Some(t.cost?.length[0])), ends(|t| Some(t.cost?.length[2]))) {
        cost.notes.push(Note::Between(low, high));
    }

    let cpu = recording.sessions.first().map_or(0, |hello| hello.settled.cpu);
    let title = titled(&format!("CPU time lost to the tick, CPU {cpu}"));
    let mut share = rows::row(sample, ".share", &title, each(|train| Some(train.cost?.share)));
    share.unit = Unit::Share;
    let filled = sample.runs.iter().filter_map(train).map(|train| train.filled);
    if let Some(least) = filled.min_by(f64::total_cmp) {
        share.notes.push(Note::Detected(least));
    }
    for row in [&mut cost, &mut share] {
        row.frequency = frequency;
        let unknown = row.runs - row.each.len();
        if unknown > 0 {
            if row.each.is_empty() {
                row.status = RowStatus::Unknown;
            }
            let contended = sample.runs.iter().any(|run| run.contended);
            row.marks.push(Mark::CostUnknown { known: row.each.len(), of: row.runs, contended });
        }
    }
    vec![rate, cost, share]
}

/// Rows of all gaps of the tick's loop, whatever caused them.
fn gaps(sample: &Sample<'_>) -> Vec<Row> {
    if sample.runs.is_empty() {
        return Vec::new();
    }
    let mut gap = rows::row(sample, ".gap", &titled(sample, "gap in a spinning loop, median"), |run| {
        match &run.detail {
            Detail::Gaps { lengths, .. } => lengths.quantile(0.5),
            _ => None,
        }
    });
    let all = sample.runs.iter().filter_map(|run| match &run.detail {
        Detail::Gaps { lengths, .. } => Some(lengths.as_slice().iter().copied()),
        _ => None,
    });
    let all = Sorted::new(all.flatten());
    if let (Some(p99), Some(max)) = (all.quantile(0.99), all.quantile(1.0)) {
        gap.notes.push(Note::Gaps { p99, max, count: all.as_slice().len() });
    }
    rows::tails(sample, &mut gap);
    let mut lost =
        rows::row(sample, ".lost", &titled(sample, "CPU time lost, all gaps"), |run| match &run.detail {
            Detail::Gaps { lengths, span } => Some(lengths.as_slice().iter().sum::<f64>() / span),
            _ => None,
        });
    lost.unit = Unit::Share;
    vec![gap, lost]
}

fn offsets(sample: &Sample<'_>) -> Vec<Row> {
    let all = |run: &Figures| match &run.detail {
        Detail::Offsets(offsets) => offsets.clone(),
        _ => Vec::new(),
    };
    let mut offset = rows::row(sample, ".offset", "MONOTONIC, offset between CPUs", |run| Some(run.value));
    // What lies within the uncertainty of a round trip spreads by more than it is.
    offset.deviation = None;
    let within = sample.runs.iter().flat_map(all).map(|(_, offset)| offset.within);
    if let Some(within) = within.max_by(f64::total_cmp) {
        let cpus = sample.runs.first().map_or(0, |run| all(run).len());
        offset.notes.push(Note::Within { nanos: within, cpus });
    }
    let mut backwards = rows::row(sample, ".backwards", "MONOTONIC, steps backwards", |run| {
        Some(all(run).iter().map(|(_, offset)| offset.backwards as f64).sum())
    });
    backwards.unit = Unit::Count;
    // The row has the middle run; two runs of five that went backwards are two.
    let all: f64 = backwards.each.iter().map(|each| each.value).sum();
    if all > 0.0 {
        backwards.notes.push(Note::StepsBackwards(all as usize));
    }
    vec![offset, backwards]
}

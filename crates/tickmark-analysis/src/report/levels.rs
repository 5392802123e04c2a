//! The levels of a memory, named from a curve of latencies and held against what the system lists.

use super::marks::{Mark, Note};
use super::row::{Row, RowStatus};
use super::rows;
use crate::sample::{Detail, Figures, Sample};
use tickmark_stats::curve;
use tickmark_stats::median;
use tickmark_store::Recording;

/// Size and median floor over the runs, of each point of a metric's curves.
pub(super) fn pooled(sample: &Sample<'_>) -> Vec<(f64, f64)> {
    let points = |run: &Figures| match &run.detail {
        Detail::Curve(points) => points.clone(),
        _ => Vec::new(),
    };
    let curves: Vec<_> = sample.runs.iter().map(points).collect();
    let Some(first) = curves.first() else { return Vec::new() };
    let at = |size: u64| {
        let floors = curves.iter().filter_map(|curve| curve.iter().find(|(at, ..)| *at == size));
        Some((size as f64, median(floors.map(|(_, floor, _)| *floor))?))
    };
    first.iter().filter_map(|(size, ..)| at(*size)).collect()
}

/// A row for each level. Which sizes are a level is told from all runs together, its latency from each.
pub(super) fn rows(sample: &Sample<'_>, recording: &Recording) -> Vec<Row> {
    let points = pooled(sample);
    let levels = curve::levels(&points);
    let listed = listed(recording);
    let last = levels.len().saturating_sub(1);
    let beyond = listed.last().is_none_or(|(_, bytes)| points.last().is_some_and(|(size, _)| size > bytes));
    let mut names = Names { listed: &listed, next: 0, last: 0 };
    let mut rows: Vec<Row> = Vec::new();
    for (number, level) in levels.iter().enumerate() {
        let (from, to) = (points[level.first].0, points[level.last].0);
        let (called, note) = match number == last && beyond {
            true => ("main memory".to_owned(), Note::From(from)),
            false => names.name(points[level.reach].0),
        };
        let suffix =
            if called == "main memory" { ".main".to_owned() } else { format!(".{}", called.to_lowercase()) };
        let title = format!("{}, {called}", sample.metric.title);
        let mut row = rows::row_with_mean(sample, &suffix, &title, |run| within(run, from, to));
        let means: Vec<f64> = row.each.iter().map(|each| each.mean).collect();
        row.mean = rows::average(&means);
        row.mean_deviation = tickmark_stats::spread(&means).map(|s| s.deviation);
        rows::note_states(&mut row);
        rows::note_modes(sample, &mut row);
        row.disturbed = rows::disturbed(sample);
        row.notes.push(note);
        rows.push(row);
    }
    let wanted = listed.len() + usize::from(beyond);
    if let Some(row) = rows.first_mut().filter(|_| !listed.is_empty() && levels.len() != wanted) {
        row.notes.push(Note::Levels { measured: levels.len(), listed: wanted });
    }
    if let (false, Some((size, _)), Some((name, bytes))) = (beyond, points.last(), listed.last()) {
        let mut row = rows::row(sample, ".main", &format!("{}, main memory", sample.metric.title), |_| None);
        row.marks.insert(0, Mark::InsideCache { size: *size, cache: name, bytes: *bytes });
        rows.push(Row { status: RowStatus::Unsupported, ..row });
    }
    rows
}

/// Names levels by the caches that the system lists: each by the one whose size it is nearest to, in ascending
/// order; by their number where there are no more.
struct Names<'a> {
    listed: &'a [(&'static str, f64)],
    next: usize,
    /// The number in the last name that was given.
    last: usize,
}

impl Names<'_> {
    /// The name of the next level, and how far it reaches as measured and as listed.
    fn name(&mut self, reach: f64) -> (String, Note) {
        let far = |(_, (_, bytes)): &(usize, &(&str, f64))| (reach / bytes).ln().abs();
        let left = self.listed.iter().enumerate().skip(self.next);
        let Some((index, (name, bytes))) = left.min_by(|a, b| far(a).total_cmp(&far(b))) else {
            self.last += 1;
            return (format!("L{}", self.last), Note::Level { reach, listed: None, differs: false });
        };
        (self.next, self.last) = (index + 1, index + 1);
        let differs = reach > 2.0 * bytes || reach < bytes / 2.0;
        (name.trim_end_matches('d').to_owned(), Note::Level { reach, listed: Some((name, *bytes)), differs })
    }
}

/// Floor and mean of a run at a level: medians over its sizes.
fn within(run: &Figures, from: f64, to: f64) -> Option<(f64, f64)> {
    let Detail::Curve(points) = &run.detail else { return None };
    let inside = || points.iter().filter(|(size, ..)| (from..=to).contains(&(*size as f64)));
    let floor = median(inside().map(|(_, floor, _)| *floor))?;
    Some((floor, median(inside().map(|(_, _, mean)| *mean))?))
}

/// The data caches that the system lists, by level: name and bytes.
fn listed(recording: &Recording) -> Vec<(&'static str, f64)> {
    let Some(session) = recording.sessions.first() else { return Vec::new() };
    let kilobytes = |text: &str| text.strip_suffix('K')?.parse::<f64>().ok();
    let cache = |name: &'static str| {
        let text = session.environment.get(&format!("cpu.cache.{name}"))?;
        Some((name, kilobytes(text)? * 1024.0))
    };
    ["L1d", "L2", "L3"].into_iter().filter_map(cache).collect()
}

//! The levels of a memory, named from a curve of latencies and held against what the system lists.

use super::number;
use super::row::Row;
use super::rows;
use crate::sample::{Detail, Figures, Sample};
use crate::store::Recording;
use tickmark_stats::curve;
use tickmark_stats::median;

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
    let mut rows: Vec<Row> = levels
        .iter()
        .enumerate()
        .map(|(number, level)| {
            let (from, to) = (points[level.first].0, points[level.last].0);
            let is_memory = number == last && beyond;
            let name = if is_memory { "main".to_owned() } else { format!("l{}", number + 1) };
            let called = if is_memory { "main memory".to_owned() } else { format!("L{}", number + 1) };
            let title = format!("{}, {called}", sample.metric.title);
            let mut row =
                rows::row_with_mean(sample, &format!(".{name}"), &title, |run| within(run, from, to));
            row.notes.push(match is_memory {
                true => format!("from {}", number::bytes(from)),
                false => against(&listed, number, points[level.reach].0),
            });
            row
        })
        .collect();
    if let Some(row) = rows.last_mut().filter(|_| !beyond) {
        row.notes.push("memory was too short to leave the last cache".to_owned());
    }
    let wanted = listed.len() + usize::from(beyond);
    if let Some(row) = rows.first_mut().filter(|_| !listed.is_empty() && levels.len() != wanted) {
        row.notes.push(format!("{} levels by the curve, {wanted} listed", levels.len()));
    }
    rows
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

/// How far a level reaches by the curve, and by the system's list.
fn against(listed: &[(&str, f64)], number: usize, to: f64) -> String {
    let seen = format!("up to {}", number::bytes(to));
    match listed.get(number) {
        Some((name, bytes)) => {
            let far = if to > 2.0 * bytes || to < bytes / 2.0 { ", not the same" } else { "" };
            format!("{seen} by the curve, {name} {} by sysfs{far}", number::bytes(*bytes))
        }
        None => format!("{seen} by the curve, not listed in sysfs"),
    }
}

//! Remarks on figures that contradict each other. They stay as they are.

use crate::{Imported, Series};
use std::collections::BTreeMap;
use tickmark_wire::Unit;

/// Order of the figures of one distribution, by the last part of their names.
fn rank(what: &str) -> Option<f64> {
    match what {
        "min" => Some(0.0),
        "max" => Some(100.0),
        "median" => Some(50.0),
        percent => percent
            .strip_prefix('p')?
            .replace('_', ".")
            .parse()
            .ok()
            .filter(|rank| (0.0..=100.0).contains(rank)),
    }
}

/// Name, value and step of a part of a distribution.
type RankedPart<'a> = (&'a str, f64, f64);

/// A system call that takes so many times the median of the simple ones is remarkable.
const FAR: f64 = 100.0;

/// From it on, not every integer is a number of a recording: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Adds a remark for each contradiction: a percentile below the minimum or above a higher one, a mean outside of minimum and maximum, one
/// simple call far above its neighbours.
pub(super) fn remark(found: &mut Imported) {
    let mut distributions: BTreeMap<(String, u32), Vec<RankedPart<'_>>> = BTreeMap::new();
    for (metric, series) in &found.series {
        // "x.latency.p95.cpu=1" is "x.latency" of "cpu=1".
        let parts: Vec<&str> = metric.split('.').collect();
        let known = |part: &&str| rank(part).is_some() || matches!(*part, "mean" | "avg");
        let Some(at) = parts.iter().rposition(known) else { continue };
        let rest = [&parts[..at], &parts[at + 1..]].concat().join(".");
        for value in &series.values {
            distributions.entry((rest.clone(), value.round)).or_default().push((
                parts[at],
                value.value,
                value.step,
            ));
        }
    }
    let mut remarks = Vec::new();
    for ((prefix, round), figures) in &distributions {
        let mut ranked: Vec<(f64, &RankedPart<'_>)> =
            figures.iter().filter_map(|figure| Some((rank(figure.0)?, figure))).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        let run = if found.rounds > 1 { format!(" of run {round}") } else { String::new() };
        for pair in ranked.windows(2) {
            let ((_, low), (_, high)) = (pair[0], pair[1]);
            if high.1 + (low.2 + high.2) / 2.0 < low.1 * (1.0 - 1e-9) {
                remarks.push(format!("{prefix}{run}: {} is below {}", high.0, low.0));
            }
        }
        let end = |what: &str| figures.iter().find(|figure| figure.0 == what);
        for mean in figures.iter().filter(|figure| matches!(figure.0, "mean" | "avg")) {
            if end("min").is_some_and(|least| mean.1 + (mean.2 + least.2) / 2.0 < least.1 * (1.0 - 1e-9)) {
                remarks.push(format!("{prefix}{run}: {} is below min", mean.0));
            }
            if end("max").is_some_and(|most| mean.1 - (mean.2 + most.2) / 2.0 > most.1 * (1.0 + 1e-9)) {
                remarks.push(format!("{prefix}{run}: {} is above max", mean.0));
            }
        }
    }
    let simple = ["syscall.null", "syscall.read", "syscall.write", "syscall.stat", "syscall.open_close"];
    let costs: Vec<(&str, f64)> = simple
        .iter()
        .filter_map(|name| Some((*name, found.series.get(*name)?.values.first()?.value)))
        .collect();
    let mut sorted: Vec<f64> = costs.iter().map(|(_, cost)| *cost).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    if let Some(middle) = sorted.get(sorted.len().saturating_sub(1) / 2).filter(|_| sorted.len() > 2) {
        for (name, cost) in costs.iter().filter(|(_, cost)| cost / middle > FAR) {
            remarks.push(format!("{name} takes {:.0} times the median of its neighbours", cost / middle));
        }
    }
    let is_rounded = |(metric, series): (&String, &Series)| {
        found.kinds.get(metric).is_some_and(|kind| kind.unit == Unit::Count)
            && series.values.iter().any(|value| value.value.abs() >= EXACT)
    };
    if found.series.iter().any(is_rounded) {
        remarks.push("integers above 2^53 are rounded; tickmark stat keeps all of their digits".to_owned());
    }
    found.remarks.extend(remarks);
}

//! One metric in detail: each run, and the whole histogram of its latencies.

use super::row::Unit;
use crate::sample::{self, Sample};
use serde::Serialize;
use tickmark_stats::Sorted;
use tickmark_wire::Headline;

/// A metric in detail.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detail {
    /// Its name.
    pub metric: String,
    /// Of its runs.
    pub unit: Unit,
    /// Round and headline of each run.
    pub runs: Vec<(u32, f64)>,
    /// Percentiles of all latencies together: share, ns.
    pub percentiles: Vec<(f64, f64)>,
    /// Bins from (ns, inclusive) to (ns, exclusive) and their counts; every latency is in one.
    pub histogram: Vec<Bin>,
    /// The curve, where the metric is one: size, median floor of the runs in ns.
    pub curve: Vec<(u64, f64)>,
}

/// One bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bin {
    /// Lower end, ns.
    pub from: f64,
    /// Upper end, ns.
    pub to: f64,
    /// How many are inside.
    pub count: usize,
}

pub(super) fn detail_of_sample(sample: &Sample<'_>) -> Option<Detail> {
    if sample.runs.is_empty() {
        return None;
    }
    let latencies = sample.runs.iter().filter_map(|run| match &run.detail {
        sample::Detail::Latencies(sorted) => Some(sorted.as_slice().iter().copied()),
        _ => None,
    });
    let all = Sorted::new(latencies.flatten());
    let tick = sample.metric.headline == Headline::TickTrain;
    let shares = [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0];
    let spread = super::rows::spread_of(sample);
    let exact = |share: f64| all.quantile(share);
    let quantile = |share: f64| spread.as_ref().map_or_else(|| exact(share), |all| Some(all.quantile(share)));
    let bins = |spread: &sample::Spread| {
        let bin =
            |(from, to, count): &(f64, f64, u64)| Bin { from: *from, to: to + 1.0, count: *count as usize };
        spread.buckets().iter().map(bin).collect()
    };
    Some(Detail {
        metric: sample.metric.name.to_string(),
        unit: if tick { Unit::Hz } else { sample.metric.unit.into() },
        runs: sample.runs.iter().map(|run| (run.round, run.value)).collect(),
        percentiles: shares.iter().filter_map(|q| Some((*q, quantile(*q)?))).collect(),
        histogram: spread.as_ref().map_or_else(|| histogram(all.as_slice()), bins),
        curve: super::levels::pooled(sample).into_iter().map(|(at, floor)| (at as u64, floor)).collect(),
    })
}

/// Bins that grow by a quarter of an octave, from the least value to the greatest: no bin for overflow.
/// Negative values have bins of the same widths.
fn histogram(sorted: &[f64]) -> Vec<Bin> {
    let bin = |value: f64| {
        let octave = |v: f64| (v.log2() * 4.0).floor() as i32;
        if value >= 1.0 {
            octave(value) + 1
        } else if value > -1.0 {
            0
        } else {
            -octave(-value) - 1
        }
    };
    let edge = |bin: i32| match bin {
        0 => (-1.0, 1.0),
        b if b > 0 => ((f64::from(b - 1) * 0.25).exp2(), (f64::from(b) * 0.25).exp2()),
        b => (-(f64::from(-b) * 0.25).exp2(), -(f64::from(-b - 1) * 0.25).exp2()),
    };
    let mut bins: Vec<Bin> = Vec::new();
    let mut last = None;
    for value in sorted {
        let number = bin(*value);
        if last == Some(number) {
            if let Some(bin) = bins.last_mut() {
                bin.count += 1;
            }
            continue;
        }
        // Empty bins between stay, so that a gap between two modes is seen.
        for empty in last.map_or(number, |last| last + 1)..number {
            let (from, to) = edge(empty);
            bins.push(Bin { from, to, count: 0 });
        }
        let (from, to) = edge(number);
        bins.push(Bin { from, to, count: 1 });
        last = Some(number);
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_latency_is_in_a_bin_whatever_its_size() {
        let values = Sorted::new([-5_000.0, -0.5, 0.0, 1.0, 1.9, 50_000.0, 50_100.0, 3.6e12]);
        let bins = histogram(values.as_slice());
        assert_eq!(bins.iter().map(|b| b.count).sum::<usize>(), 8);
        for value in values.as_slice() {
            let inside = |b: &&Bin| b.count > 0 && b.from <= *value && *value < b.to;
            // The lower edge of a negative bin belongs to the one below: both ends are looked at.
            let touches = |b: &&Bin| b.count > 0 && b.from <= *value && *value <= b.to;
            assert!(bins.iter().any(|b| inside(&b) || touches(&b)), "{value}");
        }
        assert!(
            bins.windows(2)
                .all(|pair| (pair[0].to - pair[1].from).abs() < 1e-6 * pair[1].from.abs().max(1.0))
        );
        assert!(histogram(&[]).is_empty());
    }
}

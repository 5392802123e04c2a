//! How values are distributed, run by run, and how that differs between two recordings.

use crate::sample::{Detail, Figures, Sample};
use tickmark_stats::Interval;
use tickmark_stats::two::Difference;
use tickmark_store::Recording;
use tickmark_wire::Metric;

/// Of intervals.
const CONFIDENCE: f64 = 0.95;
/// With fewer values there is no distribution to show.
const FEWEST: u64 = 20;

/// Quantiles of a metric in each of its runs, in ns.
#[derive(Debug, Clone)]
pub struct Distribution {
    /// The metric.
    pub metric: String,
    /// Title for people.
    pub title: String,
    /// At these shares, ascending: each hundredth, and then ever nearer to one, as far as the shortest run goes.
    pub shares: Vec<f64>,
    /// Values of each run.
    pub runs: Vec<Vec<f64>>,
    /// The greatest of each run.
    pub most: Vec<f64>,
    /// How many values there are in all.
    pub count: u64,
}

/// By how much a quantile is farther off on the other side.
#[derive(Debug, Clone)]
pub struct Shift {
    /// The metric.
    pub metric: String,
    /// Title for people.
    pub title: String,
    /// Share, difference of the runs' means in ns, and where that lies by Welch's t over the runs (95 %, each share for itself).
    pub points: Vec<(f64, f64, Option<Interval>)>,
}

/// Ends of the shares that runs of so many values have: one in three of them lies beyond the last.
fn shares(count: u64) -> Vec<f64> {
    let hundredths = (0..=99).map(|hundredth| f64::from(hundredth) / 100.0);
    let farther = (1..=60).map(|step| 1.0 - 10f64.powf(-2.0 - f64::from(step) / 12.0));
    let last = 1.0 - 3.0 / count as f64;
    hundredths.chain(farther).filter(|share| *share <= last).collect()
}

/// Every metric that keeps enough of what it saw.
pub(super) fn read_distributions(recording: &Recording) -> Vec<Distribution> {
    let one = |metric: &Metric| {
        let sample = Sample::from_recording(recording, metric);
        let all: Vec<(u64, &Figures)> =
            sample.runs.iter().filter_map(|run| Some((count(&run.detail)?, run))).collect();
        let fewest = all.iter().map(|(count, _)| *count).min().filter(|count| *count >= FEWEST)?;
        let shares = shares(fewest);
        let quantiles = |(_, run): &(u64, &Figures)| {
            shares.iter().map(|share| quantile(&run.detail, *share)).collect::<Option<Vec<f64>>>()
        };
        let runs = all.iter().map(quantiles).collect::<Option<Vec<_>>>()?;
        let most = all.iter().map(|(_, run)| quantile(&run.detail, 1.0)).collect::<Option<Vec<f64>>>()?;
        let count = all.iter().map(|(count, _)| count).sum();
        Some(Distribution {
            metric: metric.name.to_string(),
            title: metric.title.trim().to_owned(),
            shares,
            runs,
            most,
            count,
        })
    };
    recording.meta.plan.metrics.iter().filter_map(one).collect()
}

fn count(detail: &Detail) -> Option<u64> {
    match detail {
        Detail::Latencies(sorted) | Detail::Gaps { lengths: sorted, .. } => {
            Some(sorted.as_slice().len() as u64)
        }
        Detail::Spread(spread) => Some(spread.count),
        _ => None,
    }
}

fn quantile(detail: &Detail, share: f64) -> Option<f64> {
    match detail {
        Detail::Latencies(sorted) | Detail::Gaps { lengths: sorted, .. } => sorted.quantile(share),
        Detail::Spread(spread) => Some(spread.quantile(share)),
        _ => None,
    }
}

impl Distribution {
    /// At each share the mean of the runs, the least and the greatest.
    pub fn across(&self) -> impl Iterator<Item = (f64, [f64; 3])> {
        self.shares.iter().enumerate().map(|(at, share)| {
            let values = self.runs.iter().map(|run| run[at]);
            let mean = values.clone().sum::<f64>() / self.runs.len().max(1) as f64;
            let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
            (*share, [mean, least, most])
        })
    }

    /// The share of a run's values up to this one, by its quantiles.
    #[must_use]
    pub fn below(&self, run: usize, value: f64) -> f64 {
        let own = &self.runs[run];
        let next = own.partition_point(|quantile| *quantile <= value);
        match (
            next.checked_sub(1).map(|at| (own[at], self.shares[at])),
            own.get(next).zip(self.shares.get(next)),
        ) {
            (None, _) => 0.0,
            (Some((low, share)), None) => {
                let part = (value - low) / (self.most[run] - low).max(f64::MIN_POSITIVE);
                share + (1.0 - share) * part.min(1.0)
            }
            (Some((low, from)), Some((high, to))) => {
                from + (to - from) * (value - low) / (high - low).max(f64::MIN_POSITIVE)
            }
        }
    }
}

/// Of every metric that both sides keep, at the shares that both have.
#[must_use]
pub fn shifts(base: &[Distribution], other: &[Distribution]) -> Vec<Shift> {
    let one = |ours: &Distribution| {
        let theirs = other.iter().find(|theirs| theirs.metric == ours.metric)?;
        let both = ours.shares.len().min(theirs.shares.len());
        let point = |at: usize| {
            let column = |side: &Distribution| side.runs.iter().map(|run| run[at]).collect::<Vec<f64>>();
            let (base, other) = (column(ours), column(theirs));
            let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
            let interval = Difference::welch(&base, &other).map(|all| all.interval(CONFIDENCE));
            (ours.shares[at], mean(&other) - mean(&base), interval)
        };
        let (metric, title) = (ours.metric.clone(), ours.title.clone());
        Some(Shift { metric, title, points: (0..both).map(point).collect() })
    };
    base.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(runs: &[fn(f64) -> f64]) -> Distribution {
        let shares = shares(1000);
        let most = runs.iter().map(|of| of(1.0)).collect();
        let runs = runs.iter().map(|of| shares.iter().map(|share| of(*share)).collect()).collect();
        Distribution { metric: "m".to_owned(), title: "M".to_owned(), shares, runs, most, count: 2000 }
    }

    #[test]
    fn shares_go_as_far_as_there_are_values() {
        assert_eq!(shares(100).last(), Some(&0.97));
        let many = shares(1_000_000);
        assert!(
            many.last().is_some_and(|last| *last > 0.9999) && many.windows(2).all(|pair| pair[0] < pair[1])
        );
    }

    #[test]
    fn a_shifted_tail_is_seen_where_it_is() {
        let base = distribution(&[|share| 100.0 + share, |share| 102.0 + share, |share| 101.0 + share]);
        let other = distribution(&[
            |share| 100.0 + share,
            |share| 102.0 + share,
            |share| if share > 0.95 { 500.0 } else { 101.0 + share },
        ]);
        let [shift] = &shifts(std::slice::from_ref(&base), &[other])[..] else { panic!("one metric") };
        let at = |share: f64| shift.points.iter().find(|point| (point.0 - share).abs() < 1e-9).unwrap();
        assert!(at(0.5).1.abs() < 1e-9 && at(0.99).1 > 100.0);
        assert!(at(0.5).2.is_some_and(|interval| interval.low < 0.0 && interval.high > 0.0));
        assert!(shifts(std::slice::from_ref(&base), &[]).is_empty());
        // Of a value the share, and back.
        assert!((base.below(0, 100.5) - 0.5).abs() < 1e-9 && base.below(0, 99.0) == 0.0);
        assert!(base.below(0, 101.0) == 1.0 && base.below(0, 1e9) == 1.0 && base.below(0, 100.9995) < 1.0);
        let (share, [mean, least, most]) = base.across().nth(50).unwrap();
        assert!((share - 0.5).abs() < 1e-9 && (mean - 101.5).abs() < 1e-9 && least < mean && most > mean);
    }
}

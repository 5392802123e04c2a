//! Figures of a histogram: each value is known to a share of itself.

use tickmark_wire::Nanos;

/// How often each of many values was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Ends of each bucket in ns, ascending, and how many values it holds, in all.
    buckets: Vec<(f64, f64, u64)>,
    /// How many values there are.
    pub count: u64,
    /// Their mean, each taken in the middle of its bucket.
    pub mean: f64,
    /// No figure is farther off than this share of itself.
    pub within: f64,
}

impl Spread {
    /// Of the buckets of a histogram that cuts each power of two into 2^`bits`; none where it is empty.
    #[must_use]
    pub fn of(buckets: &[(Nanos, Nanos, u64)], bits: u8) -> Option<Self> {
        let count = buckets.iter().fold(0u64, |sum, (.., count)| sum.saturating_add(*count));
        let all: Vec<_> =
            buckets.iter().map(|(low, high, count)| (low.as_f64(), high.as_f64(), *count)).collect();
        let sum: f64 = all.iter().map(|(low, high, count)| (low + high) / 2.0 * *count as f64).sum();
        let within = 0.5f64.powi(i32::from(bits) + 1);
        (count > 0).then(|| Self { buckets: all, count, mean: sum / count as f64, within })
    }

    /// All of them together.
    #[must_use]
    pub fn of_all(spreads: &[&Self]) -> Option<Self> {
        let mut buckets: Vec<_> = spreads.iter().flat_map(|spread| spread.buckets.iter().copied()).collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count = spreads.iter().fold(0u64, |sum, spread| sum.saturating_add(spread.count));
        let sum: f64 = spreads.iter().map(|spread| spread.mean * spread.count as f64).sum();
        let within = spreads.iter().map(|spread| spread.within).fold(0.0, f64::max);
        (count > 0).then(|| Self { buckets, count, mean: sum / count as f64, within })
    }

    /// The ends of each bucket in ns, ascending, and how many values it holds.
    #[must_use]
    pub fn buckets(&self) -> &[(f64, f64, u64)] {
        &self.buckets
    }

    /// The value below which this share of them lies: the middle of the bucket that holds it.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut before = 0u64;
        for (low, high, count) in &self.buckets {
            before = before.saturating_add(*count);
            if before >= rank {
                return (low + high) / 2.0;
            }
        }
        self.most()
    }

    /// The greatest value, exactly.
    #[must_use]
    pub fn most(&self) -> f64 {
        self.buckets.iter().map(|(_, high, _)| *high).fold(f64::NEG_INFINITY, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::Histogram;

    #[test]
    fn quantiles_are_within_the_share_that_it_says() {
        let mut histogram = Histogram::new(7);
        let values: Vec<i64> = (1..=10_000).map(|i| i * i).collect();
        values.iter().for_each(|value| histogram.record(Nanos::new(*value)));
        let spread = Spread::of(&histogram.buckets().unwrap(), histogram.bits).unwrap();
        for share in [0.01, 0.5, 0.9, 0.99, 0.9999] {
            let exact = values[(share * 10_000.0) as usize - 1] as f64;
            let off = (spread.quantile(share) / exact - 1.0).abs();
            assert!(off <= spread.within * 1.01, "{share}: off by {off}, promised {}", spread.within);
        }
        assert_eq!((spread.most(), spread.count), (1e8, 10_000));
        let exact = values.iter().sum::<i64>() as f64 / 1e4;
        assert!((spread.mean / exact - 1.0).abs() < spread.within);
        assert_eq!(Spread::of(&[], 7), None);
    }
}

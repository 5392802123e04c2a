//! Figures of a histogram: each value is known to a share of itself.

use tickmark_wire::{Histogram, Nanos};

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
    /// The least value, exactly.
    pub least: f64,
    /// The greatest value, exactly.
    pub most: f64,
}

impl Spread {
    /// Of a histogram; none where it is damaged or empty.
    #[must_use]
    pub fn from_histogram(histogram: &Histogram) -> Option<Self> {
        let end = |(low, high, count): &(Nanos, Nanos, u64)| (low.as_f64(), high.as_f64(), *count);
        let buckets: Vec<_> = histogram.buckets()?.iter().map(end).collect();
        let within = 0.5f64.powi(i32::from(histogram.bits) + 1);
        Self::made(buckets, histogram.least.as_f64(), histogram.most.as_f64(), within)
    }

    fn made(buckets: Vec<(f64, f64, u64)>, least: f64, most: f64, within: f64) -> Option<Self> {
        let count = buckets.iter().fold(0u64, |sum, (.., count)| sum.saturating_add(*count));
        let middle = |low: f64, high: f64| f64::midpoint(low, high).clamp(least, most);
        let sum: f64 = buckets.iter().map(|(low, high, count)| middle(*low, *high) * *count as f64).sum();
        (count > 0 && least <= most).then(|| Self {
            buckets,
            count,
            mean: sum / count as f64,
            within,
            least,
            most,
        })
    }

    /// All of them together.
    #[must_use]
    pub fn of_all(spreads: &[&Self]) -> Option<Self> {
        let mut all: Vec<_> = spreads.iter().flat_map(|spread| spread.buckets.iter().copied()).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut buckets: Vec<(f64, f64, u64)> = Vec::new();
        for (low, high, count) in all {
            match buckets.last_mut() {
                Some(last) if (last.0, last.1) == (low, high) => last.2 = last.2.saturating_add(count),
                _ => buckets.push((low, high, count)),
            }
        }
        let end = |of: fn(&Self) -> f64, better: fn(f64, f64) -> f64| {
            spreads.iter().map(|one| of(one)).reduce(better)
        };
        let (least, most) = (end(|one| one.least, f64::min)?, end(|one| one.most, f64::max)?);
        Self::made(buckets, least, most, end(|one| one.within, f64::max)?)
    }

    /// The ends of each bucket in ns, ascending, both inclusive, and how many values it holds.
    #[must_use]
    pub fn buckets(&self) -> &[(f64, f64, u64)] {
        &self.buckets
    }

    /// The value below which this share of them lies: the middle of the bucket that holds it; the least and the greatest exactly.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut before = 0u64;
        for (low, high, count) in self.buckets.iter().filter(|_| share > 0.0 && share < 1.0) {
            before = before.saturating_add(*count);
            if before >= rank {
                return f64::midpoint(*low, *high).clamp(self.least, self.most);
            }
        }
        if share > 0.0 { self.most } else { self.least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_the_share_that_it_says() {
        let mut histogram = Histogram::new(7);
        let values: Vec<i64> = (1..=10_000).map(|i| i * i).collect();
        values.iter().for_each(|value| histogram.record(Nanos::new(*value)));
        let spread = Spread::from_histogram(&histogram).unwrap();
        for share in [0.01, 0.5, 0.9, 0.99, 0.9999] {
            let exact = values[(share * 10_000.0) as usize - 1] as f64;
            let off = (spread.quantile(share) / exact - 1.0).abs();
            assert!(off <= spread.within * 1.01, "{share}: off by {off}, promised {}", spread.within);
        }
        assert_eq!((spread.least, spread.most, spread.quantile(1.0), spread.count), (1.0, 1e8, 1e8, 10_000));
        let exact = values.iter().sum::<i64>() as f64 / 1e4;
        assert!((spread.mean / exact - 1.0).abs() < spread.within);
        assert_eq!(Spread::from_histogram(&Histogram::new(7)), None);
        let both = Spread::of_all(&[&spread, &spread]).unwrap();
        assert_eq!((both.buckets().len(), both.count), (spread.buckets().len(), 20_000), "bins are joined");
    }
}

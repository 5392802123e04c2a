//! One sample in a few figures, of any length.

use crate::Interval;
use crate::student::normal_point;

/// Summary of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
    /// The median, of an even number the mean of the middle two.
    pub median: f64,
    /// The lower and the upper quartile, by definition 7 of Hyndman and Fan.
    pub quartiles: [f64; 2],
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n - 1, in two passes with the sum of the deviations as a correction (Chan, Golub and LeVeque,
    /// Algorithms for computing the sample variance, 1983); 0 of a single value.
    pub deviation: f64,
}

impl Summary {
    /// None of an empty sample; no value may be NaN.
    #[must_use]
    pub fn summarize(values: &[f64]) -> Option<Self> {
        Self::with_ranks(values, &[]).map(|(summary, _)| summary)
    }

    /// The same with the values at some ranks, counted from 0, in the same walks over the sample.
    #[must_use]
    pub fn with_ranks(values: &[f64], ranks: &[usize]) -> Option<(Self, Vec<f64>)> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let (least, most) = ends(values);
        let sum = |of: &dyn Fn(f64) -> f64| values.iter().map(|v| of(*v)).sum::<f64>();
        let rough = values.iter().sum::<f64>() / n;
        let rough = if rough.is_finite() { rough } else { sum(&|v| v / n) };
        let mean = rough + values.iter().map(|v| v - rough).sum::<f64>() / n;
        let (mut first, mut squares) = (0.0, 0.0);
        for value in values {
            let part = value - mean;
            first += part;
            squares += part * part;
        }
        let mut variance = (squares - first * first / n) / (n - 1.0).max(1.0);
        let mut scale = 1.0;
        if !(variance > f64::MIN_POSITIVE && variance.is_finite()) {
            // Squares of the largest and of the least numbers that there are need another scale.
            scale = (most - mean).abs().max((least - mean).abs());
            let scaled = || sum(&|v| ((v - mean) / scale).powi(2)) / (n - 1.0).max(1.0);
            variance = if scale > 0.0 { scaled() } else { 0.0 };
        }
        let deviation = variance.max(0.0).sqrt() * scale;
        let places = [0.25, 0.5, 0.75].map(|q| q * (n - 1.0));
        let around = places.iter().flat_map(|at| [*at as usize, (*at as usize + 1).min(count - 1)]);
        let wanted: Vec<usize> = around.chain(ranks.iter().copied()).collect();
        let found = values_at_ranks(values, &wanted, (least, most));
        let between = |which: usize| {
            let (below, above) = (found[2 * which], found[2 * which + 1]);
            below + (above - below) * (places[which] - places[which].floor())
        };
        let (quartiles, median) = ([between(0), between(2)], between(1));
        let summary = Self { count, least, most, median, quartiles, mean, deviation };
        Some((summary, found[6..].to_vec()))
    }

    /// Below and above these a value is an outlier: one and a half times the distance of the quartiles beyond them (Tukey,
    /// Exploratory data analysis, 1977).
    #[must_use]
    pub fn fences(&self) -> [f64; 2] {
        let [low, high] = self.quartiles;
        let reach = 1.5 * (high - low);
        [low - reach, high + reach]
    }
}

/// The least and the greatest value.
fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
}

/// Samples that are sorted for their ranks.
const SORTED: usize = 50_000;
const BUCKETS: usize = 1 << 16;

/// The values with these ranks, counted from 0, of a sample of any order and length: of a long one only the neighbours of
/// each rank are sorted, which are found by counting the values of 65,536 equal ranges. No value may be NaN, and each rank must be
/// below the number of values.
#[must_use]
pub fn at_ranks(values: &[f64], ranks: &[usize]) -> Vec<f64> {
    values_at_ranks(values, ranks, ends(values))
}

fn values_at_ranks(values: &[f64], ranks: &[usize], (least, most): (f64, f64)) -> Vec<f64> {
    let width = (most - least) / BUCKETS as f64;
    if values.len() <= SORTED || !(width > f64::MIN_POSITIVE && width.is_finite()) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        return ranks.iter().map(|rank| sorted[*rank]).collect();
    }
    let wide = width.recip();
    let bucket = |value: f64| (((value - least) * wide) as usize).min(BUCKETS - 1);
    let mut counts = vec![0u32; BUCKETS];
    values.iter().for_each(|value| counts[bucket(*value)] += 1);
    // For each rank its bucket, and how many values are in those below.
    let place = |rank: &usize| {
        let (mut below, mut at) = (0, 0);
        while below + counts[at] as usize <= *rank {
            below += counts[at] as usize;
            at += 1;
        }
        (at, below)
    };
    let places: Vec<(usize, usize)> = ranks.iter().map(place).collect();
    let mut wanted = vec![u32::MAX; BUCKETS];
    let mut kept: Vec<Vec<f64>> = Vec::new();
    for (at, _) in &places {
        if wanted[*at] == u32::MAX {
            wanted[*at] = kept.len() as u32;
            kept.push(Vec::with_capacity(counts[*at] as usize));
        }
    }
    for value in values {
        if let Some(own) = kept.get_mut(wanted[bucket(*value)] as usize) {
            own.push(*value);
        }
    }
    let found = ranks.iter().zip(&places).map(|(rank, (at, below))| {
        let own = &mut kept[wanted[*at] as usize];
        *own.select_nth_unstable_by(rank - below, f64::total_cmp).1
    });
    found.collect()
}

/// The ranks, counted from 0, of the two values of a sorted sample between which its quantile `q` lies with this confidence or
/// more, and that confidence: by the binomial distribution of how many values are below (Conover, Practical
/// nonparametric statistics, section 3.2). None where the sample is too small for such an interval.
#[must_use]
pub fn quantile_ranks(count: usize, q: f64, confidence: f64) -> Option<(usize, usize, f64)> {
    let (n, tail) = (count as f64, (1.0 - confidence) / 2.0);
    if count > 100_000 {
        // The normal approximation of the binomial, with its correction for continuity.
        let reach = normal_point(tail) * (n * q * (1.0 - q)).sqrt() + 0.5;
        let (low, high) = ((n * q - reach).floor(), (n * q + reach).ceil());
        return (low >= 0.0 && high < n).then_some((low as usize, high as usize, confidence));
    }
    // Chances of exactly k below, from logarithms: they are too small to be multiplied up.
    let (mut term, mut below) = (n * (1.0 - q).ln(), 0.0);
    let mut low = None;
    let mut skipped = 0.0;
    for k in 0..count {
        below += term.exp();
        if below <= tail {
            (low, skipped) = (Some(k), below);
        }
        if below >= 1.0 - tail {
            return low.map(|low| (low, k, below - skipped));
        }
        term += ((n - k as f64) / (k as f64 + 1.0)).ln() + (q / (1.0 - q)).ln();
    }
    None
}

/// A quantile of a sorted sample with its interval, where the sample is large enough for one.
#[must_use]
pub fn quantile_interval(sorted: &[f64], q: f64, confidence: f64) -> Option<(Interval, f64)> {
    let (low, high, confidence) = quantile_ranks(sorted.len(), q, confidence)?;
    Some((Interval { low: sorted[low], high: sorted[high] }, confidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::Sorted;
    use proptest::prelude::*;

    #[test]
    fn what_the_old_tool_gets_wrong() {
        // statistics.md: ministat prints 0, -nan and the upper of two medians.
        assert_eq!(Summary::summarize(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).unwrap().deviation, 1.0);
        let s = Summary::summarize(&[1.7e18, 1.7e18 + 512.0, 1.7e18 + 1024.0]).unwrap();
        assert!((s.deviation - 512.0).abs() < 1e-6, "{s:?}");
        let s = Summary::summarize(&[1e300, 3e300, 2e300]).unwrap();
        assert!((s.deviation / 1e300 - 1.0).abs() < 1e-9, "{s:?}");
        let four = Summary::summarize(&[13_626.05, 13_704.01, 13_741.43, 13_769.32]).unwrap();
        assert!((four.median - 13_722.72).abs() < 1e-9, "{four:?}");
        assert_eq!(Summary::summarize(&[]), None);
    }

    #[test]
    fn quantiles_have_the_intervals_of_the_tables() {
        // The median of 10 lies between the 2nd and the 9th with 97.85 %, that of 20 between the 6th and the 15th with 95.86 %.
        for (n, low, high, sure) in [(10, 1, 8, 0.978_515_625), (20, 5, 14, 0.958_610_534_667_968_8)] {
            let (l, h, confidence) = quantile_ranks(n, 0.5, 0.95).unwrap();
            assert_eq!((l, h), (low, high), "{n}");
            assert!((confidence - sure).abs() < 1e-9, "{n}: {confidence}");
        }
        assert_eq!(quantile_ranks(5, 0.5, 0.95), None);
        assert_eq!(quantile_ranks(100, 0.99, 0.95), None, "a hundred values have no upper end for p99");
        let (low, high, _) = quantile_ranks(1_000_000, 0.5, 0.95).unwrap();
        assert!((low as i64 - 499_019).abs() < 4 && (high as i64 - 500_981).abs() < 4, "{low} {high}");
    }

    #[test]
    fn ranks_of_long_samples() {
        // Plain, with most values in one bucket, and with few different values.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64
        };
        let plain: Vec<f64> = (0..SORTED * 2).map(|_| next()).collect();
        let spiked: Vec<f64> =
            plain.iter().enumerate().map(|(i, v)| if i == 7 { 1e18 } else { *v }).collect();
        let coarse: Vec<f64> = plain.iter().map(|v| (v / 1e9).floor()).collect();
        for values in [plain, spiked, coarse] {
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let ranks = [0, 1, 777, SORTED, SORTED, 2 * SORTED - 2, 2 * SORTED - 1];
            assert_eq!(at_ranks(&values, &ranks), ranks.map(|rank| sorted[rank]));
        }
    }

    proptest! {
        #[test]
        fn selection_is_sorting(values in prop::collection::vec(-1e6f64..1e6, 1..80)) {
            let sorted = Sorted::new(values.clone());
            let s = Summary::summarize(&values).unwrap();
            prop_assert_eq!(s.median, sorted.quantile(0.5).unwrap());
            prop_assert_eq!(s.quartiles, [sorted.quantile(0.25).unwrap(), sorted.quantile(0.75).unwrap()]);
            prop_assert!(s.least <= s.mean + 1e-6 && s.mean <= s.most + 1e-6);
        }
    }
}

//! One sample in a few figures, of any length.

use crate::Interval;
use crate::student::normal_point;

/// What a sample looks like.
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
    /// Puts `values` in another order, so that it needs neither a copy nor a sort. None of an empty sample; no value may be
    /// NaN.
    #[must_use]
    pub fn of(values: &mut [f64]) -> Option<Self> {
        let count = values.len();
        let n = count as f64;
        // Scaled, so that the squares of the largest values that there are can be summed.
        let least = values.iter().copied().min_by(f64::total_cmp)?;
        let most = values.iter().copied().max_by(f64::total_cmp)?;
        let mean = {
            let rough = values.iter().map(|v| v / n).sum::<f64>();
            rough + values.iter().map(|v| (v - rough) / n).sum::<f64>()
        };
        let scale = (most - mean).abs().max((least - mean).abs());
        let deviation = if scale > 0.0 && count > 1 {
            let (mut sum, mut squares) = (0.0, 0.0);
            for value in values.iter() {
                let part = (value - mean) / scale;
                sum += part;
                squares += part * part;
            }
            ((squares - sum * sum / n) / (n - 1.0)).max(0.0).sqrt() * scale
        } else {
            0.0
        };
        let median = quantile(values, 0.5);
        let quartiles = [quantile(values, 0.25), quantile(values, 0.75)];
        Some(Self { count, least, most, median, quartiles, mean, deviation })
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

/// As `Sorted::quantile`, by selection instead of sorting.
fn quantile(values: &mut [f64], q: f64) -> f64 {
    let at = q * (values.len() - 1) as f64;
    let part = at - at.floor();
    let (_, below, above) = values.select_nth_unstable_by(at.floor() as usize, f64::total_cmp);
    let below = *below;
    let next = above.iter().copied().min_by(f64::total_cmp).unwrap_or(below);
    below + (next - below) * part
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
        assert_eq!(Summary::of(&mut [1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).unwrap().deviation, 1.0);
        let s = Summary::of(&mut [1.7e18, 1.7e18 + 512.0, 1.7e18 + 1024.0]).unwrap();
        assert!((s.deviation - 512.0).abs() < 1e-6, "{s:?}");
        let s = Summary::of(&mut [1e300, 3e300, 2e300]).unwrap();
        assert!((s.deviation / 1e300 - 1.0).abs() < 1e-9, "{s:?}");
        let four = Summary::of(&mut [13_626.05, 13_704.01, 13_741.43, 13_769.32]).unwrap();
        assert!((four.median - 13_722.72).abs() < 1e-9, "{four:?}");
        assert_eq!(Summary::of(&mut []), None);
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

    proptest! {
        #[test]
        fn selection_is_sorting(mut values in prop::collection::vec(-1e6f64..1e6, 1..80)) {
            let sorted = Sorted::new(values.clone());
            let s = Summary::of(&mut values).unwrap();
            prop_assert_eq!(s.median, sorted.quantile(0.5).unwrap());
            prop_assert_eq!(s.quartiles, [sorted.quantile(0.25).unwrap(), sorted.quantile(0.75).unwrap()]);
            prop_assert!(s.least <= s.mean + 1e-6 && s.mean <= s.most + 1e-6);
        }
    }
}

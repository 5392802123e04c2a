//! Means without their ends: what stays where a spike in one value would hide the others.

use crate::two::Difference;

/// No more values are taken off at an end.
pub(crate) const MOST: usize = 15;

/// How many values are taken off at either end: a tenth, one at least and fifteen at most; none of fewer than six.
#[must_use]
pub fn taken_off(count: usize) -> usize {
    if count < 6 { 0 } else { (count / 10).clamp(1, MOST) }
}

/// A sum and a sum of squares.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums {
    pub(crate) count: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
}

impl Sums {
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    pub(crate) fn less(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            sum: self.sum - other.sum,
            squares: self.squares - other.squares,
        }
    }

    pub(crate) fn mean(self) -> f64 {
        self.sum / self.count
    }

    /// With n - 1; what is below is rounding.
    pub(crate) fn variance(self) -> f64 {
        self.variance_above(self.rounding())
    }

    /// Rounding error of a variance of these values.
    fn rounding(self) -> f64 {
        1e-15 * self.squares / self.count
    }

    fn variance_above(self, least: f64) -> f64 {
        ((self.squares - self.sum * self.sum / self.count) / (self.count - 1.0)).max(least)
    }

    /// The mean with `off` values at each end taken off, its variance, and the degrees of freedom of that: the trimmed mean and
    /// the winsorised sum of squares of Tukey and McLaughlin, Less vulnerable confidence and significance procedures..., 1963
    /// (for two samples Yuen, 1974). `least` and `most` are the ends, the farthest first, one more than is taken off; `grain` is
    /// the variance that rounding gives a value. What is left of sums from which ends were taken is no more exact than these were.
    pub(crate) fn trimmed(self, off: usize, least: &[f64], most: &[f64], grain: f64) -> (f64, f64, f64) {
        let ends = || least[..off].iter().chain(&most[..off]);
        let count = off as f64;
        let (low, high) = (least[off], most[off]);
        let sum = self.sum - ends().sum::<f64>();
        let squares = self.squares - ends().map(|v| v * v).sum::<f64>();
        let winsorised = Self {
            count: self.count,
            sum: sum + count * (low + high),
            squares: squares + count * (low * low + high * high),
        };
        let left = self.count - 2.0 * count;
        let square = (self.count - 1.0) * (winsorised.variance_above(self.rounding()) + grain);
        (sum / left, square / (left * (left - 1.0)), left - 1.0)
    }
}

/// The trimmed mean of a sample, as a difference from zero. None of fewer than six values.
#[must_use]
pub fn trimmed(values: &[f64], step: f64) -> Option<Difference> {
    let off = taken_off(values.len());
    if off == 0 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // What is taken off counts as the last value that is not, before anything is squared: no spike costs the others their digits.
    let (low, high) = (sorted[off], sorted[sorted.len() - 1 - off]);
    let middle = sorted[sorted.len() / 2];
    let far = (high - middle).max(middle - low);
    let far = if far > 0.0 { far } else { 1.0 };
    let winsorised: Vec<f64> = sorted.iter().map(|value| (value.clamp(low, high) - middle) / far).collect();
    let kept = &winsorised[off..winsorised.len() - off];
    let (count, left) = (winsorised.len() as f64, kept.len() as f64);
    let point = kept.iter().sum::<f64>() / left;
    let mean = winsorised.iter().sum::<f64>() / count;
    let squares = winsorised.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    let grain = (count - 1.0) * (step / far).powi(2) / 12.0;
    let error = ((squares + grain) / (left * (left - 1.0))).sqrt();
    Some(Difference { point: middle + point * far, error: error * far, df: left - 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_values() {
        // By hand: of 1 2 3 4 5 6 7 8 9 1000 one is taken off at each end; winsorised 2 2 3 ... 9 9 9 has the mean 5.5 and the
        // sum of squares 66.5 around it, over 8 x 7.
        let values: Vec<f64> = (1..10).map(f64::from).chain([1000.0]).collect();
        let t = trimmed(&values, 0.0).unwrap();
        assert!((t.point - 5.5).abs() < 1e-12 && t.df == 7.0, "{t:?}");
        assert!((t.error - (66.5f64 / 56.0).sqrt()).abs() < 1e-9, "{t:?}");
        assert!(trimmed(&values[..5], 0.0).is_none());
        let farther: Vec<f64> = (1..10).map(f64::from).chain([1e300]).collect();
        assert_eq!(trimmed(&farther, 0.0), Some(t), "how far a spike is says nothing");
    }

    #[test]
    fn what_does_not_vary_has_the_error_of_its_rounding() {
        let t = trimmed(&[7.0; 10], 1.2).unwrap();
        assert!((t.point - 7.0).abs() < 1e-12);
        assert!((t.error - (9.0f64 * 0.12 / 56.0).sqrt()).abs() < 1e-12, "{t:?}");
    }
}

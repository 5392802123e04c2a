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
        let rounding = 1e-15 * self.squares / self.count;
        ((self.squares - self.sum * self.sum / self.count) / (self.count - 1.0)).max(rounding)
    }

    /// The mean with `off` values at each end taken off, its variance, and the degrees of freedom of that: the trimmed mean and
    /// the winsorised sum of squares of Tukey and McLaughlin, Less vulnerable confidence and significance procedures..., 1963
    /// (for two samples Yuen, 1974). `least` and `most` are the ends, the farthest first, one more than is taken off; `grain` is
    /// the variance that rounding gives a value.
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
        let square = (self.count - 1.0) * (winsorised.variance() + grain);
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
    sorted.sort_by(f64::total_cmp);
    // Around the middle and in units of the farthest: squares neither cancel, overflow nor vanish.
    let middle = sorted[sorted.len() / 2];
    let far = sorted.iter().map(|value| (value - middle).abs()).fold(0.0, f64::max);
    let far = if far > 0.0 { far } else { 1.0 };
    let mut sums = Sums::default();
    sorted.iter_mut().for_each(|value| *value = (*value - middle) / far);
    sorted.iter().for_each(|value| sums.add(*value));
    let most: Vec<f64> = sorted.iter().rev().copied().take(off + 1).collect();
    let (point, variance, df) = sums.trimmed(off, &sorted, &most, (step / far).powi(2) / 12.0);
    Some(Difference { point: middle + point * far, error: variance.sqrt() * far, df })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_values() {
        // By hand: of 1 2 3 4 5 6 7 8 9 1000 one is taken off at each end; winsorised 2 2 3 ... 9 9 9 has the mean 5.5 and the
        // sum of squares 58.5 around it... over 9 variance 6.5 times 9 / (8 x 7).
        let values: Vec<f64> = (1..10).map(f64::from).chain([1000.0]).collect();
        let t = trimmed(&values, 0.0).unwrap();
        let winsorised = [2.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.0];
        let square: f64 = winsorised.iter().map(|v| (v - 5.5).powi(2)).sum();
        assert!((t.point - 5.5).abs() < 1e-12 && t.df == 7.0, "{t:?}");
        assert!((t.error - (square / 56.0).sqrt()).abs() < 1e-9, "{t:?}");
        assert!(trimmed(&values[..5], 0.0).is_none());
    }

    #[test]
    fn what_does_not_vary_has_the_error_of_its_rounding() {
        let t = trimmed(&[7.0; 10], 1.2).unwrap();
        assert!((t.point - 7.0).abs() < 1e-12);
        assert!((t.error - (9.0f64 * 0.12 / 56.0).sqrt()).abs() < 1e-12, "{t:?}");
    }
}

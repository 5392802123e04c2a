//! Two sets of values: each could as well have stood in the other.

use super::{MIDDLE, MOST, Relabelled, deviate};
use crate::trimmed::{Sums, taken_off};

/// The values of one figure.
#[derive(Debug, Clone)]
pub struct Groups {
    /// Around the middle of all, in ascending order, each with the place of its label.
    sorted: Vec<(f64, usize)>,
    all: Sums,
    /// The variance that rounding gives a value.
    grain: f64,
}

impl Groups {
    /// Of two sets of at least two values, each rounded to a multiple of `step`.
    #[must_use]
    pub fn new(first: &[f64], second: &[f64], step: f64) -> Option<Self> {
        if first.len() < 2 || second.len() < 2 {
            return None;
        }
        let mut sorted: Vec<(f64, usize)> = first.iter().chain(second).copied().zip(0..).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let middle = sorted[sorted.len() / 2].0;
        // Half of each, so that no difference overflows.
        let far = |value: f64| value / 2.0 - middle / 2.0;
        let largest = sorted.iter().map(|(value, _)| far(*value).abs()).fold(0.0, f64::max);
        let scale = if largest > 0.0 { largest } else { 1.0 };
        sorted.iter_mut().for_each(|(value, _)| *value = far(*value) / scale);
        let mut all = Sums::default();
        sorted.iter().for_each(|(value, _)| all.add(*value));
        Some(Self { sorted, all, grain: (step / 2.0 / scale).powi(2) / 12.0 })
    }

    /// So many of each label from one end, the farthest first.
    fn ends<'a>(
        values: impl Iterator<Item = &'a (f64, usize)>,
        labels: &[bool],
        counts: [usize; 2],
    ) -> [[f64; MOST]; 2] {
        let (mut ends, mut taken) = ([[0.0; MOST]; 2], [0, 0]);
        for (value, at) in values {
            let label = usize::from(labels[*at]);
            if taken[label] < counts[label] {
                ends[label][taken[label]] = *value;
                taken[label] += 1;
            }
            if taken == counts {
                break;
            }
        }
        ends
    }

    /// Of each side its mean, the variance of that, and the degrees of freedom of this.
    fn means(&self, sides: [Sums; 2]) -> [(f64, f64, f64); 2] {
        sides.map(|sums| (sums.mean(), (sums.variance() + self.grain) / sums.count, sums.count - 1.0))
    }

    /// The same of its middle: Yuen, The two-sample trimmed t for unequal population variances, 1974.
    fn middles(&self, sides: [Sums; 2], off: [usize; 2], labels: &[bool]) -> [(f64, f64, f64); 2] {
        let counts = off.map(|off| off + 1);
        let least = Self::ends(self.sorted.iter(), labels, counts);
        let most = Self::ends(self.sorted.iter().rev(), labels, counts);
        [0, 1].map(|side| sides[side].trimmed(off[side], &least[side], &most[side], self.grain))
    }
}

/// Welch's t, as a score.
fn welch([(a, va, m), (b, vb, n)]: [(f64, f64, f64); 2]) -> f64 {
    if a == b {
        return 0.0;
    }
    let (p, q) = (va / (va + vb), vb / (va + vb));
    deviate((b - a).powi(2) / (va + vb), (p * p / m + q * q / n).recip())
}

impl Relabelled for Groups {
    /// The larger of Welch's t of the means and Yuen's of the trimmed means.
    fn score(&self, labels: &[bool]) -> f64 {
        let mut second = Sums::default();
        self.sorted.iter().filter(|(_, at)| labels[*at]).for_each(|(value, _)| second.add(*value));
        let sides = [self.all.less(second), second];
        let mean = welch(self.means(sides));
        let off = sides.map(|sums| taken_off(sums.count as usize));
        if off.contains(&0) { mean } else { mean.max(MIDDLE * welch(self.middles(sides, off, labels))) }
    }
}

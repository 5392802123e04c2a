//! Blocks that have both settings: in each the difference could as well have had the other sign.

use super::{MIDDLE, MOST, Relabelled, deviate};
use crate::trimmed::{Sums, taken_off};

/// The differences of one figure.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    /// One a block; 0 where the block has none.
    differences: Vec<f64>,
    /// The blocks that have one, the largest difference first.
    by_size: Vec<usize>,
    /// Sum of squares, which no sign changes.
    squares: f64,
    /// The variance that rounding gives a difference.
    grain: f64,
}

impl Pairs {
    /// Of one difference a block. Each of its two values was rounded to a multiple of `step`. None of fewer than two.
    #[must_use]
    pub fn new(differences: &[Option<f64>], step: f64) -> Option<Self> {
        let mut by_size: Vec<usize> =
            (0..differences.len()).filter(|at| differences[*at].is_some()).collect();
        let differences: Vec<f64> = differences.iter().map(|d| d.unwrap_or(0.0)).collect();
        by_size.sort_by(|a, b| differences[*b].abs().total_cmp(&differences[*a].abs()));
        // Squares neither overflow nor vanish.
        let largest = by_size.first().map_or(0.0, |at| differences[*at].abs());
        let scale = if largest > 0.0 { largest } else { 1.0 };
        let differences: Vec<f64> = differences.into_iter().map(|d| d / scale).collect();
        let squares = differences.iter().map(|d| d * d).sum();
        let grain = (step / scale).powi(2) / 6.0;
        (by_size.len() > 1).then_some(Self { differences, by_size, squares, grain })
    }

    /// The differences that are largest upwards and downwards under these labels, the farthest first.
    fn ends<const N: usize>(&self, turned: &[bool], count: usize) -> [[f64; N]; 2] {
        let (mut ends, mut taken) = ([[0.0; N]; 2], [0, 0]);
        let signed = |at: &usize| if turned[*at] { -self.differences[*at] } else { self.differences[*at] };
        let mut put = |value: f64, end: usize| {
            if taken[end] < count {
                ends[end][taken[end]] = value;
                taken[end] += 1;
            }
            taken[0] == count && taken[1] == count
        };
        for value in self.by_size.iter().map(signed) {
            if put(value, usize::from(value >= 0.0)) {
                return ends;
            }
        }
        // All that are on the other side come next, the smallest first.
        for value in self.by_size.iter().rev().map(signed) {
            if put(value, usize::from(value < 0.0)) {
                break;
            }
        }
        ends
    }

    fn sums(&self, turned: &[bool]) -> Sums {
        let sum = self.differences.iter().zip(turned).map(|(d, turned)| if *turned { -d } else { *d }).sum();
        Sums { count: self.by_size.len() as f64, sum, squares: self.squares }
    }

    fn of_mean(&self, sums: Sums) -> f64 {
        if self.squares == 0.0 {
            return 0.0;
        }
        deviate(sums.mean().powi(2) * sums.count / (sums.variance() + self.grain), sums.count - 1.0)
    }
}

impl Relabelled for Pairs {
    /// The larger of Student's t of the mean and that of the trimmed mean: a spike in one block hides no shift in the others.
    fn score(&self, turned: &[bool]) -> f64 {
        let sums = self.sums(turned);
        let mean = self.of_mean(sums);
        let off = taken_off(self.by_size.len());
        if off == 0 || self.squares == 0.0 {
            return mean;
        }
        let [least, most] = self.ends::<MOST>(turned, off + 1);
        let (middle, variance, df) = sums.trimmed(off, &least, &most, self.grain);
        mean.max(MIDDLE * deviate(middle.powi(2) / variance, df))
    }
}

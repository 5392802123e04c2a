//! Runs within boots (or samples within runs): how much of the variance lies where, and how often each is worth
//! repeating. Kalibera and Jones, Rigorous benchmarking in reasonable time, 2013, in its corrected version.

use crate::student::t_point;
use crate::two::fieller;
use crate::{Interval, spread};

/// Groups of equally many values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nested {
    /// Mean of the groups' means.
    pub mean: f64,
    /// Groups.
    pub groups: usize,
    /// Values in each.
    pub values: usize,
    /// Mean variance within a group.
    pub within: f64,
    /// Variance of the groups' means.
    pub of_means: f64,
    /// Of that, what is the groups' own: the part that more values in each do not take away. Negative where the values'
    /// variance explains more than there is.
    pub between: f64,
}

impl Nested {
    /// None for fewer than two groups, fewer than two values, or groups of different sizes.
    #[must_use]
    pub fn from_groups(groups: &[Vec<f64>]) -> Option<Self> {
        let values = groups.first()?.len();
        if groups.len() < 2 || values < 2 || groups.iter().any(|group| group.len() != values) {
            return None;
        }
        let each: Vec<_> = groups.iter().filter_map(|group| spread(group)).collect();
        let within = each.iter().map(|s| s.deviation.powi(2)).sum::<f64>() / each.len() as f64;
        let means = spread(&each.iter().map(|s| s.mean).collect::<Vec<_>>())?;
        let of_means = means.deviation.powi(2);
        let between = of_means - within / values as f64;
        Some(Self { mean: means.mean, groups: groups.len(), values, within, of_means, between })
    }

    /// Half the width of the mean's interval with this confidence.
    #[must_use]
    pub fn half_width(&self, confidence: f64) -> f64 {
        let t = t_point((1.0 - confidence) / 2.0, self.groups as f64 - 1.0);
        t * (self.of_means / self.groups as f64).sqrt()
    }

    /// How many values a group are best where beginning a group costs `ratio` times a value. None where the groups have no
    /// variance of their own: then one group of many values is as good.
    #[must_use]
    pub fn best_values(&self, ratio: f64) -> Option<usize> {
        (self.between > 0.0).then(|| (ratio * self.within / self.between).sqrt().ceil().max(1.0) as usize)
    }

    /// The share of a value's variance that lies between the groups.
    #[must_use]
    pub fn share_between(&self) -> f64 {
        let between = self.between.max(0.0);
        if between + self.within > 0.0 { between / (between + self.within) } else { 0.0 }
    }

    /// The ratio of another mean to this one, with Fieller's interval from the half-widths.
    #[must_use]
    pub fn ratio(&self, other: &Self, confidence: f64) -> Option<(f64, Interval)> {
        let [a, b] = [self, other].map(|nested| nested.half_width(confidence));
        fieller(self.mean, a, other.mean, b, 0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_values() {
        let near = |observed: f64, expected: f64| {
            assert!((observed - expected).abs() < 1e-6, "{observed} is not {expected}");
        };
        let groups = |all: [[f64; 4]; 3]| all.map(|group| group.to_vec()).to_vec();
        let a = groups([[10.0, 12.0, 11.0, 11.0], [13.0, 13.0, 14.0, 12.0], [9.0, 10.0, 11.0, 10.0]]);
        let b = groups([[12.0, 12.0, 13.0, 13.0], [15.0, 14.0, 14.0, 15.0], [11.0, 12.0, 12.0, 11.0]]);
        let (a, b) = (Nested::from_groups(&a).unwrap(), Nested::from_groups(&b).unwrap());
        near(a.within, 0.666_666_7);
        near(a.of_means, 2.333_333_3);
        near(a.between, 2.166_666_7);
        near(a.half_width(0.95), 3.794_583);
        assert_eq!((a.best_values(100.0), b.best_values(100.0)), (Some(6), Some(4)));
        near(b.within, 0.333_333_3);
        near(b.between, 2.25);
        let (point, i) = a.ratio(&b, 0.95).unwrap();
        near(point, 1.132_352_9);
        near(i.low, 0.719_817_0);
        near(i.high, 1.830_820_0);
    }

    #[test]
    fn what_is_no_nest() {
        assert!(
            Nested::from_groups(&[vec![1.0, 2.0]]).is_none()
                && Nested::from_groups(&[vec![1.0, 2.0], vec![1.0]]).is_none()
        );
        let flat = Nested::from_groups(&[vec![1.0, 3.0], vec![3.0, 1.0]]).unwrap();
        assert!(flat.between < 0.0 && flat.best_values(10.0).is_none() && flat.share_between() == 0.0);
    }
}

//! Values of equal things of which some may not be equal: which lie apart, with a stated chance that any does where all are equal.
//!
//! Hampel's identifier (The influence curve and its role in robust estimation, 1974): the distance from the median in units of the median absolute
//! deviation. How far is too far depends on how many values there are: Davies and Gather, The identification of multiple outliers, 1993.

use crate::student::t_point;
use crate::{Sorted, median};

/// Fewer values say nothing about each other.
pub const FEWEST: usize = 5;
/// Factor that makes the median absolute deviation of normal values estimate their standard deviation.
const NORMAL: f64 = 1.482_602_218_505_602;
/// Some more than the share of normal values within a standard deviation.
const ONE_SIGMA: f64 = 5.0 / 6.0;
/// The efficiency of the median absolute deviation at the normal distribution: of so many of n values a standard deviation would be as sure.
const EFFICIENCY: f64 = 0.3675;

/// Centre and scale of most of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Most {
    /// The median.
    pub centre: f64,
    /// The median absolute deviation, as a standard deviation; where more than half of the values are equal the deviation that five sixths of them do not
    /// exceed, which is that of one standard deviation, too.
    pub scale: f64,
}

impl Most {
    /// None of fewer than [`FEWEST`] values.
    #[must_use]
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let centre = median(values.iter().copied()).filter(|_| values.len() >= FEWEST)?;
        let deviations = Sorted::new(values.iter().map(|value| (value - centre).abs()));
        let scale = NORMAL * deviations.quantile(0.5)?;
        // Steps of a coarse clock: equal machines have two values, of which one is not apart.
        let scale = if scale > 0.0 { scale } else { deviations.quantile(ONE_SIGMA)? };
        Some(Self { centre, scale })
    }
}

/// So many scales from the centre lies none of `count` normal values but with this chance. The scale is an estimate, which Student's t takes into
/// account: its degrees of freedom follow from the efficiency; the terms for few values were found by simulation (400,000 trials each from 5 to 100
/// values, chances from .05 to .00025), on the safe side.
#[must_use]
pub fn limit(count: usize, chance: f64) -> f64 {
    let n = count as f64;
    let one = 1.0 - (1.0 - chance).powf(1.0 / n);
    let freedom = (0.94 * (n / 2.0).floor()).min(EFFICIENCY * (n - 1.0) + 1.75);
    t_point(one / 2.0, freedom.max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// A standard normal value, by Box and Muller.
    fn normal(random: &mut StdRng) -> f64 {
        let (u, v): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// In how many of these trials any of `n` equal values lies apart.
    fn alarms(n: usize, chance: f64, trials: usize) -> f64 {
        let mut random = StdRng::seed_from_u64(7);
        let limit = limit(n, chance);
        let any = |_: &usize| {
            let values: Vec<f64> = (0..n).map(|_| normal(&mut random)).collect();
            let most = Most::from_values(&values).unwrap();
            values.iter().any(|value| (value - most.centre).abs() > limit * most.scale)
        };
        (0..trials).filter(any).count() as f64 / trials as f64
    }

    #[test]
    fn equal_values_lie_apart_no_more_often_than_is_said() {
        for n in [5, 6, 7, 8, 10, 16, 30, 100, 300] {
            for chance in [0.05, 0.002] {
                let trials = 4000;
                let rate = alarms(n, chance, trials);
                // Three standard errors; and no rule that never speaks.
                let error = 3.0 * (chance / trials as f64).sqrt();
                assert!(rate < chance + error, "{rate} of {n} at {chance}");
                assert!(chance < 0.01 || rate > 0.4 * chance, "{rate} of {n} at {chance}");
            }
        }
    }

    #[test]
    fn what_lies_apart_does_not_hide_itself() {
        // Four of twenty are wrong; mean and standard deviation would take them in.
        let mut values: Vec<f64> = (0..16).map(|i| 100.0 + f64::from(i % 4)).collect();
        values.extend([200.0; 4]);
        let most = Most::from_values(&values).unwrap();
        let apart = values.iter().filter(|v| (*v - most.centre).abs() > limit(20, 0.05) * most.scale).count();
        assert_eq!(apart, 4);
        assert_eq!(Most::from_values(&[1.0; 4]), None);
        assert_eq!(Most::from_values(&[3.0; 5]), Some(Most { centre: 3.0, scale: 0.0 }));
        // Three in five read 20 ns, and the others 22: none of them is apart.
        let steps: Vec<f64> = (0..50).map(|i| if i % 5 < 3 { 20.0 } else { 22.0 }).collect();
        assert_eq!(Most::from_values(&steps), Some(Most { centre: 20.0, scale: 2.0 }));
    }
}

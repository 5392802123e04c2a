//! Intervals for figures that have no formula, by drawing the runs again.

use crate::Interval;
use crate::student::{normal_above, normal_point};
use rand::{Rng, RngExt};

/// Of fewer runs the draws are so few that the interval covers far less than it says.
const LEAST: usize = 5;

/// An interval for a statistic of one or more samples, bias-corrected and accelerated: Efron, Better bootstrap
/// confidence intervals, 1987. What is drawn, with replacement and within its own sample, are whole runs: `T` is
/// what a run gave, one figure or all of its observations. None where a sample has fewer than five runs, or where the statistic
/// does not vary over the draws.
#[must_use]
pub fn bca<T: Clone>(
    samples: &[&[T]],
    statistic: impl Fn(&[Vec<T>]) -> f64,
    confidence: f64,
    draws: usize,
    random: &mut impl Rng,
) -> Option<Interval> {
    if samples.is_empty() || samples.iter().any(|sample| sample.len() < LEAST) || draws < 20 {
        return None;
    }
    let own: Vec<Vec<T>> = samples.iter().map(|sample| sample.to_vec()).collect();
    let observed = statistic(&own);
    let mut drawn = own.clone();
    let mut values = Vec::with_capacity(draws);
    for _ in 0..draws {
        for (sample, from) in drawn.iter_mut().zip(samples) {
            for run in sample.iter_mut() {
                *run = from[random.random_range(0..from.len())].clone();
            }
        }
        values.push(statistic(&drawn));
    }
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    if least == most {
        return None;
    }
    // Half of those that are equal count as below: the statistic may be one of few values.
    let below = values.partition_point(|v| *v < observed) + values.partition_point(|v| *v <= observed);
    let share =
        (below as f64 / 2.0 / values.len() as f64).clamp(0.5 / draws as f64, 1.0 - 0.5 / draws as f64);
    let bias = normal_point(1.0 - share);
    let acceleration = acceleration(&own, &statistic);
    let end = |p: f64| {
        let z = bias + normal_point(1.0 - p);
        let at = 1.0 - normal_above(bias + z / (1.0 - acceleration * z));
        let last = values.len() - 1;
        values[((at * values.len() as f64) as usize).min(last)]
    };
    let tail = (1.0 - confidence) / 2.0;
    Some(Interval { low: end(tail), high: end(1.0 - tail) })
}

/// How the statistic's spread changes with its value, from leaving out each run in turn; over several samples by their
/// influence together (Davison and Hinkley, Bootstrap methods and their application, 1997, section 5.3.2).
fn acceleration<T: Clone>(own: &[Vec<T>], statistic: &impl Fn(&[Vec<T>]) -> f64) -> f64 {
    let (mut cubes, mut squares) = (0.0, 0.0);
    for (which, sample) in own.iter().enumerate() {
        let without = |run: usize| {
            let mut left = own.to_vec();
            left[which].remove(run);
            statistic(&left)
        };
        let left: Vec<f64> = (0..sample.len()).map(without).collect();
        let count = left.len() as f64;
        let mean = left.iter().sum::<f64>() / count;
        // The influence of a run: (n - 1)(mean - value), over n.
        let influence = |value: &f64| (count - 1.0) * (mean - value) / count;
        cubes += left.iter().map(|value| influence(value).powi(3)).sum::<f64>();
        squares += left.iter().map(|value| influence(value).powi(2)).sum::<f64>();
    }
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{median, spread};
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    fn mean(sample: &[f64]) -> f64 {
        spread(sample).map_or(f64::NAN, |s| s.mean)
    }

    #[test]
    fn the_published_example() {
        // Efron and Tibshirani, An introduction to the bootstrap, tables 14.1 and 14.2: the variance (divided by n) of 26
        // children's spatial test A; 90 % by BCa is [115.8, 259.6], acceleration .061.
        let a = [
            48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0, 28.0,
            34.0, 4.0, 32.0, 24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
        ];
        let variance = |samples: &[Vec<f64>]| {
            let s = spread(&samples[0]).unwrap();
            s.deviation.powi(2) * (samples[0].len() as f64 - 1.0) / samples[0].len() as f64
        };
        assert!((acceleration(&[a.to_vec()], &variance) - 0.061).abs() < 0.001);
        let i = bca(&[&a], variance, 0.9, 20_000, &mut StdRng::seed_from_u64(1)).unwrap();
        assert!((i.low - 115.8).abs() < 4.0 && (i.high - 259.6).abs() < 6.0, "{i:?}");
    }

    #[test]
    fn runs_are_drawn_and_not_their_samples() {
        // Thirty observations in each of five runs that differ: drawing observations would give an interval a fifth as wide.
        let runs: Vec<Vec<f64>> =
            (0..5).map(|run| (0..30).map(|i| f64::from(run) * 10.0 + f64::from(i % 3)).collect()).collect();
        let all = |samples: &[Vec<Vec<f64>>]| mean(&samples[0].concat());
        let i = bca(&[&runs], all, 0.95, 4000, &mut StdRng::seed_from_u64(2)).unwrap();
        assert!(i.high - i.low > 18.0, "{i:?}");
    }

    #[test]
    fn two_samples_and_what_has_no_interval() {
        let (a, b): (Vec<f64>, Vec<f64>) =
            ((0..20).map(f64::from).collect(), (0..20).map(|i| f64::from(i) + 100.0).collect());
        let shift = |s: &[Vec<f64>]| median(s[1].clone()).unwrap() - median(s[0].clone()).unwrap();
        let i = bca(&[&a, &b], shift, 0.95, 2000, &mut StdRng::seed_from_u64(3)).unwrap();
        assert!(i.low > 85.0 && i.low < 100.0 && i.high > 100.0 && i.high < 115.0, "{i:?}");
        let mut random = StdRng::seed_from_u64(4);
        assert!(bca(&[&[1.0][..]], |s| mean(&s[0]), 0.95, 100, &mut random).is_none());
        assert!(bca(&[&[1.0; 9][..]], |s| mean(&s[0]), 0.95, 100, &mut random).is_none());
        assert!(bca(&[&[1.0, 2.0, 3.0, 4.0][..]], |s| mean(&s[0]), 0.95, 100, &mut random).is_none());
    }
}

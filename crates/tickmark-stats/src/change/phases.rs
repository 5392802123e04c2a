//! Values without their day or week.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// The chance that values without a period are taken for periodic, and the orders that this is told by.
const LEVEL: f64 = 0.002;
const ORDERS: usize = 1_000;
/// Of fewer periods none is seen.
const PERIODS: usize = 4;

/// Values without what their phase (an hour of the day, a day of the week) adds to them, where such an addition is shown: the means of the phases differ
/// more than when the phases stand in random order in each period (a permutation test; where neighbours resemble each other it claims more rarely).
/// Each value is taken beside the mean of the values of one period around it, so that steps are none of the phases.
#[must_use]
pub fn without_phases(values: &[f64], phases: &[usize]) -> Option<Vec<f64>> {
    let period = phases.iter().max().map_or(0, |most| most + 1);
    if period < 2 || values.len() != phases.len() || values.len() < PERIODS * period {
        return None;
    }
    let apart = beside_their_period(values, period);
    let observed = between(&apart, phases, period);
    let (mut random, mut shuffled, mut as_large) = (StdRng::seed_from_u64(1), phases.to_vec(), 1.0);
    for _ in 1..ORDERS {
        shuffled.chunks_mut(period).for_each(|one| one.shuffle(&mut random));
        as_large += f64::from(between(&apart, &shuffled, period) >= observed);
        if as_large > LEVEL * ORDERS as f64 {
            return None;
        }
    }
    let means = means(&apart, phases, period);
    Some(values.iter().zip(phases).map(|(value, phase)| value - means[*phase].0).collect())
}

/// Values less the mean of the values of a period around each.
fn beside_their_period(values: &[f64], period: usize) -> Vec<f64> {
    let last = values.len() - period;
    let mean = |from: usize| values[from..from + period].iter().sum::<f64>() / period as f64;
    let one = |(at, value): (usize, &f64)| value - mean(at.saturating_sub(period / 2).min(last));
    super::noise::clipped(&values.iter().enumerate().map(one).collect::<Vec<f64>>())
}

/// The mean of each phase, with the number of its values.
fn means(values: &[f64], phases: &[usize], period: usize) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0); period];
    for (value, phase) in values.iter().zip(phases) {
        sums[*phase].0 += value;
        sums[*phase].1 += 1.0;
    }
    let all: f64 = values.iter().sum::<f64>() / values.len() as f64;
    sums.iter()
        .map(|(sum, count)| if *count > 0.0 { (sum / count - all, *count) } else { (0.0, 0.0) })
        .collect()
}

/// Sum of squares between the phases.
fn between(values: &[f64], phases: &[usize], period: usize) -> f64 {
    means(values, phases, period).iter().map(|(mean, count)| mean * mean * count).sum()
}

//! Estimates beyond the longest observation: peaks over a threshold, and only where nothing contradicts the model.
//!
//! Excesses of peaks over a high threshold follow a generalized Pareto distribution (Pickands, Annals of Statistics 3, 1975), if the
//! sequence is stationary. Fitted by probability-weighted moments (Hosking and Wallis, Technometrics 29, 1987).

use crate::Sorted;
use crate::student::normal_point;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Peaks of which fewer say nothing.
const FEWEST: usize = 50;
/// Values above the threshold with no more than this between them are of one peak.
const APART: usize = 2;
/// Parts of a sequence over which peaks are counted.
const PARTS: usize = 10;
/// Samples that are drawn for each test and for the limit.
const DRAWN: usize = 499;
/// Of each of the three tests: all together refuse a right sequence in 5 of 100 cases.
const LEVEL: f64 = 0.05 / 3.0;

/// A value that is exceeded once in so many trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extreme {
    /// The value, in the unit of the values.
    pub value: f64,
    /// Its upper limit.
    pub limit: f64,
    /// How heavy the tail is: below 0 it ends, 0 is exponential, from .5 on its variance is infinite.
    pub shape: f64,
}

/// Why nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Too few peaks.
    TooFew,
    /// Peaks came more often or became longer in a part of the sequence.
    NotStationary,
    /// Peaks are not distributed as the fit has them.
    NoFit,
}

/// A generalized Pareto distribution: scale, and shape.
#[derive(Debug, Clone, Copy)]
struct Pareto {
    scale: f64,
    shape: f64,
}

impl Pareto {
    /// Of excesses in ascending order.
    fn fit(excesses: &[f64]) -> Option<Self> {
        let count = excesses.len() as f64;
        let (mut first, mut second) = (0.0, 0.0);
        for (number, excess) in excesses.iter().enumerate() {
            first += excess;
            second += (1.0 - (number as f64 + 0.65) / count) * excess;
        }
        let (first, second) = (first / count, second / count);
        let across = first - 2.0 * second;
        // Hosking's k is the shape with the other sign.
        (across > 0.0).then(|| Self { scale: 2.0 * first * second / across, shape: 2.0 - first / across })
    }

    /// The excess that a share of all is above.
    fn beyond(self, share: f64) -> f64 {
        if self.shape.abs() < 1e-9 {
            return -self.scale * share.ln();
        }
        self.scale / self.shape * (share.powf(-self.shape) - 1.0)
    }

    fn above(self, excess: f64) -> f64 {
        if self.shape.abs() < 1e-9 {
            return (-excess / self.scale).exp();
        }
        (1.0 + self.shape * excess / self.scale).max(0.0).powf(-1.0 / self.shape)
    }

    /// The greatest difference between the distribution and excesses in ascending order (Kolmogorov).
    fn distance(self, excesses: &[f64]) -> f64 {
        let count = excesses.len() as f64;
        let off = |(number, excess): (usize, &f64)| {
            let below = 1.0 - self.above(*excess);
            (below - number as f64 / count).abs().max((number as f64 + 1.0) / count - below)
        };
        excesses.iter().enumerate().map(off).fold(0.0, f64::max)
    }

    fn draw(self, count: usize, random: &mut StdRng) -> Vec<f64> {
        ascending((0..count).map(|_| self.beyond(1.0 - random.random::<f64>())))
    }
}

fn ascending(values: impl Iterator<Item = f64>) -> Vec<f64> {
    Sorted::new(values).as_slice().to_vec()
}

/// The value that is exceeded once in `times` as many trials as there are, with an upper limit at a one-sided confidence. `sequences`
/// were made one after the other; the threshold is their quantile at `from`.
///
/// # Errors
/// Why nothing can be said.
pub fn once_in(sequences: &[Vec<f64>], from: f64, times: f64, confidence: f64) -> Result<Extreme, Refused> {
    let trials: usize = sequences.iter().map(Vec::len).sum();
    let threshold = Sorted::new(sequences.iter().flatten().copied()).quantile(from).ok_or(Refused::TooFew)?;
    let peaks = peaks(sequences, threshold);
    if peaks.len() < FEWEST {
        return Err(Refused::TooFew);
    }
    let mut random = StdRng::seed_from_u64(1);
    if !is_stationary(&peaks, trials, &mut random) {
        return Err(Refused::NotStationary);
    }
    let excesses = ascending(peaks.iter().map(|(_, value)| value - threshold));
    let fit = Pareto::fit(&excesses).ok_or(Refused::NoFit)?;
    // Samples of the fit, fitted themselves: how far off they are.
    let share = 1.0 / (times * excesses.len() as f64);
    let mut as_far = 0;
    let distance = fit.distance(&excesses);
    for _ in 0..DRAWN {
        let sample = fit.draw(excesses.len(), &mut random);
        if let Some(other) = Pareto::fit(&sample) {
            as_far += usize::from(other.distance(&sample) >= distance);
        }
    }
    if (as_far + 1) as f64 / (DRAWN + 1) as f64 <= LEVEL {
        return Err(Refused::NoFit);
    }
    let limit = limit(&excesses, share, fit.beyond(share), confidence).ok_or(Refused::NoFit)?;
    Ok(Extreme { value: threshold + fit.beyond(share), limit: threshold + limit, shape: fit.shape })
}

/// The greatest excess beyond which a share of all lies that the excesses do not speak against: by the likelihood's profile (Coles,
/// An Introduction to Statistical Modeling of Extreme Values, 4.3.3).
fn limit(excesses: &[f64], share: f64, from: f64, confidence: f64) -> Option<f64> {
    let likelihood = |level: f64| {
        let of_shape = |step: i32| {
            // From -.5, below which there is no likelihood, to 1.5.
            let shape = 0.04 * f64::from(step) - 0.499;
            let scale = level * shape / (share.powf(-shape) - 1.0);
            let terms = excesses.iter().map(|excess| (shape * excess / scale).ln_1p()).sum::<f64>();
            let sum = -(excesses.len() as f64) * scale.ln() - (1.0 + 1.0 / shape) * terms;
            if sum.is_nan() { f64::NEG_INFINITY } else { sum }
        };
        (0..=50).map(of_shape).fold(f64::NEG_INFINITY, f64::max)
    };
    // The best is near what the moments say.
    let best = (-40..=40)
        .map(|step| likelihood(from * (0.05 * f64::from(step)).exp()))
        .fold(f64::NEG_INFINITY, f64::max);
    // Of two hundred peaks with a tail that ends (a shape of -.2) it is too low twice as often as it should be (tried on synthetic
    // sequences): half of the chance that is asked for.
    let least = best - normal_point((1.0 - confidence) / 2.0).powi(2) / 2.0;
    let (mut low, mut high) = (from, from * 2.0);
    while likelihood(high) > least {
        (low, high) = (high, high * 2.0);
        if high > from * 1e6 {
            return None;
        }
    }
    while high / low > 1.001 {
        let middle = (low * high).sqrt();
        (low, high) = if likelihood(middle) > least { (middle, high) } else { (low, middle) };
    }
    Some(high)
}

/// The highest value of each stretch above the threshold, with its place in all trials.
fn peaks(sequences: &[Vec<f64>], threshold: f64) -> Vec<(usize, f64)> {
    let (mut peaks, mut begin): (Vec<(usize, f64)>, usize) = (Vec::new(), 0);
    for sequence in sequences {
        let mut last: Option<usize> = None;
        for (at, value) in sequence.iter().enumerate().filter(|(_, value)| **value > threshold) {
            let same = last.is_some_and(|last| at - last <= APART);
            match peaks.last_mut().filter(|_| same) {
                Some(peak) if *value > peak.1 => *peak = (begin + at, *value),
                Some(_) => {}
                None => peaks.push((begin + at, *value)),
            }
            last = Some(at);
        }
        begin += sequence.len();
    }
    peaks
}

/// True if peaks come as often in each part, and are no longer towards an end: each against what chance gives.
fn is_stationary(peaks: &[(usize, f64)], trials: usize, random: &mut StdRng) -> bool {
    let uneven = |places: &mut dyn Iterator<Item = f64>| {
        let mut counts = [0.0; PARTS];
        places.for_each(|place| counts[((place * PARTS as f64) as usize).min(PARTS - 1)] += 1.0);
        let mean = peaks.len() as f64 / PARTS as f64;
        counts.iter().map(|count: &f64| (count - mean).powi(2)).sum::<f64>()
    };
    let own = uneven(&mut peaks.iter().map(|(at, _)| *at as f64 / trials as f64));
    let mut ranks: Vec<usize> = (0..peaks.len()).collect();
    ranks.sort_by(|a, b| peaks[*a].1.total_cmp(&peaks[*b].1));
    let mut order = vec![0.0; peaks.len()];
    ranks.iter().enumerate().for_each(|(rank, peak)| order[*peak] = rank as f64);
    let middle = (peaks.len() as f64 - 1.0) / 2.0;
    let rises = |order: &[f64]| {
        let along = order.iter().enumerate().map(|(at, rank)| (at as f64 - middle) * (rank - middle));
        along.sum::<f64>().abs()
    };
    let trend = rises(&order);
    let (mut as_uneven, mut as_steep) = (1, 1);
    for _ in 0..DRAWN {
        let drawn: Vec<f64> = peaks.iter().map(|_| random.random::<f64>()).collect();
        as_uneven += usize::from(uneven(&mut drawn.into_iter()) >= own);
        order.shuffle(random);
        as_steep += usize::from(rises(&order) >= trend);
    }
    [as_uneven, as_steep].into_iter().all(|count| count as f64 / (DRAWN + 1) as f64 > LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence with a tail of this shape above 100 in one of 50 trials.
    fn sequence(seed: u64, shape: f64, count: usize) -> Vec<f64> {
        let mut random = StdRng::seed_from_u64(seed);
        let tail = Pareto { scale: 30.0, shape };
        let mut one = || match random.random::<f64>() < 0.02 {
            true => 100.0 + tail.beyond(1.0 - random.random::<f64>()),
            false => 100.0 * random.random::<f64>(),
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn the_limit_holds_and_right_sequences_are_rarely_refused() {
        for shape in [-0.2, 0.0, 0.2] {
            // Once in ten times as many trials, each of which is above 100 in one of 50.
            let (count, times, repeats) = (20_000, 10.0, 200);
            let real = 100.0 + Pareto { scale: 30.0, shape }.beyond(50.0 / (count as f64 * times));
            let (mut below, mut refused, mut all) = (0, 0, Vec::new());
            for seed in 0..repeats {
                match once_in(&[sequence(seed, shape, count)], 0.99, times, 0.95) {
                    Ok(extreme) => {
                        below += u32::from(extreme.limit < real);
                        all.push(extreme.value / real);
                    }
                    Err(_) => refused += 1,
                }
            }
            // 5 % and two standard deviations of 200 trials.
            assert!(below <= 16 && refused <= 20, "{shape}: {below} below, {refused} refused of {repeats}");
            let middle = Sorted::new(all).quantile(0.5).unwrap();
            assert!((0.85..1.15).contains(&middle), "{shape}: {middle}");
        }
    }

    #[test]
    fn what_changes_or_has_two_tails_is_refused() {
        let (mut changed, mut two) = (0, 0);
        for seed in 0..40 {
            // The second half is disturbed three times as often.
            let quiet = sequence(seed, 0.0, 10_000);
            let loud: Vec<f64> =
                (0..3).flat_map(|part| sequence(1_000 + seed * 3 + part, 0.0, 10_000)).collect();
            let loud: Vec<f64> =
                loud.chunks(3).map(|three| three.iter().copied().fold(0.0, f64::max)).collect();
            let half = once_in(&[quiet, loud], 0.99, 10.0, 0.95);
            changed += u32::from(half == Err(Refused::NotStationary));
            // A tenth of the peaks comes from something else, far away.
            let mut own = sequence(seed, -0.2, 20_000);
            own.iter_mut().filter(|value| **value > 130.0).step_by(5).for_each(|value| *value += 5_000.0);
            two += u32::from(once_in(&[own], 0.99, 10.0, 0.95) == Err(Refused::NoFit));
        }
        assert!(changed >= 38 && two >= 38, "{changed} and {two} of 40");
        assert_eq!(once_in(&[vec![1.0; 3_000]], 0.98, 10.0, 0.95), Err(Refused::TooFew));
        assert_eq!(once_in(&[], 0.98, 10.0, 0.95), Err(Refused::TooFew));
    }
}

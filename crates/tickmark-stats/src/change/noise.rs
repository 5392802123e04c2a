//! How clear the best place of a new level is beside a noise in which values resemble those before them, and how often such noise alone
//! shows one as clear.

use crate::median;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};

/// Fewer values are no level.
pub const LEAST: usize = 3;
/// Values farther from the median than so many robust standard deviations count as that far: an outlier is no level.
const CLIP: f64 = 5.0;
/// Levels that are taken out before the noise is looked at: one more for each so many values, two at least, and four unless more are shown.
const VALUES: usize = 15;
const MOST: usize = 3;
/// The correlation of neighbours is too small after levels were taken out: for each two levels it is raised by (BIAS + SLOPE r) / n. Both were
/// set by simulation (docs/methodology/series.md).
const BIAS: f64 = 5.0;
const SLOPE: f64 = 8.0;
/// How uncertain it is, in standard errors sqrt((1 - r^2) / n): each simulated series has its own.
const UNSURE: f64 = 2.0;
/// Values that resemble each other more are one long wave.
const CLOSEST: f64 = 0.97;
/// What is smaller beside the values, or left of their sum of squares, is rounding.
const ROUNDING: f64 = 1e-12;
/// Simulated series for a test at a level of 1.
const SIMULATED: f64 = 6.0;

/// The best place of a new level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// The first value of the new level.
    pub(super) at: usize,
    /// How far the levels are apart, in standard errors of their difference; infinite where values do not vary but for their levels.
    pub(super) clear: f64,
    /// The correlation of neighbours, 0 or above.
    pub(super) resemblance: f64,
    /// Standard deviation of a mean of n values, times the square root of n.
    pub(super) long_run: f64,
}

/// Values with outliers drawn in.
pub(super) fn clipped(values: &[f64]) -> Vec<f64> {
    let middle = median(values.iter().copied()).unwrap_or(0.0);
    let spread = 1.4826 * median(values.iter().map(|value| (value - middle).abs())).unwrap_or(0.0);
    if spread == 0.0 {
        return values.to_vec();
    }
    let (low, high) = (middle - CLIP * spread, middle + CLIP * spread);
    values.iter().map(|value| value.clamp(low, high)).collect()
}

/// Where two levels take most of the sum of squares away, and how much (the CUSUM statistic of Page, 1955, squared, by its variance).
fn split(values: &[f64]) -> (usize, f64) {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count.max(1) as f64;
    let (mut best, mut sum) = ((0, -1.0), 0.0);
    for at in 1..count {
        sum += values[at - 1] - mean;
        if at >= LEAST && count - at >= LEAST {
            let taken = sum * sum * count as f64 / (at as f64 * (count - at) as f64);
            if taken > best.1 {
                best = (at, taken);
            }
        }
    }
    best
}

/// The places of so many steps, one after the other, each where it takes most of the sum of squares away.
fn steps(values: &[f64], most: usize) -> Vec<usize> {
    let (mut ends, mut next, mut all) = (vec![0, values.len()], vec![split(values)], Vec::new());
    while all.len() < most {
        let best = next.iter().enumerate().max_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let Some((segment, (at, _))) = best.filter(|(_, (_, taken))| *taken > 0.0) else { break };
        let at = ends[segment] + at;
        all.push(at);
        ends.insert(segment + 1, at);
        next[segment] = split(&values[ends[segment]..at]);
        next.insert(segment + 1, split(&values[at..ends[segment + 2]]));
    }
    all
}

/// The ends of the levels between places.
fn ends(values: &[f64], places: &[usize]) -> Vec<usize> {
    let mut ends = [places, &[0, values.len()]].concat();
    ends.sort_unstable();
    ends
}

/// Ends of the levels that so many steps make.
pub(super) fn levels(values: &[f64], count: usize) -> Vec<usize> {
    ends(values, &steps(values, count))
}

/// A few steps.
fn few(values: usize) -> usize {
    (values / VALUES).clamp(1, MOST)
}

/// Ends of the levels that are taken out before the noise is looked at: a few, or as many more as make what is new in each value smaller by much more than
/// noise does (Schwarz's criterion, three parameters each; Estimating the dimension of a model, 1978).
fn explained(values: &[f64]) -> Vec<usize> {
    let count = values.len() as f64;
    let all = steps(values, (values.len() / VALUES).max(1));
    let cost = |steps: &usize| {
        let left = without_levels(values, &ends(values, &all[..*steps]));
        let [squares, neighbours] = sums(&left);
        let r = neighbours / squares;
        let new: f64 = left.windows(2).map(|pair| (pair[1] - r * pair[0]).powi(2)).sum();
        count * new.max(f64::MIN_POSITIVE).ln() + 3.0 * *steps as f64 * count.ln()
    };
    let few = all.len().min(few(values.len()));
    let best = |tried: &mut dyn Iterator<Item = usize>| {
        let tried = tried.map(|steps| (cost(&steps), steps));
        tried.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(few, |(_, steps)| steps)
    };
    let doubled =
        std::iter::successors(Some(few), |steps| Some(2 * steps)).take_while(|steps| *steps < all.len());
    let mut found = best(&mut doubled.chain([all.len()]));
    if found > few {
        found = best(&mut ((found / 2).max(few)..=(2 * found).min(all.len())));
    }
    ends(values, &all[..found])
}

/// Sums of squares, and of products of neighbours.
fn sums(left: &[f64]) -> [f64; 2] {
    let squares = left.iter().map(|value| value * value).sum();
    [squares, left.windows(2).map(|pair| pair[0] * pair[1]).sum()]
}

/// The best place of a new level, and what is left of the values without levels; none where they are too few or do not vary.
pub(super) fn candidate(values: &[f64]) -> Option<(Candidate, Vec<f64>)> {
    candidate_without(values, explained)
}

/// The same with these levels taken out.
fn candidate_without(values: &[f64], ends: fn(&[f64]) -> Vec<usize>) -> Option<(Candidate, Vec<f64>)> {
    let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let varies = values.iter().any(|value| (value - values[0]).abs() > ROUNDING * largest);
    if values.len() <= 2 * LEAST || !varies {
        return None;
    }
    let (at, taken) = split(values);
    let ends = ends(values);
    let left = without_levels(values, &ends);
    let squares: f64 = left.iter().map(|value| value * value).sum();
    if squares <= ROUNDING * ROUNDING * taken {
        // Without noise what may have another order is the values themselves.
        let candidate = Candidate { at, clear: f64::INFINITY, resemblance: 0.0, long_run: 0.0 };
        return Some((candidate, values.to_vec()));
    }
    let (resemblance, long_run) = resemblance(&left, (ends.len() - 1) as f64 / 2.0);
    let clear = taken.sqrt() / long_run;
    clear.is_finite().then_some((Candidate { at, clear, resemblance, long_run }, left))
}

/// What is left of the values without the means between these ends.
pub(super) fn without_levels(values: &[f64], ends: &[usize]) -> Vec<f64> {
    let mut left = Vec::with_capacity(values.len());
    for pair in ends.windows(2) {
        let level = &values[pair[0]..pair[1]];
        let mean = level.iter().sum::<f64>() / level.len() as f64;
        left.extend(level.iter().map(|value| value - mean));
    }
    left
}

/// The correlation of neighbours in what is left of values without so many pairs of levels, and the standard deviation of a mean of n
/// values, times the square root of n.
pub(super) fn resemblance(left: &[f64], pairs: f64) -> (f64, f64) {
    let count = left.len() as f64;
    let [squares, neighbours] = sums(left);
    let r = neighbours / squares;
    let resemblance = (r + pairs * (BIAS + SLOPE * r) / count).clamp(0.0, CLOSEST);
    let variance = squares / (count - 2.0 * pairs);
    (resemblance, (variance * (1.0 + resemblance) / (1.0 - resemblance)).sqrt())
}

/// The best place beside the noise that is left of the values by something else than levels.
pub(super) fn candidate_beside(values: &[f64], left: &[f64]) -> Candidate {
    let ((at, taken), (resemblance, long_run)) = (split(values), resemblance(left, 1.0));
    Candidate { at, clear: taken.sqrt() / long_run, resemblance, long_run }
}

/// The chance that noise alone shows a place as clear, by simulated series of the same noise (the sieve bootstrap of Bühlmann, 1997, of
/// order 1): what is new in each value, in random order.
/// Values spread as `scale` says.
pub(super) fn chance(best: &Candidate, left: &[f64], scale: &[f64], level: f64, random: &mut StdRng) -> f64 {
    let (r, count) = (best.resemblance, left.len());
    let left: Vec<f64> = left.iter().zip(scale).map(|(left, scale)| left / scale).collect();
    let first = left.first().map(|first| first * (1.0 - r * r).sqrt());
    let mut new: Vec<f64> =
        first.into_iter().chain(left.windows(2).map(|pair| pair[1] - r * pair[0])).collect();
    let mean = new.iter().sum::<f64>() / count as f64;
    new.iter_mut().for_each(|value| *value -= mean);
    let error = UNSURE * ((1.0 - r * r) / count as f64).sqrt();
    let most = (SIMULATED / level).ceil();
    let (mut as_clear, mut made) = (1.0, 1.0);
    // The rest cannot make it rare again.
    while made < most && as_clear <= level * most {
        let own = (r + error * normal(random)).clamp(0.0, CLOSEST);
        let mut simulated = simulate(&mut new, own, random);
        simulated.iter_mut().zip(scale).for_each(|(value, scale)| *value *= scale);
        // Noise alone has no more levels than a few.
        let other = candidate_without(&simulated, |values| levels(values, few(values.len())));
        as_clear += f64::from(other.is_some_and(|(other, _)| other.clear >= best.clear));
        made += 1.0;
    }
    as_clear / made
}

/// A series of as many values in which neighbours resemble each other by `r`.
fn simulate(new: &mut [f64], r: f64, random: &mut StdRng) -> Vec<f64> {
    if r == 0.0 {
        new.shuffle(random);
        return new.to_vec();
    }
    let count = new.len();
    let mut pick = || new[random.random_range(0..count)];
    let mut value = pick() / (1.0 - r * r).sqrt();
    // Until it has forgotten how it began.
    for _ in 0..(3.0 / (1.0 - r)) as usize {
        value = r * value + pick();
    }
    let mut one = |_| {
        value = r * value + pick();
        value
    };
    (0..count).map(&mut one).collect()
}

fn normal(random: &mut impl Rng) -> f64 {
    crate::student::normal_point(random.random_range(1e-12..1.0))
}

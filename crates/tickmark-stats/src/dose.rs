//! How a cost rises with a dose that is given in blocks: the slope of a straight line, with a level of its own in each block.

use crate::student::t_point;
use crate::{Interval, plan};

/// A line through blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// By how much the cost rises with one unit of the dose.
    pub point: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom: blocks less one.
    pub df: f64,
}

impl Slope {
    /// Where it lies with this confidence, 0 to 1.
    #[must_use]
    pub fn interval(&self, confidence: f64) -> Interval {
        let half = self.error * t_point((1.0 - confidence) / 2.0, self.df);
        Interval { low: self.point - half, high: self.point + half }
    }
}

/// Least squares of `(dose, cost)` in blocks, each with a level of its own. Errors of one block may be related: the standard error takes each block as one
/// observation (Liang and Zeger, Longitudinal data analysis using generalized linear models, 1986; with their sum corrected by B / (B - 1)). None of fewer than two
/// blocks, or of doses that do not differ.
#[must_use]
pub fn slope(blocks: &[Vec<(f64, f64)>]) -> Option<Slope> {
    let sums: Vec<(f64, f64)> = blocks.iter().map(|block| moments(block)).collect();
    let squares: f64 = sums.iter().map(|(squares, _)| squares).sum();
    if sums.len() < 2 || !squares.is_normal() {
        return None;
    }
    let point = sums.iter().map(|(_, products)| products).sum::<f64>() / squares;
    let count = sums.len() as f64;
    let left: f64 = sums.iter().map(|(squares, products)| (products - point * squares).powi(2)).sum();
    let error = (left * count / (count - 1.0)).sqrt() / squares;
    point.is_finite().then_some(Slope { point, error, df: count - 1.0 })
}

/// One slice of a block under a dose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    /// Requested dose; slices of the same dose are evaluated together.
    pub nominal: f64,
    /// By how much the dose was, as the slope is asked for.
    pub dose: f64,
    /// Cost of a transaction under the dose: the variable whose slope is estimated.
    pub cost: f64,
    /// By how much a single read took longer.
    pub longer: f64,
    /// How many reads there were.
    pub reads: f64,
    /// CPU time of the reads that were timed.
    pub cpu: f64,
    /// How many reads were timed.
    pub timed: f64,
}

/// The slope of cost over dose, where the cost is CPU time and the dose a time that something measured itself: divided by the CPU time that a ns of
/// such a dose is charged with, which is more than one, as interrupts that come in it are charged too. Its error is that of the whole ratio, by leaving out
/// each block once (Efron, Nonparametric estimates of standard error: the jackknife, the bootstrap and other methods, 1981). None of fewer than three blocks,
/// or of doses that do not differ.
#[must_use]
pub fn calibrated(blocks: &[Vec<Slice>]) -> Option<Slope> {
    let count = blocks.len() as f64;
    let point = ratio(&blocks.iter().collect::<Vec<_>>())?;
    let without = |at: usize| ratio(&leave_out(blocks, at));
    let others = (0..blocks.len()).map(without).collect::<Option<Vec<f64>>>()?;
    let mean = others.iter().sum::<f64>() / count;
    let squares: f64 = others.iter().map(|other| (other - mean).powi(2)).sum();
    let error = (squares * (count - 1.0) / count).sqrt();
    (blocks.len() > 2).then_some(Slope { point, error, df: count - 1.0 })
}

fn leave_out(blocks: &[Vec<Slice>], at: usize) -> Vec<&Vec<Slice>> {
    blocks.iter().enumerate().filter(|(number, _)| *number != at).map(|(_, block)| block).collect()
}

fn ratio(blocks: &[&Vec<Slice>]) -> Option<f64> {
    let points = |block: &&Vec<Slice>| block.iter().map(|slice| (slice.dose, slice.cost)).collect::<Vec<_>>();
    let sums: Vec<(f64, f64)> = blocks.iter().map(|block| moments(&points(block))).collect();
    let squares: f64 = sums.iter().map(|(squares, _)| squares).sum();
    let slope = sums.iter().map(|(_, products)| products).sum::<f64>() / squares;
    (squares.is_normal() && slope.is_finite()).then(|| slope / charged(blocks).unwrap_or(1.0))
}

/// True if slopes of these are divided by what timed reads say.
#[must_use]
pub fn is_calibrated(blocks: &[Vec<Slice>]) -> bool {
    charged(&blocks.iter().collect::<Vec<_>>()).is_some()
}

/// CPU ns that a ns of the dose is charged with: the slope over doses of what a timed read took; none where too few were timed.
fn charged(blocks: &[&Vec<Slice>]) -> Option<f64> {
    let all = || blocks.iter().flat_map(|block| block.iter());
    let mut doses: Vec<f64> = all().map(|slice| slice.nominal).collect();
    doses.sort_unstable_by(f64::total_cmp);
    doses.dedup();
    let point = |requested: &f64| {
        let own = || all().filter(|slice| slice.nominal == *requested);
        let sum = |of: fn(&Slice) -> f64| own().map(of).sum::<f64>();
        let (timed, reads) = (sum(|slice| slice.timed), sum(|slice| slice.reads));
        let longer = sum(|slice| slice.longer * slice.reads) / reads;
        (timed > 0.0 && reads > 0.0).then(|| (longer, sum(|slice| slice.cpu) / timed))
    };
    let points: Vec<(f64, f64)> = doses.iter().filter_map(point).collect();
    let (squares, products) = moments(&points);
    let slope = products / squares;
    (points.len() > 1 && squares.is_normal() && slope > 0.0).then_some(slope)
}

/// Sums over a block, about its means: of the squares of the doses, and of doses times costs.
fn moments(block: &[(f64, f64)]) -> (f64, f64) {
    let count = block.len().max(1) as f64;
    let (dose, cost) =
        block.iter().fold((0.0, 0.0), |(dose, cost), one| (dose + one.0 / count, cost + one.1 / count));
    block.iter().fold((0.0, 0.0), |(squares, products), one| {
        (squares + (one.0 - dose).powi(2), products + (one.0 - dose) * (one.1 - cost))
    })
}

/// The smallest slope that so many blocks with these doses tell from 0 at this level with this power, where a cost varies by so much (standard deviation) from
/// one look to the next.
#[must_use]
pub fn detectable(doses: &[f64], deviation: f64, blocks: usize, level: f64, power: f64) -> f64 {
    let nothing: Vec<(f64, f64)> = doses.iter().map(|dose| (*dose, 0.0)).collect();
    let (squares, _) = moments(&nothing);
    plan::detectable(blocks, level, power) * deviation / squares.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOSES: [f64; 4] = [0.0, 100.0, 300.0, 1000.0];

    /// Noise without a random number: sums to nothing over a block, and differs between them.
    fn block(number: usize, slope: f64, noise: f64) -> Vec<(f64, f64)> {
        let shift = |at: usize| noise * (((number * 7 + at * 13) % 11) as f64 - 5.0);
        let cost = |(at, dose): (usize, &f64)| (*dose, 1e4 * number as f64 + slope * dose + shift(at));
        DOSES.iter().enumerate().map(cost).collect()
    }

    #[test]
    fn a_slope_is_found_whatever_the_level_of_its_block() {
        let exact: Vec<_> = (0..5).map(|number| block(number, 4.0, 0.0)).collect();
        let found = slope(&exact).unwrap();
        assert!((found.point - 4.0).abs() < 1e-9 && found.error < 1e-9 && found.df == 4.0, "{found:?}");
        let noisy: Vec<_> = (0..40).map(|number| block(number, 4.0, 100.0)).collect();
        let found = slope(&noisy).unwrap();
        let interval = found.interval(0.95);
        assert!(interval.low < 4.0 && 4.0 < interval.high && interval.high - interval.low < 0.5, "{found:?}");
        assert!(slope(&noisy[..1]).is_none() && slope(&[vec![(1.0, 2.0)], vec![(1.0, 3.0)]]).is_none());
    }

    /// Costs of three reads whose CPU time is charged with a per cent more than they say, beside noise: the interval of the number of reads holds three as often as
    /// it says, and without the timed reads it misses by that per cent.
    #[test]
    fn what_a_dose_is_charged_with_is_divided_out() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(11);
        let (mut held, mut held_plainly) = (0, 0);
        for _ in 0..1000 {
            let mut normal = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
            let mut slice = |dose: f64| Slice {
                nominal: dose,
                dose,
                cost: 8e3 + 3.0 * 1.02 * dose + 30.0 * normal(),
                longer: dose,
                reads: 3000.0,
                cpu: 100.0 * (200.0 + 1.02 * dose + 2.0 * normal()),
                timed: 100.0,
            };
            let blocks: Vec<Vec<Slice>> =
                (0..20).map(|_| DOSES.iter().map(|dose| slice(*dose)).collect()).collect();
            let holds = |found: Slope| {
                let interval = found.interval(0.95);
                u32::from(interval.low <= 3.0 && 3.0 <= interval.high)
            };
            held += holds(calibrated(&blocks).unwrap());
            let plain = |block: &Vec<Slice>| block.iter().map(|slice| (slice.dose, slice.cost)).collect();
            held_plainly += holds(slope(&blocks.iter().map(plain).collect::<Vec<_>>()).unwrap());
        }
        assert!((925..975).contains(&held) && held_plainly < 200, "{held} {held_plainly}");
        assert!(calibrated(&[]).is_none());
    }

    /// Of many experiments, made by chance: how often the interval holds the truth, and how often what is detectable is detected.
    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        use rand::{RngExt, SeedableRng};
        let mut random = rand::rngs::StdRng::seed_from_u64(7);
        let least = detectable(&DOSES, 1000.0, 20, 0.05, 0.8);
        let (mut held, mut observed) = (0, 0);
        for _ in 0..2000 {
            let mut normal = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
            let mut block = || {
                let level = 5e4 * normal();
                DOSES.iter().map(|dose| (*dose, level + least * dose + 1000.0 * normal())).collect::<Vec<_>>()
            };
            let found = slope(&(0..20).map(|_| block()).collect::<Vec<_>>()).unwrap().interval(0.95);
            held += u32::from(found.low <= least && least <= found.high);
            observed += u32::from(found.low > 0.0);
        }
        assert!((1860..1940).contains(&held) && (1530..1670).contains(&observed), "{held} {observed}");
    }
}

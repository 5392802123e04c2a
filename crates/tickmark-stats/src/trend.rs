//! Settings that have an order: how much does a figure rise with each step of the setting, and does it rise at all?

use crate::student::t_point;
use crate::{Interval, spread};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Orders that are drawn of each block's values.
const DRAWN: u32 = 9_999;

/// How a figure follows a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// By how much it rises for each unit of the setting.
    pub slope: f64,
    /// Where that lies.
    pub interval: Interval,
    /// Page's L, the sum over settings of their rank times the sum of their values' ranks.
    pub l: f64,
    /// The chance of an L this far from what no order gives, on either side.
    pub p: f64,
}

/// Of blocks, each with one value a setting, at `doses` in ascending order. The slope is the mean of the blocks' own, with
/// Student's interval of them; the test of a trend in one direction is Page's, Ordered hypotheses for multiple treatments, 1963, over
/// the orders that chance could have given each block. None of fewer than two blocks, fewer than three settings, or settings that
/// do not rise.
#[must_use]
pub fn trend(blocks: &[Vec<f64>], doses: &[f64], confidence: f64) -> Option<Trend> {
    let (n, k) = (blocks.len(), doses.len());
    let rises = doses.windows(2).all(|pair| pair[0] < pair[1]);
    if n < 2 || k < 3 || !rises || blocks.iter().any(|block| block.len() != k) {
        return None;
    }
    let slopes: Vec<f64> = blocks.iter().map(|block| slope(block, doses)).collect();
    let s = spread(&slopes)?;
    let half = s.deviation / (n as f64).sqrt() * t_point((1.0 - confidence) / 2.0, n as f64 - 1.0);
    let mut ranks: Vec<Vec<f64>> = blocks.iter().map(|block| ranked(block)).collect();
    let l = page(&ranks);
    // What no order gives: every setting has the mean rank.
    let none = n as f64 * k as f64 * (k as f64 + 1.0).powi(2) / 4.0;
    let mut random = StdRng::seed_from_u64(1);
    let mut as_far = 1;
    for _ in 0..DRAWN {
        ranks.iter_mut().for_each(|block| block.shuffle(&mut random));
        as_far += u32::from((page(&ranks) - none).abs() >= (l - none).abs() - 1e-9);
    }
    let interval = Interval { low: s.mean - half, high: s.mean + half };
    Some(Trend { slope: s.mean, interval, l, p: f64::from(as_far) / f64::from(DRAWN + 1) })
}

/// Least squares.
fn slope(values: &[f64], doses: &[f64]) -> f64 {
    let count = values.len() as f64;
    let (x, y) = (doses.iter().sum::<f64>() / count, values.iter().sum::<f64>() / count);
    let across: f64 = doses.iter().zip(values).map(|(dose, value)| (dose - x) * (value - y)).sum();
    let along: f64 = doses.iter().map(|dose| (dose - x).powi(2)).sum();
    across / along
}

/// The rank of each value among them; equal ones share the mean of theirs.
fn ranked(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let same = values.iter().filter(|other| *other == value).count() as f64;
        below + (same + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

fn page(ranks: &[Vec<f64>]) -> f64 {
    let one = |block: &Vec<f64>| block.iter().zip(1..).map(|(rank, at)| rank * f64::from(at)).sum::<f64>();
    ranks.iter().map(one).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_its_slope() {
        let blocks: Vec<Vec<f64>> = (0..6)
            .map(|b| [100.0, 250.0, 1000.0].map(|hz| 50.0 + f64::from(b) + 0.02 * hz).to_vec())
            .collect();
        let t = trend(&blocks, &[100.0, 250.0, 1000.0], 0.95).unwrap();
        assert!((t.slope - 0.02).abs() < 1e-12 && (t.interval.high - t.interval.low).abs() < 1e-12, "{t:?}");
        assert!(t.p < 0.001, "{t:?}");
        assert!(trend(&blocks, &[100.0, 1000.0, 250.0], 0.95).is_none());
        assert!(trend(&blocks[..1], &[100.0, 250.0, 1000.0], 0.95).is_none());
    }

    #[test]
    fn pages_statistic_and_its_chance() {
        // By hand, all orders of two blocks of three: L is 28 at most, in 1 of 36; as far below is 20, in another.
        let t = trend(&[vec![1.0, 2.0, 3.0], vec![5.0, 7.0, 9.0]], &[1.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!(t.l, 28.0);
        assert!((t.p - 2.0 / 36.0).abs() < 0.01, "{t:?}");
        let flat = trend(&[vec![4.0; 3], vec![4.0; 3]], &[1.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!((flat.slope, flat.p), (0.0, 1.0));
        // A trend that goes back is none, though the settings differ.
        let back: Vec<Vec<f64>> = (0..8).map(|b| vec![1.0, 5.0 + f64::from(b), 1.1]).collect();
        assert!(trend(&back, &[1.0, 2.0, 3.0], 0.95).unwrap().p > 0.05);
    }
}

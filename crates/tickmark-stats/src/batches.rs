//! From a stream of batches to floor and mean cost.

use crate::quantile::quantile;

/// Fewer batches than this give no 10th percentile worth its name: the median stands in, marked.
pub const ENOUGH: usize = 100;

/// The figures of one stream, in ns an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// 10th percentile of the batches' cost, or their median where they are few.
    pub floor: f64,
    /// True if the median stands in for the floor.
    pub few: bool,
    /// All time over all operations: ticks and whatever else happened included.
    pub mean: f64,
}

/// Floor and mean of batches that took `elapsed` ns for `iterations` operations each. None of no batch.
#[must_use]
pub fn figures(elapsed: &[f64], iterations: f64) -> Option<Figures> {
    let few = elapsed.len() < ENOUGH;
    let floor = quantile(elapsed.iter().copied(), if few { 0.5 } else { 0.1 })? / iterations;
    let mean = elapsed.iter().sum::<f64>() / (elapsed.len() as f64 * iterations);
    Some(Figures { floor, few, mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_has_no_tick_and_the_mean_has_them_all() {
        // One batch in 40 holds a tick of 15 us.
        let elapsed: Vec<f64> = (0..1000).map(|i| if i % 40 == 0 { 115_000.0 } else { 100_000.0 }).collect();
        let f = figures(&elapsed, 1000.0).unwrap();
        assert_eq!((f.floor, f.few), (100.0, false));
        assert!((f.mean - 100.375).abs() < 1e-9);
    }

    #[test]
    fn few_batches_give_their_median_marked() {
        let f = figures(&[1.0, 2.0, 30.0], 1.0).unwrap();
        assert_eq!((f.floor, f.few, f.mean), (2.0, true, 11.0));
        assert_eq!(figures(&[], 1.0), None);
    }
}

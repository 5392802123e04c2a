//! Whether what shows a new level is a slope: a level, a line from one place to another, and a level again.

use super::noise::{levels, resemblance, without_levels};

/// Places at which a slope may begin or end.
const PLACES: usize = 100;
/// A shorter slope is a step.
const SHORTEST: usize = 8;
/// Levels that are tried beside a slope.
const MOST: usize = 3;

/// A slope.
#[derive(Debug, Clone)]
pub(super) struct Ramp {
    /// The last value of the old level, and the first of the new one.
    pub(super) from: usize,
    pub(super) to: usize,
    /// What the values are before it, and how much higher after it.
    pub(super) before: f64,
    pub(super) height: f64,
    /// Standard error of the height.
    pub(super) error: f64,
    /// What it leaves of the values.
    pub(super) left: Vec<f64>,
}

impl Ramp {
    /// How much of the height a value has.
    pub(super) fn part(&self, at: usize) -> f64 {
        (at.saturating_sub(self.from) as f64 / (self.to - self.from) as f64).min(1.0)
    }
}

/// Sums over the first values, with their means taken out: of the values, and of the values times their places.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(values: &[f64], mean: f64) -> Self {
        let mut sums = (0.0, 0.0);
        let next = values.iter().enumerate().map(|(at, value)| {
            sums = (sums.0 + value - mean, sums.1 + at as f64 * (value - mean));
            sums
        });
        Self(std::iter::once((0.0, 0.0)).chain(next).collect())
    }

    /// The height of the best slope between two places by least squares, the sum of squares that it takes away, and the variance of its
    /// shape, times the number of values.
    fn fit(&self, from: usize, to: usize) -> (f64, f64, f64) {
        let count = self.0.len() - 1;
        let (steps, after) = ((to - from) as f64, (count - 1 - to) as f64);
        let sum = (steps + 1.0) / 2.0 + after;
        let squares = (steps + 1.0) * (2.0 * steps + 1.0) / (6.0 * steps) + after - sum * sum / count as f64;
        let (begin, end, all) = (self.0[from], self.0[to + 1], self.0[count]);
        let across = (end.1 - begin.1 - from as f64 * (end.0 - begin.0)) / steps + all.0 - end.0;
        (across / squares, across * across / squares, squares)
    }
}

/// The slope that describes the values better than levels do, each by its likelihood and its number of parameters (Schwarz, Estimating the
/// dimension of a model, 1978).
pub(super) fn ramp(values: &[f64]) -> Option<Ramp> {
    let count = values.len();
    let middle = crate::median(values.iter().copied())?;
    // What hardly varies has no slope.
    if count <= 2 * SHORTEST || 2 * values.iter().filter(|value| **value == middle).count() > count {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count as f64;
    let sums = Sums::new(values, mean);
    let places: Vec<usize> = (0..count).step_by(count.div_ceil(PLACES)).chain([count - 1]).collect();
    let pairs = places.iter().flat_map(|from| places.iter().map(move |to| (*from, *to)));
    let pairs = pairs.filter(|(from, to)| *to >= from + SHORTEST);
    let (from, to) = pairs.max_by(|a, b| sums.fit(a.0, a.1).1.total_cmp(&sums.fit(b.0, b.1).1))?;
    let (height, taken, squares) = sums.fit(from, to);
    let mut ramp = Ramp { from, to, before: 0.0, height, error: 0.0, left: Vec::new() };
    let shape: f64 = (0..count).map(|at| ramp.part(at)).sum();
    ramp.before = mean - height * shape / count as f64;
    let left: Vec<f64> =
        values.iter().enumerate().map(|(at, value)| value - ramp.before - height * ramp.part(at)).collect();
    let all: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let own = resemblance(&left, 1.0).1;
    ramp.error = own / squares.sqrt();
    let rest = all - taken;
    let information = (count as f64).ln();
    let is_better = (1..=MOST).all(|steps| {
        let left = without_levels(values, &levels(values, steps));
        let noise = own.min(resemblance(&left, (steps + 1) as f64 / 2.0).1);
        let other: f64 = left.iter().map(|value| value * value).sum();
        (rest - other) / (noise * noise) < information * (2 * steps) as f64 - information * 3.0
    });
    ramp.left = left;
    is_better.then_some(ramp)
}

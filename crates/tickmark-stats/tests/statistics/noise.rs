//! Simulated costs of runs, and experiments on them.

use rand::RngExt;
use rand::rngs::StdRng;
use tickmark_stats::student::normal_point;

/// Blocks of an experiment.
pub(crate) const BLOCKS: usize = 10;

pub(crate) fn normal(random: &mut StdRng) -> f64 {
    normal_point(random.random_range(1e-12..1.0 - 1e-12))
}

/// Costs of consecutive runs, around 100.
pub(crate) type Noise = fn(&mut StdRng, usize) -> Vec<f64>;

pub(crate) fn plain(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|_| 100.0 + normal(random)).collect()
}

pub(crate) fn lognormal(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|_| 100.0 + (0.8 * normal(random)).exp()).collect()
}

/// One run in ten is 3 % slower.
pub(crate) fn spiked(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| 100.0 + 0.5 * normal(random) + if random.random::<f64>() < 0.1 { 3.0 } else { 0.0 })
        .collect()
}

/// The mean of 30 samples of a run, whose own level varies as much as they do.
pub(crate) fn nested(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|_| 100.0 + normal(random) + (0..30).map(|_| normal(random)).sum::<f64>() / 30.0).collect()
}

/// Each run resembles the one before: phi .6.
pub(crate) fn autoregressive(random: &mut StdRng, count: usize) -> Vec<f64> {
    let mut at = normal(random);
    (0..count)
        .map(|_| {
            at = 0.6 * at + 0.8 * normal(random);
            100.0 + at
        })
        .collect()
}

/// The level wanders by two standard deviations of a run over the experiment.
pub(crate) fn drifting(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|i| 100.0 + 2.0 * i as f64 / count as f64 + normal(random)).collect()
}

/// Two settings in the order of an experiment: in each block at random one or the other comes first, and the second setting
/// costs `ratio` times as much.
pub(crate) fn experiment(
    random: &mut StdRng,
    noise: Noise,
    blocks: usize,
    ratio: f64,
) -> (Vec<f64>, Vec<f64>) {
    let runs = noise(random, 2 * blocks);
    runs.chunks(2)
        .map(|block| {
            let (a, b) = if random.random() { (block[0], block[1]) } else { (block[1], block[0]) };
            (a, b * ratio)
        })
        .unzip()
}

/// Largest count in 999 of 1,000 cases, where the rate is 5 %.
pub(crate) fn bound(all: u32) -> u32 {
    let all = f64::from(all);
    (0.05 * all + 3.09 * (0.05 * 0.95 * all).sqrt()).ceil() as u32
}

pub(crate) const NOISES: [(&str, Noise); 6] = [
    ("normal", plain),
    ("lognormal", lognormal),
    ("spiked", spiked),
    ("nested", nested),
    ("AR(1)", autoregressive),
    ("drifting", drifting),
];

//! Whether the intervals and the claims are worth what they say, on noise that is made: `cargo test -p tickmark-stats --release
//! --test simulated -- --nocapture` prints the figures. The seeds are fixed, so that the figures are too.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tickmark_stats::plan;
use tickmark_stats::spread;
use tickmark_stats::student::normal_point;
use tickmark_stats::verdict::{LEVEL, Rule, Sides, Verdict, compare};

/// Blocks of an experiment.
const BLOCKS: usize = 10;

fn normal(random: &mut StdRng) -> f64 {
    normal_point(random.random_range(1e-12..1.0 - 1e-12))
}

/// Costs of consecutive runs, around 100.
type Noise = fn(&mut StdRng, usize) -> Vec<f64>;

fn plain(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|_| 100.0 + normal(random)).collect()
}

fn lognormal(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|_| 100.0 + (0.8 * normal(random)).exp()).collect()
}

/// One run in ten is 3 % slower.
fn spiked(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| 100.0 + 0.5 * normal(random) + if random.random::<f64>() < 0.1 { 3.0 } else { 0.0 })
        .collect()
}

/// The mean of 30 samples of a run, whose own level varies as much as they do.
fn nested(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|_| 100.0 + normal(random) + (0..30).map(|_| normal(random)).sum::<f64>() / 30.0).collect()
}

/// Each run resembles the one before: phi .6.
fn autoregressive(random: &mut StdRng, count: usize) -> Vec<f64> {
    let mut at = normal(random);
    (0..count)
        .map(|_| {
            at = 0.6 * at + 0.8 * normal(random);
            100.0 + at
        })
        .collect()
}

/// The level wanders by two standard deviations of a run over the experiment.
fn drifting(random: &mut StdRng, count: usize) -> Vec<f64> {
    (0..count).map(|i| 100.0 + 2.0 * i as f64 / count as f64 + normal(random)).collect()
}

/// Two settings in the order of an experiment: in each block at random one or the other comes first, and the second setting
/// costs `ratio` times as much.
fn experiment(random: &mut StdRng, noise: Noise, blocks: usize, ratio: f64) -> (Vec<f64>, Vec<f64>) {
    let runs = noise(random, 2 * blocks);
    runs.chunks(2)
        .map(|block| {
            let (a, b) = if random.random() { (block[0], block[1]) } else { (block[1], block[0]) };
            (a, b * ratio)
        })
        .unzip()
}

const NOISES: [(&str, Noise); 6] = [
    ("normal", plain),
    ("lognormal", lognormal),
    ("spiked", spiked),
    ("nested", nested),
    ("AR(1)", autoregressive),
    ("drifting", drifting),
];

#[test]
fn intervals_cover_what_they_say() {
    for (name, noise) in NOISES {
        let random = &mut StdRng::seed_from_u64(1);
        let (mut covered, all) = (0, 20_000);
        for _ in 0..all {
            let (a, b) = experiment(random, noise, BLOCKS, 1.02);
            let c = compare(&[Sides::Paired(&a, &b)], Rule::default())[0].unwrap();
            covered += u32::from(c.interval.is_some_and(|i| i.low <= 1.02 && 1.02 <= i.high));
        }
        let share = f64::from(covered) / f64::from(all);
        println!("coverage of the 95 % interval, {BLOCKS} blocks, {name}: {:.2} %", share * 100.0);
        assert!((0.935..=0.965).contains(&share), "{name}: {share}");
    }
}

#[test]
fn stopping_at_a_width_keeps_the_coverage() {
    for (name, noise) in NOISES {
        let random = &mut StdRng::seed_from_u64(5);
        let (mut covered, all) = (0, 4000);
        for _ in 0..all {
            let (a, b) = experiment(random, noise, 60, 1.02);
            // From the tenth block on, as `tickmark experiment --width 0.7%` does.
            let at = |blocks: usize| {
                compare(&[Sides::Paired(&a[..blocks], &b[..blocks])], Rule::default())[0].unwrap().interval
            };
            let narrow = |blocks: &usize| at(*blocks).is_some_and(|i| i.high - i.low < 0.014);
            let end = (10..=60).find(narrow).unwrap_or(60);
            covered += u32::from(at(end).is_some_and(|i| i.low <= 1.02 && 1.02 <= i.high));
        }
        let share = f64::from(covered) / f64::from(all);
        println!("coverage where the interval's width ends it, {name}: {:.2} %", share * 100.0);
        assert!(share >= 0.93, "{name}: {share}");
    }
}

#[test]
fn among_eighty_metrics_of_nothing_none_is_claimed() {
    let random = &mut StdRng::seed_from_u64(2);
    let (mut wrong, mut plain_wrong, suites) = (0, 0, 1000);
    for _ in 0..suites {
        let metrics: Vec<_> =
            (0..80).map(|metric| experiment(random, NOISES[metric % NOISES.len()].1, BLOCKS, 1.0)).collect();
        let sides: Vec<_> = metrics.iter().map(|(a, b)| Sides::Paired(a, b)).collect();
        let verdicts: Vec<_> = compare(&sides, Rule::default()).into_iter().flatten().collect();
        let claimed = |v: &Verdict| matches!(v, Verdict::Changed | Verdict::BelowMargin);
        wrong += u32::from(verdicts.iter().any(|c| claimed(&c.verdict)));
        plain_wrong += u32::from(verdicts.iter().any(|c| c.p.is_some_and(|p| p < LEVEL)));
    }
    println!("suites of 80 null metrics with a claim: {wrong} of {suites}; without Holm: {plain_wrong}");
    assert!(f64::from(wrong) / f64::from(suites) <= 0.05, "{wrong} of {suites}");
    assert!(plain_wrong > 900, "the correction has something to correct");
}

#[test]
fn the_effect_that_was_promised_is_found() {
    for (name, noise) in NOISES {
        let random = &mut StdRng::seed_from_u64(3);
        let (mut found, all) = (0, 2000);
        for _ in 0..all {
            // A pilot of so many blocks plans the experiment, as `tickmark experiment` does.
            let (a, b) = experiment(random, noise, 6, 1.0);
            let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
            let pilot = spread(&differences).unwrap().deviation;
            let effect = plan::detectable(plan::upper_deviation(pilot, 6, 0.99), BLOCKS, LEVEL, 0.8) / 100.0;
            let (a, b) = experiment(random, noise, BLOCKS, 1.0 + effect);
            found +=
                u32::from(compare(&[Sides::Paired(&a, &b)], Rule::default())[0].unwrap().p.unwrap() < LEVEL);
        }
        let share = f64::from(found) / f64::from(all);
        println!("power at the effect that a pilot promises, {name}: {:.1} %", share * 100.0);
        assert!(share >= 0.8, "{name}: {share}");
    }
}

#[test]
fn a_difference_of_the_margin_is_rarely_called_smaller() {
    for (name, noise) in NOISES {
        let random = &mut StdRng::seed_from_u64(4);
        let (mut wrong, all) = (0, 20_000);
        for _ in 0..all {
            let (a, b) = experiment(random, noise, 4 * BLOCKS, 1.02);
            let c = compare(&[Sides::Paired(&a, &b)], Rule { margin: 0.02, level: LEVEL })[0].unwrap();
            wrong += u32::from(matches!(c.verdict, Verdict::Equivalent | Verdict::BelowMargin));
        }
        let share = f64::from(wrong) / f64::from(all);
        println!("within 2 % where the truth is 2 %, {name}: {:.2} %", share * 100.0);
        assert!(share <= 0.05, "{name}: {share}");
    }
}

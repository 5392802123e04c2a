//! Whether the intervals and the claims are worth what they say, on noise that is made: `cargo test -p tickmark-stats --release
//! --test statistics simulated -- --nocapture` prints the figures. The seeds are fixed, so that the figures are too.

use crate::noise::{BLOCKS, NOISES, bound, experiment};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tickmark_stats::plan;
use tickmark_stats::spread;
use tickmark_stats::two::paired_ratio;
use tickmark_stats::verdict::{
    Comparison, Family, LEVEL, Looks, POWER, Rule, Sides, Verdict, compare, compare_all,
};

fn compare_pair(a: &[f64], b: &[f64], rule: Rule) -> Option<Comparison> {
    compare_all(&[Sides::paired(a, b)], rule).into_iter().flatten().next()
}

#[test]
fn intervals_cover_what_they_say() {
    for (name, noise) in NOISES {
        let random = &mut StdRng::seed_from_u64(1);
        let (mut covered, all) = (0, 5_000);
        for _ in 0..all {
            let (a, b) = experiment(random, noise, BLOCKS, 1.02);
            let c = compare_pair(&a, &b, Rule::default()).unwrap();
            covered += u32::from(c.interval.is_some_and(|i| i.low <= 1.02 && 1.02 <= i.high));
        }
        let share = f64::from(covered) / f64::from(all);
        println!("coverage of the 95 % interval, {BLOCKS} blocks, {name}: {:.2} %", share * 100.0);
        assert!((0.935..=0.97).contains(&share), "{name}: {share}");
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
                let confidence =
                    1.0 - LEVEL * Looks::Added { before: &[], early: blocks < 60 }.of_intervals();
                paired_ratio(&a[..blocks], &b[..blocks], confidence).map(|(_, interval)| interval)
            };
            let narrow = |blocks: &usize| at(*blocks).is_some_and(|i| i.high - i.low < 0.014);
            let end = (10..=60).find(narrow).unwrap_or(60);
            covered += u32::from(at(end).is_some_and(|i| i.low <= 1.02 && 1.02 <= i.high));
        }
        let share = f64::from(covered) / f64::from(all);
        println!("coverage where the interval's width ends it, {name}: {:.2} %", share * 100.0);
        assert!(share >= 0.94, "{name}: {share}");
    }
}

#[test]
fn among_eighty_metrics_of_nothing_none_is_claimed() {
    let random = &mut StdRng::seed_from_u64(2);
    let (mut wrong, mut plain_wrong, suites) = (0, 0, 400);
    for _ in 0..suites {
        let metrics: Vec<_> =
            (0..80).map(|metric| experiment(random, NOISES[metric % NOISES.len()].1, BLOCKS, 1.0)).collect();
        let family = Family::once(metrics.iter().map(|(a, b)| Sides::paired(a, b)).collect());
        let verdicts: Vec<_> = compare(&[family], Rule::default()).into_iter().flatten().flatten().collect();
        wrong += u32::from(verdicts.iter().any(|c| c.verdict.is_change()));
        plain_wrong += u32::from(verdicts.iter().any(|c| c.p.is_some_and(|p| p < LEVEL)));
    }
    println!("suites of 80 null metrics with a claim: {wrong} of {suites}; without Holm: {plain_wrong}");
    assert!((8..=bound(suites)).contains(&wrong), "{wrong} of {suites}");
    assert!(plain_wrong > 360, "the correction has something to correct");
}

#[test]
fn the_effect_that_was_promised_is_found() {
    let promised = plan::promised(6, BLOCKS, LEVEL, POWER);
    for (name, noise) in NOISES {
        let random = &mut StdRng::seed_from_u64(3);
        let (mut found, all) = (0, 2000);
        for _ in 0..all {
            // A pilot of so many blocks plans the experiment, as `tickmark experiment` does.
            let (a, b) = experiment(random, noise, 6, 1.0);
            let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
            let pilot = spread(&differences).unwrap().deviation;
            let effect = pilot * promised / 100.0;
            let (a, b) = experiment(random, noise, BLOCKS, 1.0 + effect);
            found += u32::from(compare_pair(&a, &b, Rule::default()).unwrap().p.unwrap() < LEVEL);
        }
        let share = f64::from(found) / f64::from(all);
        println!("power at the effect that a pilot promises, {name}: {:.1} %", share * 100.0);
        assert!((0.75..=0.85).contains(&share), "{name}: {share}");
    }
}

#[test]
fn a_difference_of_the_margin_is_rarely_called_smaller() {
    for (name, noise) in NOISES {
        let random = &mut StdRng::seed_from_u64(4);
        let (mut wrong, all) = (0, 2000);
        for _ in 0..all {
            let (a, b) = experiment(random, noise, BLOCKS, 1.02);
            let c = compare_pair(&a, &b, Rule { margin: 0.02, ..Rule::default() }).unwrap();
            wrong += u32::from(matches!(c.verdict, Verdict::Equivalent | Verdict::BelowMargin));
        }
        let share = f64::from(wrong) / f64::from(all);
        println!("within 2 % where the truth is 2 %, {name}: {:.2} %", share * 100.0);
        assert!(wrong <= bound(all), "{name}: {share}");
    }
}

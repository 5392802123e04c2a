//! Rates of what is found, and of what is not there.

use super::*;
use crate::student::normal_point;
use rand::RngExt;

/// Normal values of which each resembles the one before by `r`.
fn noise(count: usize, r: f64, seed: u64) -> Vec<f64> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut values: Vec<f64> =
        (0..count).map(|_| normal_point(random.random_range(1e-9..1.0 - 1e-9))).collect();
    for at in 1..values.len() {
        values[at] = r * values[at - 1] + (1.0 - r * r).sqrt() * values[at];
    }
    values
}

fn stepped(count: usize, r: f64, seed: u64, steps: &[(usize, f64)]) -> Vec<f64> {
    let mut values = noise(count, r, seed);
    for (at, step) in steps {
        values[*at..].iter_mut().for_each(|value| *value += step);
    }
    values
}

fn near(changes: &[Change], places: &[usize]) -> bool {
    let close = |(change, place): (&Change, &usize)| change.at.abs_diff(*place) <= 2;
    changes.len() == places.len() && changes.iter().zip(places).all(close)
}

#[test]
fn levels_are_found_where_they_begin_with_their_size() {
    let found = find(&stepped(60, 0.0, 1, &[(20, 4.0), (40, -7.0)]), 0.05);
    let changes = &found.changes;
    assert!(near(changes, &[20, 40]), "{found:?}");
    assert!((changes[0].before).abs() < 0.7 && (changes[0].after - 4.0).abs() < 0.7, "{found:?}");
    assert!((changes[1].before - 4.0).abs() < 0.7 && (changes[1].after + 3.0).abs() < 0.7, "{found:?}");
    assert!(changes[0].size.0 < 4.0 && changes[0].size.1 > 4.0 && changes[0].size.0 > 2.0, "{found:?}");
    assert!(changes[0].between.0 <= 20 && changes[0].between.1 >= 20, "{found:?}");
    // One that goes back.
    let found = find(&stepped(50, 0.0, 2, &[(20, 5.0), (30, -5.0)]), 0.05);
    assert!(near(&found.changes, &[20, 30]), "{found:?}");
}

/// Instructions, bytes: figures without any noise.
#[test]
fn an_exact_step_is_found_and_an_exact_constant_is_none() {
    let exact = |levels: &[(usize, f64)]| -> Vec<f64> {
        levels.iter().flat_map(|(count, level)| vec![*level; *count]).collect()
    };
    let places =
        |values: &[f64]| find(values, 0.05).changes.iter().map(|change| change.at).collect::<Vec<_>>();
    assert_eq!(places(&exact(&[(10, 100.1), (10, 100.2)])), [10]);
    assert_eq!(places(&exact(&[(20, 0.1), (15, 0.3), (20, 0.2)])), [20, 35]);
    let found = find(&exact(&[(10, 3.0), (9, 4.0)]), 0.05);
    assert_eq!((found.changes[0].between, found.changes[0].size), ((10, 10), (1.0, 1.0)), "{found:?}");
    // A mean of equal values may differ from them in the last digit.
    for level in [0.1, 0.3, 1e9 / 3.0] {
        assert_eq!(places(&vec![level; 41]), [0usize; 0], "{level}");
    }
    // One that is another is no level, wherever it stands.
    for at in [0, 20, 40] {
        let mut values = vec![7.0; 41];
        values[at] = 8.0;
        assert_eq!(places(&values), [0usize; 0], "{at}");
    }
}

#[test]
fn a_new_spread_is_told_from_a_new_level() {
    let mut values = noise(80, 0.0, 3);
    values[40..].iter_mut().for_each(|value| *value *= 8.0);
    let found = find(&values, 0.05).changes;
    let spreads: Vec<&Change> = found.iter().filter(|change| change.kind == Kind::Spread).collect();
    assert!(spreads.len() == 1 && spreads[0].at.abs_diff(40) <= 5, "{found:?}");
}

#[test]
fn one_outlier_is_named_and_is_no_change() {
    let mut values = noise(40, 0.0, 4);
    values[25] += 60.0;
    let found = find(&values, 0.05);
    assert!(found.changes.is_empty() && found.outliers == [25], "{found:?}");
}

/// At most 5 of 100 series without a change show one, or nothing can be known of them; of more than 5, 9 and 12 of 100 by chance (99.9 %) of 400.
#[test]
fn series_without_a_change_rarely_show_one() {
    for (r, count) in [(0.0, 24), (0.0, 40), (0.3, 40), (0.5, 40), (0.8, 40), (0.5, 100), (0.8, 100)] {
        let wrong = (0..400).filter(|seed| !find(&noise(count, r, 5_000 + seed), 0.05).changes.is_empty());
        let wrong = wrong.count();
        assert!(wrong <= 36, "{count} values at {r}: {wrong} of 400");
    }
    assert!(find(&[1.0; 40], 0.05).changes.is_empty() && find(&[1.0, 2.0, 3.0], 0.05).changes.is_empty());
    assert!(
        find(&[f64::NAN; 40], 0.05).changes.is_empty() && find(&noise(40, 0.0, 1), 1e-5).changes.is_empty()
    );
}

#[test]
fn steps_are_found_soon() {
    let rate = |before: usize, after: usize, r: f64, step: f64| {
        let one = |seed: &u64| {
            let values = stepped(before + after, r, 9_000 + seed, &[(before, step)]);
            find(&values, 0.05).changes.iter().any(|change| {
                change.kind == Kind::Level && (change.between.0..=change.between.1).contains(&before)
            })
        };
        (0..200).filter(one).count()
    };
    // Three values after a step of 3 standard deviations, 15 after one of 1; and in the middle of 40.
    let found = [rate(100, 3, 0.0, 3.0), rate(100, 15, 0.0, 1.0), rate(20, 20, 0.0, 2.0)];
    assert!(found[0] >= 150 && found[1] >= 90 && found[2] >= 160, "{found:?} of 200");
}

/// A series that is one long wave, in which a step is no more than a wave is.
#[test]
fn of_a_wave_nothing_is_known() {
    let known = (0..40).filter(|seed| !find(&noise(24, 0.9, 700 + seed), 0.05).unknowable).count();
    assert!(known <= 8, "{known} of 40");
    assert!(!find(&noise(24, 0.0, 5), 0.05).unknowable);
}

fn sloped(count: usize, r: f64, seed: u64, [from, to]: [usize; 2], height: f64) -> Vec<f64> {
    let part = |at: usize| (at.saturating_sub(from) as f64 / (to - from) as f64).min(1.0);
    noise(count, r, seed).iter().enumerate().map(|(at, value)| value + height * part(at)).collect()
}

/// A slope is told as one, and a step as a step.
#[test]
fn a_slope_is_no_staircase_and_a_step_no_slope() {
    let kinds = |values: &[f64]| -> Vec<bool> {
        find(values, 0.05).changes.iter().map(|change| matches!(change.kind, Kind::Drift { .. })).collect()
    };
    let only = |wanted: &[bool], series: &dyn Fn(u64) -> Vec<f64>| {
        (0..100).filter(|seed| kinds(&series(3_000 + seed)) == wanted).count()
    };
    let slopes = [
        only(&[true], &|seed| sloped(100, 0.0, seed, [0, 99], 5.0)),
        only(&[true], &|seed| sloped(120, 0.0, seed, [40, 80], 6.0)),
        only(&[true], &|seed| sloped(200, 0.3, seed, [50, 150], 6.0)),
    ];
    let steps = [
        only(&[false], &|seed| stepped(60, 0.0, seed, &[(30, 4.0)])),
        only(&[false; 2], &|seed| stepped(90, 0.0, seed, &[(30, 4.0), (60, 4.0)])),
        only(&[false], &|seed| stepped(100, 0.3, seed, &[(50, 3.0)])),
    ];
    assert!(slopes.iter().chain(&steps).all(|right| *right >= 85), "{slopes:?} {steps:?} of 100");
    let found = find(&sloped(120, 0.0, 1, [40, 80], 6.0), 0.05).changes;
    let Kind::Drift { until } = found[0].kind else { panic!("{found:?}") };
    assert!(found[0].at.abs_diff(40) < 12 && until.abs_diff(80) < 12, "{found:?}");
    assert!(found[0].size.0 < 6.0 && found[0].size.1 > 6.0, "{found:?}");
}

#[test]
fn a_share_of_two_states_is_told_from_a_level() {
    let mut random = StdRng::seed_from_u64(5);
    let mut mixed = |count: usize, share: f64| -> Vec<f64> {
        (0..count)
            .map(|_| if random.random_bool(share) { 14.0 } else { 10.0 } + random.random_range(-0.1..0.1))
            .collect()
    };
    let values = [mixed(80, 0.1), mixed(80, 0.6)].concat();
    let found = find(&values, 0.05).changes;
    let [Change { kind: Kind::Share { low, high }, at, before, after, .. }] = found[..] else {
        panic!("{found:?}")
    };
    assert!((low - 10.0).abs() < 0.1 && (high - 14.0).abs() < 0.1 && at.abs_diff(80) < 10, "{found:?}");
    assert!(before < 0.25 && after > 0.45, "{found:?}");
    let step = find(&[mixed(40, 0.0), mixed(40, 1.0)].concat(), 0.05).changes;
    assert!(step.len() == 1 && step[0].kind == Kind::Level, "{step:?}");
}

/// A week's phases are taken out where there are any, and only there.
#[test]
fn a_week_is_no_change() {
    let days: Vec<usize> = (0..84).map(|at| at % 7).collect();
    let week = |seed: u64, r: f64, by: f64| -> Vec<f64> {
        noise(84, r, seed)
            .iter()
            .zip(&days)
            .map(|(value, day)| value + if *day > 4 { by } else { 0.0 })
            .collect()
    };
    for r in [0.0, 0.5, 0.8] {
        let wrong = (0..400).filter(|seed| without_phases(&week(*seed, r, 0.0), &days).is_some()).count();
        assert!(wrong <= 6, "{wrong} of 400 at {r}");
    }
    let mut values = week(3, 0.0, 4.0);
    values[42..].iter_mut().for_each(|value| *value += 4.0);
    let flat = without_phases(&values, &days).unwrap();
    let found = find(&flat, 0.05).changes;
    assert!(near(&found, &[42]) && (found[0].size.0..found[0].size.1).contains(&4.0), "{found:?}");
}

/// Another spread is no level.
#[test]
fn another_spread_makes_no_level() {
    for (r, count) in [(0.0, 80), (0.5, 120)] {
        for times in [3.0, 6.0] {
            let wrong = (0..300).filter(|seed| {
                let mut values = noise(count, r, 20_000 + seed);
                values[count / 2..].iter_mut().for_each(|value| *value *= times);
                find(&values, 0.05).changes.iter().any(|change| change.kind != Kind::Spread)
            });
            let wrong = wrong.count();
            // Of 5 of 100, by chance (99.9 %).
            assert!(wrong <= 27, "{count} values at {r}, spread {times}: {wrong} of 300");
        }
    }
}

/// Levels that follow each other often, and a steep slope, are no wave.
#[test]
fn many_levels_and_steep_slopes_are_no_waves() {
    let turns = |count: usize, each: usize, height: f64, seed: u64| -> Vec<f64> {
        let level = |at: usize| if at / each % 2 == 1 { height } else { 0.0 };
        noise(count, 0.0, seed).iter().enumerate().map(|(at, value)| value + level(at)).collect()
    };
    for (count, each, height) in [(500, 50, 5.0), (200, 25, 5.0), (160, 20, 8.0)] {
        for seed in 0..10 {
            let found = find(&turns(count, each, height, 400 + seed), 0.05).changes;
            let places: Vec<usize> = (1..count / each).map(|number| number * each).collect();
            let right =
                places.iter().filter(|place| found.iter().any(|change| change.at.abs_diff(**place) <= 2));
            assert!(
                right.count() + 1 >= places.len() && found.len() <= places.len() + 2,
                "{count} {each}: {found:?}"
            );
        }
    }
    for height in [5.0, 10.0, 33.0, 100.0] {
        let is_slope = |seed: &u64| {
            let found = find(&sloped(100, 0.0, 600 + seed, [0, 99], height), 0.05).changes;
            matches!(found[..], [Change { kind: Kind::Drift { .. }, .. }])
        };
        let right = (0..20).filter(is_slope).count();
        assert!(right >= 16, "{height}: {right} of 20");
    }
}

/// A new spread at the place of a new level, and a level behind a slope: each has its own sides.
#[test]
fn what_changes_at_one_place_is_described_apart() {
    for seed in 0..20 {
        let mut values = noise(80, 0.0, 800 + seed);
        values[40..].iter_mut().for_each(|value| *value = 30.0 + 8.0 * *value);
        values.iter_mut().for_each(|value| *value += 100.0);
        for change in find(&values, 0.05).changes.iter().filter(|change| change.kind == Kind::Level) {
            assert!(
                (change.after - change.before - 30.0).abs() < 12.0 && change.size.0 < change.size.1,
                "{change:?}"
            );
        }
        let part = |at: usize| ((at as f64 - 40.0) / 60.0).clamp(0.0, 1.0);
        let level = |at: usize| if at < 140 { 100.0 + 10.0 * part(at) } else { 100.0 };
        let values: Vec<f64> =
            noise(200, 0.0, 900 + seed).iter().enumerate().map(|(at, value)| value + level(at)).collect();
        let found = find(&values, 0.05).changes;
        let step =
            found.iter().find(|change| change.at.abs_diff(140) <= 1 && change.kind == Kind::Level).unwrap();
        assert!((step.before - 110.0).abs() < 2.0 && step.size.1 < -5.0, "{found:?}");
    }
}

//! How often a difference of two series that were measured one after the other is claimed where nothing was changed, and found where
//! something was, beside a test that takes their values for independent: `cargo test -p tickmark-stats --release --test statistics order --
//! --nocapture` prints the rates. The seeds are fixed, so that the rates are too.

use crate::noise::{self, normal};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tickmark_stats::student::t_point;
use tickmark_stats::two::Difference;
use tickmark_stats::verdict::{Family, Order, Rule, Sides, compare};

const PAIRS: u64 = 500;
/// At most 8 % are claimed: what chance makes of it in 999 of 1,000 cases.
const MOST: f64 = 0.118;
/// Of five a side, under the largest drift: 13 %.
const MOST_OF_FIVE: f64 = 0.177;

/// A series of both sides, of standard deviation 1.
type Series = fn(&mut StdRng, usize) -> Vec<f64>;

fn resembling(random: &mut StdRng, count: usize, by: f64) -> Vec<f64> {
    let mut at = normal(random);
    let mut next = || {
        at = by * at + (1.0 - by * by).sqrt() * normal(random);
        100.0 + at
    };
    (0..count).map(|_| next()).collect()
}

fn drifting(random: &mut StdRng, count: usize, by: f64) -> Vec<f64> {
    (0..count).map(|i| 100.0 + by * i as f64 / count as f64 + normal(random)).collect()
}

const SERIES: [(&str, Series); 8] = [
    ("normal", noise::plain),
    ("spiked", noise::spiked),
    ("correlation .3", |random, count| resembling(random, count, 0.3)),
    ("correlation .6", |random, count| resembling(random, count, 0.6)),
    ("drift of .5 sd", |random, count| drifting(random, count, 0.5)),
    ("drift of 1 sd", |random, count| drifting(random, count, 1.0)),
    ("drift of 2 sd", |random, count| drifting(random, count, 2.0)),
    ("drift of 4 sd", |random, count| drifting(random, count, 4.0)),
];

/// The share of pairs that is claimed, and by a test that takes values for independent (Welch).
fn claimed(series: Series, count: usize, change: f64) -> [f64; 2] {
    let rule = Rule { margin: 0.0, ..Rule::default() };
    let mut claimed = [0.0; 2];
    for seed in 0..PAIRS {
        let mut both = series(&mut StdRng::seed_from_u64(seed), 2 * count);
        both[count..].iter_mut().for_each(|value| *value += change);
        let (a, b) = both.split_at(count);
        // Nobody says which was first.
        let (a, b) = if seed % 2 == 0 { (a, b) } else { (b, a) };
        let order = Order::one_after_the_other(a, b);
        let family = Family::once(vec![Sides::Apart { values: [a, b], step: 0.0, order }]);
        let difference = Difference::welch(a, b).unwrap();
        let is_change = [
            compare(&[family], rule)[0][0].unwrap().verdict.is_change(),
            difference.point.abs() > t_point(rule.level / 2.0, difference.df) * difference.error,
        ];
        for (claimed, is_change) in claimed.iter_mut().zip(is_change) {
            *claimed += f64::from(u8::from(is_change)) / PAIRS as f64;
        }
    }
    claimed
}

#[test]
fn series_without_a_change_are_rarely_claimed_and_a_step_is_found() {
    for (name, series) in SERIES {
        for count in [5, 10, 20] {
            let [with, without] = claimed(series, count, 0.0);
            println!(
                "{name}, {count} a side: {:.1} % claimed; of independent values {:.1} %",
                100.0 * with,
                100.0 * without
            );
            assert!(with <= if count == 5 { MOST_OF_FIVE } else { MOST }, "{name}, {count}: {with}");
            // What is prevented is there.
            assert!(name != "drift of 4 sd" || count < 10 || without > 0.9, "{without}");
        }
    }
    for (change, count, least) in [(2.0, 10, 0.5), (3.0, 10, 0.9), (2.0, 20, 0.8)] {
        let [with, without] = claimed(noise::plain, count, change);
        println!(
            "a step of {change} sd, {count} a side: {:.1} % found; of independent values {:.1} %",
            100.0 * with,
            100.0 * without
        );
        assert!(with >= least, "{change} sd, {count}: {with}");
    }
}

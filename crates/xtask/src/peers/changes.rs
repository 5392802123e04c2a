//! Rates of the finder of changes on synthetic series: how often one without a change shows one, and how soon a step is found.

use crate::Result;
use std::time::Instant;
use tickmark_stats::change::{Kind, find};
use tickmark_stats::student::normal_point;

/// The quantile function of a distribution.
type Shape = fn(f64) -> f64;

/// Series of each kind.
const SERIES: u64 = 2_000;
const LEVEL: f64 = 0.05;

/// Values of which each resembles the one before by `r`; a sequence of numbers by Marsaglia's xorshift (2003), so that each run has the same.
pub(super) fn noise(count: usize, r: f64, seed: u64, shape: Shape) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut uniform = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    (0..16).for_each(|_| _ = uniform());
    let mut value = shape(uniform());
    let mut one = |_| {
        let own = value;
        value = r * value + (1.0 - r * r).sqrt() * shape(uniform());
        own
    };
    (0..count).map(&mut one).collect()
}

/// Heavy tails: Student's t with 3 degrees of freedom has a standard deviation of sqrt(3).
fn heavy(p: f64) -> f64 {
    tickmark_stats::student::t_point(p, 3.0) / 3f64.sqrt()
}

/// Skewed, as times are: exponential, with a standard deviation of 1.
fn skewed(p: f64) -> f64 {
    -p.ln() - 1.0
}

pub(crate) fn run() -> Result<()> {
    println!("of 100 series without a change, so many show one (and of so many nothing can be known)");
    println!("{:24} {:>14} {:>14} {:>14} {:>14}", "", "lag-1 0", ".3", ".5", ".8");
    let kinds: [(&str, Shape); 3] = [("normal", normal_point), ("t, 3 df", heavy), ("exponential", skewed)];
    for (name, shape) in kinds {
        for count in [20, 40, 100, 300] {
            let cell = |r: &f64| {
                let all: Vec<_> =
                    (0..SERIES).map(|seed| find(&noise(count, *r, seed + 1, shape), LEVEL)).collect();
                let of = |is: &dyn Fn(&tickmark_stats::change::SeriesChanges) -> bool| {
                    100.0 * all.iter().filter(|found| is(found)).count() as f64 / SERIES as f64
                };
                format!(
                    "{:>6.1} ({:.0})",
                    of(&|found| !found.changes.is_empty()),
                    of(&|found| found.unknowable)
                )
            };
            let cells: Vec<String> =
                [0.0, 0.3, 0.5, 0.8].iter().map(|r| format!("{:>14}", cell(r))).collect();
            println!("{:24} {}", format!("{name}, {count} values"), cells.join(" "));
        }
    }
    println!(
        "of 100 series with a step of so many standard deviations, in so many it is found (its place within the interval)"
    );
    for (before, after, step, r) in [
        (30, 3, 3.0, 0.0),
        (100, 3, 3.0, 0.0),
        (40, 15, 1.0, 0.0),
        (100, 15, 1.0, 0.0),
        (20, 20, 2.0, 0.0),
        (20, 20, 2.0, 0.5),
        (50, 50, 2.0, 0.5),
    ] {
        let is_found = |seed: &u64| {
            let mut values = noise(before + after, r, seed + 1, normal_point);
            values[before..].iter_mut().for_each(|value| *value += step);
            let changes = find(&values, LEVEL).changes;
            changes.iter().any(|c| c.kind == Kind::Level && (c.between.0..=c.between.1).contains(&before))
        };
        let found = (0..SERIES).filter(is_found).count();
        println!(
            "{:40} {:5.1}",
            format!("{before} values, {after} after {step}, lag-1 {r}"),
            100.0 * found as f64 / SERIES as f64
        );
    }
    let begun = Instant::now();
    let mut places = 0;
    for seed in 0..1_000 {
        let mut values = noise(1_000, 0.3, seed + 1, normal_point);
        values[600..].iter_mut().for_each(|value| *value += 1.0);
        places += find(&values, LEVEL).changes.len();
    }
    println!(
        "1000 series of 1000 values with a step each: {:.1} s on one CPU, {places} found",
        begun.elapsed().as_secs_f64()
    );
    super::finders::run()
}

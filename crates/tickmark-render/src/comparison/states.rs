//! Two states of both sides, in words.

use super::words::chance;
use crate::number::{change, percent};
use tickmark_stats::states::ComparedStates;

/// A difference of shares is said where it is as rare as this.
const LEVEL: f64 = 0.05;

/// How each side is divided among the states, and whether the states differ; `shown` writes a value.
#[must_use]
pub fn states(of: &ComparedStates, shown: &dyn Fn(f64) -> String) -> String {
    let [low, high] = of.centres.map(shown);
    let [(before, own), (after, other)] = of.shares();
    let limits = |interval: tickmark_stats::Interval| {
        format!("{} to {}", percent(interval.low), percent(interval.high))
    };
    let share = match (of.p < LEVEL, after > before) {
        (true, true) => "became more frequent",
        (true, false) => "became less frequent",
        (false, _) => "is not shown to be more or less frequent",
    };
    let level = |at: usize, name: &str| match &of.within[at] {
        None => format!("too few values in the {name} one"),
        Some((ratio, interval)) if interval.low <= 1.0 && interval.high >= 1.0 => {
            format!(
                "not shown to differ in the {name} one ({}, {} to {})",
                change(*ratio, 1),
                change(interval.low, 1),
                change(interval.high, 1)
            )
        }
        Some((ratio, interval)) => format!(
            "{} in the {name} one ({} to {})",
            change(*ratio, 1),
            change(interval.low, 1),
            change(interval.high, 1)
        ),
    };
    format!(
        "two states, {low} and {high}: the higher one {share}, {} ({}) to {} ({}), p {}; {}, {} (95 %; if values are independent)",
        percent(before),
        limits(own),
        percent(after),
        limits(other),
        chance(of.p),
        level(0, "lower"),
        level(1, "higher")
    )
}

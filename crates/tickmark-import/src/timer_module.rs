//! The lines that the kernel module tickmark_timer_test writes to the kernel's log (output 2: number, expected, called, error), as dmesg
//! prints them. Each row of timers is a run. Cycles are counts; with the back end hrtimer, which the log names, they are ns.

use super::begin;
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

const MARK: &str = "tickmark_timer_test: ";

pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| timer(line).is_some())
}

/// A timer of a row: its number and its error.
fn timer(line: &str) -> Option<(u32, f64)> {
    let (_, rest) = line.split_once(MARK)?;
    let mut words = rest.split_whitespace();
    let (number, expected, called, error) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let (expected, called): (u64, u64) = (expected.parse().ok()?, called.parse().ok()?);
    let error: i64 = error.parse().ok()?;
    // A line that was cut has another difference.
    let whole = words.next().is_none() && i128::from(called) - i128::from(expected) == i128::from(error);
    whole.then_some((number.parse().ok()?, error as f64))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut rows: Vec<Vec<(u32, f64)>> = Vec::new();
    for (number, error) in text.lines().filter_map(timer) {
        match rows.last_mut() {
            Some(row) if row.last().is_some_and(|(last, _)| *last < number) => row.push((number, error)),
            _ => rows.push(vec![(number, error)]),
        }
    }
    let nanos = text.lines().any(|line| line.contains("tickmark_timer: hrtimer"));
    let unit = if nanos { Unit::Time } else { Unit::Count };
    let mut found = begin("tickmark_timer", name);
    for (round, row) in (1..).zip(&rows) {
        let mut figure = |which: &str, value: f64| {
            let printed = Printed { value, step: 1.0 };
            found.figure(&format!("tickmark_timer.late.{which}"), unit, Better::Lower, round, printed);
        };
        let errors = || row.iter().map(|(_, error)| *error);
        figure("first", errors().next().unwrap_or(0.0));
        figure("min", errors().fold(f64::INFINITY, f64::min));
        figure("max", errors().fold(f64::NEG_INFINITY, f64::max));
        figure("mean", errors().sum::<f64>() / row.len() as f64);
        if row.len() > 1 {
            // The document's figure: after the bad start.
            let others = errors().skip(1).map(f64::abs).sum::<f64>();
            figure("others_absolute", others / (row.len() - 1) as f64);
        }
    }
    Ok(vec![found])
}

//! The lines that the kernel module tickmark_timer_test writes to the kernel's log (output 2: scenario, number, expected, called, error), as
//! dmesg prints them. Each row of timers is a run of its scenario. Cycles are counts; with the back end hrtimer, which the log names
//! before them, they are ns.

use super::begin;
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

const MARK: &str = "tickmark_timer_test: ";

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| timer(line).is_some())
}

/// A row: its scenario, its back end, and the number and the error of each timer.
struct Row {
    scenario: u32,
    nanos: bool,
    timers: Vec<(u32, f64)>,
}

/// A timer: its scenario, its number and its error.
fn timer(line: &str) -> Option<(u32, (u32, f64))> {
    let (_, rest) = line.split_once(MARK)?;
    let mut words = rest.split_whitespace();
    let (scenario, number) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (expected, called, error) = (words.next()?, words.next()?, words.next()?);
    let (expected, called): (u64, u64) = (expected.parse().ok()?, called.parse().ok()?);
    let error: i64 = error.parse().ok()?;
    // A line that was cut has another difference.
    let whole = words.next().is_none() && i128::from(called) - i128::from(expected) == i128::from(error);
    whole.then_some((scenario, (number, error as f64)))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let (mut rows, mut nanos): (Vec<Row>, bool) = (Vec::new(), false);
    for line in text.lines() {
        if let Some((_, backend)) = line.split_once("tickmark_timer: ") {
            nanos = backend.starts_with("hrtimer");
        }
        let Some((scenario, timer)) = timer(line) else { continue };
        let goes_on = |row: &&mut Row| {
            let follows = row.timers.last().is_some_and(|(last, _)| *last < timer.0);
            row.scenario == scenario && row.nanos == nanos && follows
        };
        match rows.last_mut().filter(goes_on) {
            Some(row) => row.timers.push(timer),
            None => rows.push(Row { scenario, nanos, timers: vec![timer] }),
        }
    }
    let mut found = begin("tickmark_timer", name);
    for (number, row) in rows.iter().enumerate() {
        let same = |other: &&Row| other.scenario == row.scenario && other.nanos == row.nanos;
        let round = rows[..=number].iter().filter(same).count() as u32;
        let (backend, unit) = if row.nanos { ("hrtimer", Unit::Time) } else { ("apic", Unit::Count) };
        let scenario = match row.scenario {
            1 => "simple",
            2 => "many",
            3 => "too_many",
            _ => "other",
        };
        let mut figure = |which: &str, value: f64| {
            let printed = Printed { value, step: 1.0 };
            let name = format!("tickmark_timer.{scenario}.{backend}.late.{which}");
            found.figure(&name, unit, Better::Lower, round, printed);
        };
        let errors = || row.timers.iter().map(|(_, error)| *error);
        figure("first", errors().next().unwrap_or(0.0));
        figure("min", errors().fold(f64::INFINITY, f64::min));
        figure("max", errors().fold(f64::NEG_INFINITY, f64::max));
        figure("mean", errors().sum::<f64>() / row.timers.len() as f64);
        if row.timers.len() > 1 {
            // The document's figure: after the bad start.
            let others = errors().skip(1).map(f64::abs).sum::<f64>();
            figure("others_absolute", others / (row.timers.len() - 1) as f64);
        }
    }
    Ok(vec![found])
}

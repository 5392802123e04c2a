//! The highest rate of transactions that keeps a limit, as text.

use crate::fold::wrapped;
use crate::grid::table;
use crate::number::{count, percent, value};
use std::fmt::Write;
use tickmark_analysis::capacity::Capacity;
use tickmark_analysis::http::Load;
use tickmark_analysis::report::Unit;

pub(crate) fn rate(rate: f64) -> String {
    value(rate, None, Unit::Rate)
}

/// A block for each search, and the notes.
#[must_use]
pub fn text(all: &[Load<Capacity>]) -> String {
    crate::http::blocks(all, block, &notes(all))
}

fn block(out: &mut String, observed: &Capacity) {
    let answer = format!("half of the slices keep the limit at {}", rate(observed.rate.point));
    for line in wrapped(&answer, 2) {
        let _ = writeln!(out, "{line}");
    }
    let interval = &observed.rate.interval;
    let (confidence, ends) = match observed.runs {
        1 => (String::new(), String::new()),
        _ => (
            format!("{} interval", percent(observed.rate.confidence)),
            format!("{} to {}", rate(interval.low), rate(interval.high)),
        ),
    };
    let heading = ["", "median", &confidence];
    let one = |name: &str, value: f64| [name.to_owned(), rate(value), String::new()];
    let rows = [
        heading.map(str::to_owned),
        ["highest rate that keeps the limit".to_owned(), rate(observed.rate.point), ends],
        one("highest of a slice that kept it", observed.kept),
        one("lowest of a slice that did not", observed.broke),
        one("sent when an answer has come", observed.closed),
    ];
    table(out, rows.map(Vec::from), [1, 2]);
    if observed.late > 0.0 {
        let _ = writeln!(
            out,
            "did not count, as the client itself was late: {} of the slices",
            percent(observed.late)
        );
    }
}

fn notes(all: &[Load<Capacity>]) -> String {
    let runs = all.iter().filter_map(|load| load.summary.as_ref().ok()).map(|observed| observed.runs).max();
    let runs = runs.map_or_else(String::new, |runs| {
        let runs = count(runs as u32, "run");
        format!("Medians of {runs}, with the interval that holds the median of such runs. ")
    });
    runs + "Each run asks in slices of a 30th of its time, faster after one that kept the limit and slower after another, and ends around the rate at which half of the slices keep it. Requests are due at times of their own, \
            and response latency begins when one is due; what failed, or had no answer when the slice ended and the limit had passed, broke it. Where the lowest rate that broke it is below the highest that kept it, \
            chance decides in between. A longer slice (--duration) has more of the rare long delays in it, and finds less."
}

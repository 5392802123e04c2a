//! How often the kernel reads its clock source in each operation, as a table.

use crate::fold::wrapped;
use crate::grid::lines;
use crate::number::time;
use std::fmt::Write;
use tickmark_analysis::kernel_reads::{Operation, Reads};
use tickmark_stats::order::largest_first;

/// The operations, most reads first.
#[must_use]
pub fn text(reads: &Reads) -> String {
    // Where a phase moves by less than a read, there is none: no negative zero.
    let number = |count: f64| format!("{:.2}", if count.abs() < 0.005 { 0.0 } else { count });
    let row = |one: &Operation| {
        let [low, high] = one.range.map(number);
        let range = if low == high { String::new() } else { format!("{low} to {high}") };
        let counted = one.counted.map_or_else(String::new, number);
        (one.reads, vec![one.title.clone(), number(one.reads), range, counted])
    };
    let mut all: Vec<(f64, Vec<String>)> = reads.operations.iter().map(row).collect();
    all.extend(reads.tick.map(|count| {
        (count, vec!["a tick of the clock".to_owned(), number(count), String::new(), String::new()])
    }));
    largest_first(&mut all, |one| one.0);
    let heading = ["kernel's clock reads", "each", "over phases", "counted"].map(str::to_owned).to_vec();
    let mut out = String::new();
    for line in lines(std::iter::once(heading).chain(all.into_iter().map(|(_, row)| row)), 1..4) {
        let _ = writeln!(out, "{line}");
    }
    let ticks = if reads.tick.is_some() {
        "what the ticks took of them is subtracted"
    } else {
        "with the ticks in them, as tick.spin was not measured"
    };
    let counted = match reads.operations.iter().any(|one| one.counted.is_some()) {
        true => " Counted: by the clock source itself, with those of the ticks meanwhile.",
        false => "",
    };
    let note = format!(
        "By how much each took longer, as parts of the {} by which a read of CLOCK_MONOTONIC did: means, {ticks}.{counted}",
        time(reads.longer)
    );
    for line in wrapped(&note, 0) {
        let _ = writeln!(out, "{line}");
    }
    out
}

//! How often a command reads clocks, as text and JSON.

use crate::grid::{table, wrapped};
use crate::number::{percent, time};
use anstyle::Style;
use serde_json::{Value, json};
use std::fmt::Write;
use tickmark_analysis::clock_reads::Reads;

const HEADING: Style = Style::new().bold();
/// Call sites that are shown.
const SITES: usize = 20;

/// A table of clocks and one of call sites.
#[must_use]
pub fn text(reads: &Reads) -> String {
    let mut out = format!("{HEADING}{}{HEADING:#}\n", reads.command);
    let each = reads.count.filter(|count| *count > 0.0);
    let seconds = reads.time / 1e9;
    let row = |name: &str, count: f64| {
        let mut cells = vec![name.to_owned(), format!("{count:.0}"), format!("{:.0}", count / seconds)];
        cells.extend(each.map(|each| format!("{:.3}", count / each)));
        cells
    };
    let all: f64 = reads.clocks.iter().map(|(_, count)| count).sum();
    let heading = |name: &str| -> Vec<String> {
        let each = each.map(|_| "for each");
        [name, "reads", "a second"].into_iter().chain(each).map(str::to_owned).collect()
    };
    let clocks = reads.clocks.iter().map(|(name, count)| row(name, *count));
    let rows = std::iter::once(heading("clock")).chain(clocks).chain([row("all", all)]);
    table(&mut out, rows, 1..4);
    if !reads.sites.is_empty() {
        out.push('\n');
        let share = |count: f64| percent(count / all);
        let site = |(name, count): &(String, f64)| vec![format!("{count:.0}"), share(*count), name.clone()];
        let heading =
            ["reads", "share", "called from: file+offset (symbol before it)"].map(str::to_owned).to_vec();
        table(&mut out, std::iter::once(heading).chain(reads.sites.iter().take(SITES).map(site)), 0..2);
        if let Some(more) = reads.sites.len().checked_sub(SITES).filter(|more| *more > 0) {
            let _ = writeln!(out, "and {more} more call sites (--format json)");
        }
    }
    for line in wrapped(&notes(reads), 0) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn notes(reads: &Reads) -> String {
    let mut text = format!("\nIt took {}", time(reads.time));
    if let Some(count) = reads.count {
        let _ = write!(text, " and did {count:.0} of what is counted");
    }
    text += ". Counted: calls of clock_gettime, gettimeofday and time, by the command and what it started, from outside the C library. Not counted: reads of the C library itself, of programs \
             that are linked statically or written in Go, of the kernel (timers, TCP), and of the processor's counter.";
    for why in &reads.blind {
        let _ = write!(text, " This program {why}: the count is not complete.");
    }
    if !reads.sites.is_empty() {
        text += " `addr2line -f -e FILE OFFSET` names the line where the program has debug information.";
    }
    text
}

/// The same for programs.
#[must_use]
pub fn json(reads: &Reads) -> Value {
    let each = |all: &[(String, f64)]| -> Vec<Value> {
        all.iter().map(|(name, count)| json!({ "name": name, "reads": count })).collect()
    };
    json!({
        "command": reads.command, "runs": reads.runs, "time": reads.time, "count": reads.count, "not_seen": reads.blind,
        "clocks": each(&reads.clocks), "sites": each(&reads.sites),
    })
}

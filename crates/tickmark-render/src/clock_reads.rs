//! How often a command reads clocks, as text.

use crate::fold::wrapped;
use crate::grid::table;
use crate::number::{percent, time};
use anstyle::Style;
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
    // A sum of nothing is -0.
    let all = reads.clocks.iter().map(|(_, count)| count).sum::<f64>() + 0.0;
    for line in wrapped(&answer(reads, all), 2) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    let heading = |name: &str, what: &str| -> Vec<String> {
        let each = each.map(|_| "per transaction");
        [name, what, "a second"].into_iter().chain(each).map(str::to_owned).collect()
    };
    let clocks = reads.clocks.iter().map(|(name, count)| row(name, *count));
    let rows = std::iter::once(heading("clock", "reads")).chain(clocks).chain([row("all", all)]);
    table(&mut out, rows, 1..4);
    if !reads.sites.is_empty() {
        out.push('\n');
        let share = |count: f64| percent(count / all);
        let site = |(name, count): &(String, f64)| vec![format!("{count:.0}"), share(*count), name.clone()];
        let heading =
            ["reads", "share", "called from: file+address (symbol before it)"].map(str::to_owned).to_vec();
        table(&mut out, std::iter::once(heading).chain(reads.sites.iter().take(SITES).map(site)), 0..2);
        if let Some(more) = reads.sites.len().checked_sub(SITES).filter(|more| *more > 0) {
            let _ = writeln!(out, "and {more} more call sites (--format json)");
        }
    }
    if !reads.calls.is_empty() {
        out.push('\n');
        let calls = reads.calls.iter().map(|(name, count)| row(name, *count));
        table(&mut out, std::iter::once(heading("function", "calls")).chain(calls), 1..4);
    }
    for line in wrapped(&notes(reads), 0) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The answer in a sentence: how often, which clock most, and from where.
fn answer(reads: &Reads, all: f64) -> String {
    let each = reads.count.filter(|count| *count > 0.0);
    let times = |count: f64| match each {
        Some(each) => format!("{:.3} times", count / each),
        None if count == 1.0 => "once".to_owned(),
        None => format!("{count:.0} times"),
    };
    let over = each.map_or_else(|| format!("in {}", time(reads.time)), |_| "for each transaction".to_owned());
    if all == 0.0 {
        return format!("no read of a clock through the C library was counted {over}");
    }
    let mut text = format!("it reads clocks {} {over}", times(all));
    let most = reads.clocks.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((clock, count)) = most.filter(|_| reads.clocks.len() > 1) {
        let _ = write!(text, ", {clock} {}", times(*count));
    }
    if let Some((site, count)) = reads.sites.first() {
        let _ = write!(text, "; {} of them from {site}", percent(count / all));
    }
    text
}

fn notes(reads: &Reads) -> String {
    let took = if reads.by_kernel { "Watched for" } else { "It took" };
    let mut text = format!("\n{took} {}", time(reads.time));
    if let Some(count) = reads.count {
        let _ = write!(text, ", with {count:.0} of what is counted");
    }
    text += if reads.by_kernel {
        ". Counted: calls of clock_gettime (and of the functions by which Go reads clocks) by the process, what it had started and what it starts, those of the C library itself among them: the kernel stops \
         each where the function begins (uprobes), which takes it some microseconds: its own time meanwhile is not to be compared. Not counted among them: system calls that are made without the C library, calls of the vDSO's own address, reads \
         of the kernel (timers, TCP) and of the processor's counter."
    } else {
        ". Counted: calls of clock_gettime, gettimeofday, time, timespec_get and clock, by the command and what it started, from outside the C library. Not counted: reads of the C library itself, \
         of programs that it started and that are linked statically or written in Go, system calls that are made without the C library, calls of the vDSO's own address, reads of the kernel (timers, TCP), and of the \
         processor's counter."
    };
    if let Some(kernel) = reads.kernel {
        let own = reads.of_clock_gettime();
        let _ = write!(
            text,
            " Of clock_gettime the kernel counted {kernel:.0} calls (uprobes), this count has {own:.0}"
        );
        text += match kernel - own {
            0.0 => ": the same.",
            more if more > 0.0 => {
                ": the others are the C library's own, or of a process that has ended before it could write its count."
            }
            _ => {
                ": fewer: a process that has another C library than tickmark itself, or one from which the kernel took a breakpoint away."
            }
        };
    }
    match &reads.system_calls {
        Some(calls) => {
            let each: Vec<String> =
                calls.iter().map(|(name, count)| format!("{count:.0} of {name}")).collect();
            let _ = write!(
                text,
                " System calls that read clocks, counted by the kernel: {}; those of the C library, where the vDSO cannot read a clock, are among them, and those that are made without it.",
                each.join(", ")
            );
        }
        None if reads.by_kernel || reads.kernel.is_some() => {
            text += " System calls were not counted: this kernel has no events for them (CONFIG_FTRACE_SYSCALLS), or refused one.";
        }
        None => {}
    }
    for why in &reads.blind {
        let _ = write!(
            text,
            " {} {why}: the count is not complete.",
            if reads.by_kernel { "It" } else { "This program" }
        );
    }
    if !reads.sites.is_empty() {
        text += " `addr2line -f -e FILE OFFSET` names the line where the program has debug information.";
    }
    text
}

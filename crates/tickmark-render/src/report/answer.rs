//! What a recording of a whole machine says, in a few lines that stand before its rows.

use crate::grid::definitions;
use crate::{finding, number};
use tickmark_analysis::report::{Finding, Header, Model, Note, Row};

/// So many rows are an answer by themselves.
const SHORT: usize = 2;

/// Rows that stand for their groups where there are many.
const HEADLINES: &[&str] = &[
    "clock.monotonic.read",
    "syscall.null",
    "syscall.read",
    "timer.clock_nanosleep.late",
    "tick.cost",
    "switch.2p.0k",
    "switch.2p.0k.across",
    "ipc.pipe.round_trip",
    "ipc.tcp.round_trip",
    "process.fork",
    "process.exec",
    "memory.latency.random.main",
];

/// True of a row that is shown where only headlines are.
pub(super) fn is_headline(row: &Row) -> bool {
    HEADLINES.contains(&row.metric.as_str())
}

fn rows(model: &Model) -> impl Iterator<Item = &Row> {
    model.groups.iter().flat_map(|(_, rows)| rows)
}

/// True if there are so many rows that lines before them say more.
pub(crate) fn is_given(model: &Model) -> bool {
    rows(model).count() > SHORT && model.header.imported.is_none()
}

/// A line for each thing that was measured: clocks, system calls, wake-ups, switches, memory, lost time; and how far to trust it.
pub(crate) fn lines(model: &Model) -> Vec<(&'static str, String)> {
    let row = |metric: &str| rows(model).find(|row| row.metric == metric);
    let value = |metric: &str| {
        let row = row(metric)?;
        let mut shown = number::value(row.value.as_ref()?.point, row.deviation, row.unit);
        if row.runs < row.made {
            shown += &format!(" in {} of {} runs", row.runs, row.made);
        }
        Some(shown + sign(row))
    };
    let lines = [
        ("clocks", clocks(&model.header, row("clock.monotonic.read"), value("clock.monotonic.read"))),
        (
            "system calls",
            joined(&[("the shortest takes", value("syscall.null")), ("a read", value("syscall.read"))]),
        ),
        ("wake-ups", wake_ups(row("timer.clock_nanosleep.late"), value("timer.clock_nanosleep.late"))),
        (
            "switches",
            joined(&[
                ("to another process", value("switch.2p.0k")),
                ("to one on another CPU", value("switch.2p.0k.across")),
            ]),
        ),
        (
            "messages",
            joined(&[
                ("there and back through a pipe", value("ipc.pipe.round_trip")),
                ("over TCP", value("ipc.tcp.round_trip")),
            ]),
        ),
        ("processes", joined(&[("fork", value("process.fork")), ("fork and exec", value("process.exec"))])),
        (
            "memory",
            joined(&[
                ("random load", value("memory.latency.random.main")),
                ("first cache", value("memory.latency.random.l1")),
                ("reading", value("bandwidth.memory.read")),
            ]),
        ),
        ("lost time", lost(row("tick.lost"), value)),
        ("trust", trust(model)),
    ];
    lines.into_iter().filter_map(|(name, line)| Some((name, line?))).collect()
}

/// The lines for a terminal.
pub(super) fn text(model: &Model) -> String {
    let mut out = String::new();
    definitions(&mut out, lines(model), INDENT);
    out
}

/// Where the lines begin, behind their names.
const INDENT: usize = 16;

/// Each label with its value, where that is known.
fn joined(parts: &[(&str, Option<String>)]) -> Option<String> {
    let known: Vec<String> =
        parts.iter().filter_map(|(label, value)| Some(format!("{label} {}", value.as_ref()?))).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn clocks(header: &Header, row: Option<&Row>, value: Option<String>) -> Option<String> {
    let how = row?.notes.iter().find_map(|note| match note {
        Note::Vdso(true) => Some(", without a system call"),
        Note::Vdso(false) => Some(", by a system call"),
        _ => None,
    });
    let source = header.clock_source.as_deref().unwrap_or("source unknown");
    Some(format!("CLOCK_MONOTONIC is read in {}{} ({source})", value?, how.unwrap_or_default()))
}

fn wake_ups(row: Option<&Row>, middle: Option<String>) -> Option<String> {
    let tail = row?.notes.iter().find_map(|note| match note {
        Note::Percentiles { p99, max, count } => {
            Some(format!(", p99 {}, worst {} ({count} sleeps)", number::time(*p99), number::time(*max)))
        }
        _ => None,
    });
    Some(format!("{} late in the median{}", middle?, tail.unwrap_or_default()))
}

/// Behind a contended figure, as the line of trust says.
fn sign(row: &Row) -> &'static str {
    if row.contended.is_some() { "*" } else { "" }
}

fn lost(row: Option<&Row>, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let share = number::percent(row?.value.as_ref()?.point) + row.map_or("", sign);
    let tick = value("tick.share")
        .zip(value("tick.cost"))
        .map(|(share, cost)| format!(", {share} by the tick ({cost} each)"));
    let tick = tick.unwrap_or_default();
    let runs = if row?.runs > 1 { " (median run)" } else { "" };
    Some(format!("{share} of the CPU{runs}{tick}"))
}

/// How far runs differ, and by how much others had the CPU.
fn trust(model: &Model) -> Option<String> {
    let measured: Vec<&Row> = rows(model).filter(|row| row.value.is_some()).collect();
    let spread: Vec<f64> = measured.iter().filter_map(|row| row.cv()).collect();
    let close = spread.iter().filter(|cv| **cv <= CLOSE).count();
    let states = measured.iter().filter(|row| row.states().is_some()).count();
    let contended: Vec<f64> = measured.iter().filter_map(|row| row.contended).collect();
    if measured.is_empty() {
        return None;
    }
    let tasks = model.findings.iter().find_map(|one| match one {
        Finding::Contended { tasks, .. } => Some(tasks),
        _ => None,
    });
    let rounds = number::count(model.header.rounds, "run");
    let mut parts = vec![match model.header.rounds {
        0 | 1 => format!("{rounds}: how far runs differ is not known"),
        _ if spread.is_empty() => {
            format!("{rounds}: no figure has enough of them to say how far they differ")
        }
        _ => format!(
            "{rounds}; {close} of {} figures vary by at most {:.0} % between them",
            spread.len(),
            CLOSE * 100.0
        ),
    }];
    if states > 0 {
        parts.push(format!("{states} more {} in two states", if states == 1 { "is" } else { "are" }));
    }
    parts.push(match contended.iter().copied().reduce(f64::max) {
        Some(most) => {
            format!(
                "{} of {} figures contended (*): other tasks had up to {} of the CPU{}",
                contended.len(),
                measured.len(),
                number::percent(most),
                tasks.map_or_else(String::new, |tasks| finding::by_whom(tasks, 2))
            )
        }
        None => "none contended".to_owned(),
    });
    Some(parts.join(", "))
}

/// Runs that differ by so much of their figure, as a standard deviation, are close.
const CLOSE: f64 = 0.02;

//! The model as text for a person.

use super::answer;
use crate::fold::wrapped;
use crate::grid;
use crate::reason::{UsualCaveats, is_contended, is_median};
use crate::{finding, number, reason};
use anstyle::{AnsiColor, Style};
use std::fmt::Write;
use tickmark_analysis::report::{Detail, FactLine, Finding, Guest, Header, Model, Row, RowStatus};

const HEADING: Style = Style::new().bold();
/// The widest title beside figures, where these leave room for it.
const TITLE: usize = 34;
/// Findings that are shown before headlines.
const FIRST: usize = 2;
/// The second where both have no more lines.
const LINES: usize = 5;
const MARK: Style = AnsiColor::Yellow.on_default();

/// What is shown of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownRows {
    /// Of many rows those that stand for their groups.
    Headlines,
    /// All rows.
    Rows,
    /// All rows, and the environment.
    Environment,
}

/// The whole model, with colours that the output stream strips where they are not wanted: of many rows the answer and the notes first.
#[must_use]
pub fn render(model: &Model, shown: ShownRows) -> String {
    let has_answer = answer::is_given(model);
    let is_short = has_answer && shown == ShownRows::Headlines;
    let mut out = format!("{}\n", machine(&model.header));
    let instrument = instrument(&model.header);
    if has_answer {
        let _ = write!(out, "\n{}", answer::text(model));
        notes(&mut out, model, is_short);
    } else {
        out += &instrument;
    }
    if is_short {
        headlines(&mut out, model);
    } else {
        rows(&mut out, model, has_answer);
    }
    for detail in &model.details {
        in_detail(&mut out, detail);
    }
    if has_answer && !is_short {
        out.push('\n');
        out += &instrument;
    }
    if shown == ShownRows::Environment {
        let _ = writeln!(out, "\n{HEADING}Environment{HEADING:#}");
        for known in &model.environment {
            let (name, value, source) = fact(known);
            let _ = writeln!(out, "  {name} = {value}  [{source}]");
        }
    }
    if !has_answer {
        notes(&mut out, model, false);
    }
    out
}

/// Rows that stand for their groups, each in a line; those beside which other tasks had the CPU are marked.
fn headlines(out: &mut String, model: &Model) {
    let all = || model.groups.iter().flat_map(|(_, rows)| rows);
    let shown: Vec<&Row> = all().filter(|row| answer::is_headline(row)).collect();
    let heads = ["", "floor", "mean", "CV", "disturbed"].map(str::to_owned).to_vec();
    let marked = |row: &&Row| {
        let mut cells = cells(row);
        if is_median(row) {
            cells[1].insert(0, '~');
        }
        cells
    };
    let cells = std::iter::once(heads).chain(shown.iter().map(marked));
    let contended = |at: usize| at.checked_sub(1).is_some_and(|at| shown[at].contended.is_some());
    out.push('\n');
    for (at, line) in grid::lines(cells, 1..=4).into_iter().enumerate() {
        let style = match at {
            0 => HEADING,
            at if contended(at) => MARK,
            _ => Style::new(),
        };
        let mark = if contended(at) { " *" } else { "" };
        let _ = writeln!(out, "{style}{line}{mark}{style:#}");
    }
    let any = shown.iter().any(|row| row.contended.is_some());
    let rest = format!(
        "{}{}floor: 10th percentile of short batches, or the median of latencies; mean: of all; {}: all {} figures; {}: what could cost less",
        if any { "* contended; " } else { "" },
        if shown.iter().any(|row| is_median(row)) { "~ median: too few batches for a floor; " } else { "" },
        crate::command("show"),
        all().count(),
        crate::command("doctor")
    );
    let _ = writeln!(out, "\n{}", wrapped(&rest, 0).join("\n"));
}

/// The findings, without what the line of trust says where there is one; in short the first of them.
fn notes(out: &mut String, model: &Model, is_short: bool) {
    let shown = |one: &&Finding| !(answer::is_given(model) && matches!(one, Finding::Contended { .. }));
    let most = if is_short { FIRST } else { usize::MAX };
    let mut left = if is_short { LINES } else { usize::MAX };
    for (number, one) in model.findings.iter().filter(shown).take(most).enumerate() {
        let lines = wrapped(&finding::text(one), 4);
        if number == 0 {
            let _ = writeln!(out, "\n{HEADING}Notes{HEADING:#}");
        } else if lines.len() > left {
            break;
        }
        left = left.saturating_sub(lines.len());
        let _ = writeln!(out, "  {MARK}-{MARK:#} {}", lines.join("\n").trim_start());
    }
}

/// A fact of the environment: name, value, source.
pub(crate) fn fact(known: &FactLine) -> (String, String, &str) {
    let name = format!("{}{}", known.name, if known.at_end { " at the end" } else { "" });
    let missing = || format!("unknown: {}", known.missing.as_deref().unwrap_or("not recorded"));
    (name, known.value.clone().unwrap_or_else(missing), &known.source)
}

/// The header: the machine and the instrument.
#[must_use]
pub fn header(h: &Header) -> String {
    format!("{}\n{}", machine(h), instrument(h)).trim_end().to_owned()
}

/// The machine and how it was measured, and what changed meanwhile.
#[must_use]
pub fn machine(h: &Header) -> String {
    let mut parts = vec![h.host.clone().unwrap_or_else(|| h.name.clone())];
    if let Some(tool) = &h.imported {
        parts.push(h.system_release());
        parts.push(format!("{} measured by {tool}, imported", number::count(h.rounds, "run")));
        return joined(&parts);
    }
    let cpu = h.cpu_model.clone().unwrap_or_else(|| "unknown CPU".to_owned());
    let guest = h.virtualisation.as_ref().map_or(String::new(), |v| format!(", {v} guest"));
    let cpus = match (h.cpus, h.cpus_allowed) {
        (Some(all), Some(some)) if some < all => format!("{some} of {all} CPUs allowed"),
        (Some(all), _) | (None, Some(all)) => format!("{all} CPUs"),
        (None, None) => "CPUs unknown".to_owned(),
    };
    parts.push(h.guest.as_ref().map_or_else(|| format!("{cpu}, {cpus}{guest}"), emulated));
    parts.push(h.system_release());
    let configured = h.hz_configured.map_or("HZ unknown".to_owned(), |hz| format!("HZ {hz}"));
    let measured = h.hz_measured.map_or("not measured".to_owned(), |hz| format!("{hz:.3} measured"));
    parts.push(format!("{configured} ({measured})"));
    parts.push(format!("clock source {}", h.clock_source.as_deref().unwrap_or("unknown")));
    if let Some(settled) = &h.settled {
        let priority = match settled.priority {
            tickmark_wire::Priority::Other => String::new(),
            other => format!(" at {other}"),
        };
        parts.push(format!("{} on CPU {}{priority}", number::count(h.rounds, "run"), settled.cpu));
    }
    parts.push(format!("{:.0} s", h.seconds));
    std::iter::once(joined(&parts)).chain(changed(h)).collect::<Vec<_>>().join("\n")
}

/// What the agent's own clock costs, in lines.
#[must_use]
pub fn instrument(h: &Header) -> String {
    let mut text = String::new();
    if let Some(i) = h.instrument {
        let clock = match i.clock {
            tickmark_wire::StampClock::Tsc => "TSC",
            tickmark_wire::StampClock::Cntvct => "CNTVCT_EL0",
            tickmark_wire::StampClock::Monotonic => "CLOCK_MONOTONIC",
            tickmark_wire::StampClock::Other(word) => word.as_str(),
        };
        let ns = |p: tickmark_wire::Picos| number::time(p.as_nanos_f64());
        let mut parts = vec![
            format!("instrument: {clock}, step {}", ns(i.precision)),
            format!("timestamp cost {}", ns(i.stamp)),
            format!("loop overhead {}", ns(i.empty_iteration)),
        ];
        parts.extend(h.gigahertz.map(|[_, middle, _]| format!("{middle:.2} GHz effective")));
        parts.extend(
            h.cpu_time_has_interrupts
                .map(|has| format!("CPU time {} interrupts", if has { "includes" } else { "without" })),
        );
        let _ = writeln!(text, "{}", joined(&parts));
    }
    text
}

/// A line for each thing that changed while it was measured.
pub fn changed(h: &Header) -> impl Iterator<Item = String> {
    h.changed.iter().map(|(what, runs)| {
        format!("changed while it was measured: {what} (in {})", number::count(*runs as u32, "run"))
    })
}

/// Parts with dots between them, in lines that do not wrap.
fn joined(parts: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + part.chars().count() <= grid::width() => {
                line.push_str(" · ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines.join("\n")
}

fn emulated(guest: &Guest) -> String {
    let memory = guest.memory.as_deref().unwrap_or("unknown memory");
    let model = guest.model.as_deref().unwrap_or("its times are the host's");
    format!("guest on {}, {memory} ({model})", guest.machine)
}

fn rows(out: &mut String, model: &Model, is_many: bool) {
    let groups: Vec<(&str, Vec<&Row>)> = model
        .groups
        .iter()
        .map(|(group, rows)| (group.title(), rows.iter().collect::<Vec<_>>()))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let all = || groups.iter().flat_map(|(_, rows)| rows.iter().copied());
    let titles = groups.iter().map(|(title, _)| title.chars().count());
    let mut heads = ["", "floor", "mean", "CV", "disturbed"].map(str::to_owned).to_vec();
    // Room for the groups' names, which stand there.
    heads[0] = "\u{a0}".repeat(titles.max().unwrap_or(0));
    let usual = UsualCaveats::of(&all().collect::<Vec<_>>(), is_many);
    let signed = |row: &Row| {
        let mut cells = cells(row);
        if usual.median && is_median(row) {
            cells[1].insert(0, '~');
        }
        cells
    };
    let all_cells: Vec<Vec<String>> = all().map(signed).collect();
    let width = |column: usize| {
        let widths = all_cells.iter().chain([&heads]).map(|cells| cells[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let sign = if usual.contended { 4 } else { 2 };
    let room =
        grid::width().saturating_sub((1..=4).map(|column| 2 + width(column)).sum::<usize>() + sign).max(16);
    let room = room.min(TITLE);
    // Titles that leave no room for figures stand in a line of their own.
    let is_long = |row: &Row| row.title.trim().chars().count() > room;
    let cells = all().zip(&all_cells).map(|(row, cells)| {
        if is_long(row) { [vec![String::new()], cells[1..].to_vec()].concat() } else { cells.clone() }
    });
    let mut lines = grid::lines(std::iter::once(heads).chain(cells), 1..=4).into_iter();
    let columns = lines.next().unwrap_or_default().replace('\u{a0}', " ");
    for (title, rows) in &groups {
        // The group's name lies over the empty first cell of the line that names the columns.
        let rest = columns.get(title.len()..).unwrap_or_default();
        let _ = writeln!(out, "\n{HEADING}{title}{rest}{HEADING:#}");
        let mut repeated = 0;
        for (at, (row, line)) in rows.iter().zip(&mut lines).enumerate() {
            if at.checked_sub(1).is_some_and(|before| is_repetition(rows[before], row)) {
                repeated += 1;
                if rows.get(at + 1).is_none_or(|next| !is_repetition(row, next)) {
                    let more = number::count(std::mem::take(&mut repeated), "more figure");
                    let _ = writeln!(out, "{MARK}      and {more} for the same reason{MARK:#}");
                }
                continue;
            }
            let marked = row.contended.is_some() || !matches!(row.status, RowStatus::Ok);
            let style = if marked { MARK } else { Style::new() };
            let sign = if usual.contended && is_contended(row) { " *" } else { "" };
            let notes = reason::all(row, usual).join("; ");
            if is_long(row) {
                let _ = writeln!(out, "{style}  {}{style:#}", row.title.trim());
            }
            let line = format!("{line:width$}{sign}", width = columns.len()).trim_end().to_owned();
            let signed = columns.len() + if usual.contended { 2 } else { 0 };
            let beside = format!("{line:signed$}  {notes}");
            let shown = match beside.chars().count() <= grid::width() || notes.is_empty() {
                true => beside.trim_end().to_owned(),
                // What has no room beside the figures stands below them.
                false => std::iter::once(line).chain(wrapped(&notes, 6)).collect::<Vec<_>>().join("\n"),
            };
            let _ = writeln!(out, "{style}{shown}{style:#}");
        }
    }
    let (shown, count) = (all().count(), all().filter(|row| row.apart.slices > 0).count());
    let most = all().map(|row| row.apart.slices).max().unwrap_or(0);
    let said = [
        (
            usual.contended,
            format!(
                "* contended ({} of {shown} rows): other tasks had a part of the CPU in some of the row's runs",
                all().filter(|row| is_contended(row)).count()
            ),
        ),
        (
            usual.median,
            format!(
                "~ median ({} of {shown} rows): batches are too few for a floor",
                all().filter(|row| is_median(row)).count()
            ),
        ),
        (
            usual.preempted,
            format!(
                "Batches during which another task had the CPU are excluded, and counted: up to {most} of a row, in {count} of {shown} rows"
            ),
        ),
    ];
    for (_, text) in said.iter().filter(|(is_usual, _)| *is_usual) {
        let _ = writeln!(out, "\n{}", wrapped(text, 0).join("\n"));
    }
    if model.groups.is_empty() {
        return;
    }
    let legend = match &model.header.imported {
        Some(tool) => format!(
            "floor: the median of what {tool} printed for each run, as it defines it; what disturbed it is unknown; CV: standard deviation between runs, over the floor"
        ),
        None => "floor: 10th percentile of short batches, without ticks (or what the note says: median latency, smallest step); mean: over all runs, of all batches but those that a note says are excluded; CV: standard deviation between runs, over the floor; disturbed: share of the batches".to_owned(),
    };
    let _ = writeln!(out, "\n{}", wrapped(&legend, 0).join("\n"));
}

/// True if two rows have no figure for the same reason.
fn is_repetition(before: &Row, row: &Row) -> bool {
    let why =
        |row: &Row| row.value.is_none().then(|| (row.status, reason::all(row, UsualCaveats::default())));
    why(before).is_some_and(|(status, notes)| {
        !notes.is_empty() && why(row).is_some_and(|own| own == (status, notes))
    })
}

fn cells(row: &Row) -> Vec<String> {
    let empty = String::new;
    let value = |v: f64, deviation| number::value(v, deviation, row.unit);
    let shown = match (&row.value, row.status) {
        (Some(estimate), _) => value(estimate.point, row.deviation),
        (None, RowStatus::Missing) => "-".to_owned(),
        (None, status) => reason::status(status).to_owned(),
    };
    vec![
        format!("  {}", row.title.trim()),
        shown,
        row.mean.map_or_else(empty, |mean| value(mean, row.mean_deviation)),
        row.cv().map_or_else(
            || if row.states().is_some() { "2 states".to_owned() } else { empty() },
            number::percent,
        ),
        row.disturbed.map_or_else(empty, number::percent),
    ]
}

fn in_detail(out: &mut String, detail: &Detail) {
    let _ = writeln!(out, "\n{HEADING}{}{HEADING:#}", detail.metric);
    for (round, value) in &detail.runs {
        let _ = writeln!(out, "  round {round}: {}", number::value(*value, Some(0.0), detail.unit));
    }
    for (size, floor) in &detail.curve {
        let _ = writeln!(out, "  {:>9} {}", number::bytes(*size as f64), number::time(*floor));
    }
    if detail.percentiles.len() > 1 && detail.histogram.len() > 1 {
        for (share, value) in &detail.percentiles {
            let name = match *share {
                0.0 => "min".to_owned(),
                1.0 => "max".to_owned(),
                s => format!("p{}", s * 100.0),
            };
            let _ = writeln!(out, "  {name:>6} {}", number::time(*value));
        }
        let most = detail.histogram.iter().map(|bin| bin.count).max().unwrap_or(1);
        for bin in &detail.histogram {
            let bar = "#".repeat((bin.count as f64 * 50.0 / most as f64).ceil() as usize);
            let (from, to) = (number::time(bin.from), number::time(bin.to));
            let _ = writeln!(out, "  {from:>9} to {to:>9} {:>7} {bar}", bin.count);
        }
    }
}

//! The model as text for a person.

use super::detail::Detail;
use super::header::Header;
use super::model::Model;
use super::number;
use super::row::{Row, RowStatus};
use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write;

const HEADING: Style = Style::new().bold();
const MARK: Style = AnsiColor::Yellow.on_default();

/// The whole model, with colours that the output stream strips where they are not wanted.
pub(crate) fn render(model: &Model, environment: bool) -> String {
    let mut out = format!("{}\n", header(&model.header));
    rows(&mut out, model);
    for detail in &model.details {
        in_detail(&mut out, detail);
    }
    if environment {
        let _ = writeln!(out, "\n{HEADING}Environment{HEADING:#}");
        for (name, value, source) in &model.environment {
            let _ = writeln!(out, "  {name} = {value}  [{source}]");
        }
    }
    if !model.remarks.is_empty() {
        let _ = writeln!(out, "\n{HEADING}Remarkable{HEADING:#}");
        for remark in &model.remarks {
            let _ = writeln!(out, "  {MARK}-{MARK:#} {remark}");
        }
    }
    out
}

fn header(h: &Header) -> String {
    let mut parts = vec![h.host.clone().unwrap_or_else(|| h.name.clone())];
    if let Some(tool) = &h.imported {
        parts.push(format!("Linux {}", h.kernel.as_deref().unwrap_or("unknown")));
        parts.push(format!("{} measured by {tool}, imported", number::count(h.rounds, "run")));
        return parts.join(" · ");
    }
    let cpu = h.cpu_model.clone().unwrap_or_else(|| "unknown CPU".to_owned());
    let guest = h.virtualisation.as_ref().map_or(String::new(), |v| format!(", {v} guest"));
    let cpus = match (h.cpus, h.cpus_allowed) {
        (Some(all), Some(some)) if some < all => format!("{some} of {all} CPUs allowed"),
        (Some(all), _) | (None, Some(all)) => format!("{all} CPUs"),
        (None, None) => "CPUs unknown".to_owned(),
    };
    parts.push(h.guest.clone().unwrap_or_else(|| format!("{cpu}, {cpus}{guest}")));
    parts.push(format!("Linux {}", h.kernel.as_deref().unwrap_or("unknown")));
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
    let mut text = parts.join(" · ");
    if let Some(i) = h.instrument {
        let clock = match i.clock {
            tickmark_wire::StampClock::Tsc => "TSC",
            tickmark_wire::StampClock::Monotonic => "CLOCK_MONOTONIC",
        };
        let ns = |p: tickmark_wire::Picos| number::time(p.as_nanos_f64());
        let speed =
            h.gigahertz.map_or(String::new(), |[_, middle, _]| format!(" · {middle:.2} GHz effective"));
        let interrupts = match h.cpu_time_has_interrupts {
            Some(true) => " · CPU time includes interrupts",
            Some(false) => " · CPU time without interrupts",
            None => "",
        };
        let _ = write!(
            text,
            "\ninstrument: {clock}, step {}, a stamp {}, an empty iteration {}{speed}{interrupts}",
            ns(i.precision),
            ns(i.stamp),
            ns(i.empty_iteration)
        );
    }
    text
}

fn rows(out: &mut String, model: &Model) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.add_row(["", "cost", "mean", "spread", "disturbed", ""]);
    for row in model.groups.iter().flat_map(|(_, rows)| rows) {
        table.add_row(cells(row));
    }
    for column in 1..=4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let mut lines = lines.iter();
    let columns = lines.next().cloned().unwrap_or_default();
    for (group, rows) in &model.groups {
        // The group's name lies over the empty first cell of the line that names the columns.
        let title = group.title();
        let rest = columns.get(title.len()..).unwrap_or_default();
        let _ = writeln!(out, "\n{HEADING}{title} {rest}{HEADING:#}");
        for (row, line) in rows.iter().zip(&mut lines) {
            let marked = row.contended.is_some() || !matches!(row.status, RowStatus::Ok);
            let style = if marked { MARK } else { Style::new() };
            let _ = writeln!(out, " {style}{line}{style:#}");
        }
    }
    match &model.header.imported {
        _ if model.groups.is_empty() => {}
        Some(tool) => {
            let _ = writeln!(
                out,
                "\ncost: the median of what {tool} printed for each run, as it defines it; what disturbed it is not known;\n\
                 spread: standard deviation between runs"
            );
        }
        None => out.push_str(
            "\ncost: 10th percentile of short batches, without ticks (or what the row says: median lateness, smallest\n\
             step); mean: ticks and all else included;\n\
             spread: standard deviation between runs; disturbed: share of the batches\n",
        ),
    }
}

fn cells(row: &Row) -> [String; 6] {
    let empty = String::new;
    let value = |v: f64, deviation| number::value(v, deviation, row.unit);
    let shown = match (&row.value, row.status) {
        (Some(estimate), _) => value(estimate.point, row.deviation),
        (None, RowStatus::Unsupported) => "unsupported".to_owned(),
        (None, RowStatus::Timeout) => "timed out".to_owned(),
        (None, RowStatus::Missing) => "-".to_owned(),
        (None, RowStatus::Unknown) => "not known".to_owned(),
        (None, _) => "failed".to_owned(),
    };
    [
        row.title.clone(),
        shown,
        row.mean.map_or_else(empty, |mean| value(mean, row.mean_deviation)),
        row.spread().map_or_else(empty, number::percent),
        row.disturbed.map_or_else(empty, number::percent),
        row.remarks().join("; "),
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
            let bar = "#".repeat((bin.count * 50).div_ceil(most));
            let (from, to) = (number::time(bin.from), number::time(bin.to));
            let _ = writeln!(out, "  {from:>9} to {to:>9} {:>7} {bar}", bin.count);
        }
    }
}

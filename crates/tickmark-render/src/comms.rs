//! Messages by their sizes, and what they cost the processor, as text, JSON, columns and plots.

mod document;
pub(crate) mod settings;
mod words;

use crate::fold::wrapped;
use crate::grid::fitting_table;
use crate::number::{bytes, percent, time, value};
use crate::plot::{Axis, Plot, Series};
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::comms::{Comms, CommsSummary, Document, Latency, Load, Row, contrasts, laws};
use tickmark_stats::Interval;
use tickmark_wire::Unit;

const HEADING: Style = Style::new().bold();
/// More rows than this are thinned to powers of two.
const MOST: usize = 24;

fn rate(bytes_a_second: f64) -> String {
    value(bytes_a_second, None, Unit::Throughput.into())
}

fn share(share: Option<f64>) -> String {
    match share {
        None => "-".to_owned(),
        Some(share) if share < 0.0 => format!("-{}", percent(-share)),
        Some(0.0) => "0 %".to_owned(),
        Some(share) => percent(share),
    }
}

fn measured(all: &[Comms]) -> impl Iterator<Item = (&Comms, &CommsSummary)> {
    all.iter().filter_map(|comms| Some((comms, comms.summary.as_ref().ok()?)))
}

/// A table for each benchmark, what its model says, and how the meters agree.
#[must_use]
pub fn text(all: &[Comms]) -> String {
    let mut out = String::new();
    for comms in all {
        let _ = writeln!(
            out,
            "{HEADING}{}{HEADING:#}{}",
            comms.title,
            if comms.divisor == 1.0 {
                String::new()
            } else {
                format!(" (a message: round trip / {})", comms.divisor)
            }
        );
        match &comms.summary {
            Err(why) => {
                let _ = writeln!(out, "{}", wrapped(&format!("not measured: {why}"), 0).join("\n"));
            }
            Ok(observed) => write_summary(&mut out, observed),
        }
        let _ = writeln!(out);
    }
    if let Some(document) = tickmark_analysis::comms::document(all) {
        document::text(&mut out, all, &document);
        // Figure 11.
        out.extend(figure(all, &document).map(|plot| plot.text(72, 16) + "\n"));
    }
    for law in laws(all) {
        words::law(&mut out, &law);
    }
    settings::table(&mut out, &contrasts(all));
    if launches(all) > 0 {
        for line in wrapped(&words::notes(launches(all)), 0) {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// The tables of the document of 1998, with the laws behind them; empty where nothing of it was measured.
#[must_use]
pub fn document_tables(all: &[Comms]) -> String {
    let mut out = String::new();
    if let Some(document) = tickmark_analysis::comms::document(all) {
        document::text(&mut out, all, &document);
        for law in laws(all) {
            words::law(&mut out, &law);
        }
        settings::table(&mut out, &contrasts(all));
    }
    out
}

/// The figures of the document of 1998: 11, and 6.
#[must_use]
pub fn document_figures(all: &[Comms]) -> Vec<Plot> {
    let eleven = tickmark_analysis::comms::document(all).and_then(|document| figure(all, &document));
    eleven.into_iter().chain(packets_figure(all)).collect()
}

/// The answer in a sentence: the smallest and the largest message, and what they cost.
fn answer(observed: &CommsSummary) -> Option<String> {
    let (first, last) = (observed.rows.first()?, observed.rows.last()?);
    let mut text = format!("a message of {} takes {}", bytes(first.size as f64), time(first.time));
    if last.size != first.size {
        let _ = write!(
            text,
            ", one of {} takes {} ({})",
            bytes(last.size as f64),
            time(last.time),
            rate(last.rate())
        );
    }
    let loads = || observed.rows.iter().filter_map(|row| row.loads.first()?.gaps);
    if let (Some(least), Some(most)) = (loads().reduce(f64::min), loads().reduce(f64::max)) {
        let _ = write!(
            text,
            "; they take {} to {} of the CPU that computes",
            share(Some(least)),
            share(Some(most))
        );
    }
    Some(text)
}

fn write_summary(out: &mut String, observed: &CommsSummary) {
    for line in answer(observed).iter().flat_map(|text| wrapped(text, 2)) {
        let _ = writeln!(out, "{line}");
    }
    let computes =
        observed.rows.iter().flat_map(|row| &row.loads).any(|load| load.gaps.is_some() || load.windows.1 > 0);
    let mut heading = vec!["bytes", "time", "+-", "rate", "round trip", "p99"];
    if computes {
        heading.extend(["load", "p10-p90", "counter"]);
    }
    heading.extend(["tasks", "stat"]);
    if observed.cpus.len() > 1 {
        heading.push(if computes { "load there" } else { "tasks there" });
    }
    let row = |row: &Row| {
        let launches = row
            .launches
            .map_or_else(|| "-".to_owned(), |Interval { low, high }| percent((high - low) / 2.0 / row.time));
        let p99 = row.whole.quantiles[1].1.map_or_else(|| "-".to_owned(), time);
        let mut cells = vec![
            row.size.to_string(),
            time(row.time),
            launches,
            rate(row.rate()),
            time(row.whole.median),
            p99,
        ];
        let none = Load::default();
        let load = row.loads.first().unwrap_or(&none);
        if computes {
            let ends = load.ends.map_or_else(
                || "-".to_owned(),
                |(low, high)| format!("{:.0}-{:.0}", low * 100.0, high * 100.0),
            );
            cells.extend([share(load.gaps), ends, share(load.counter)]);
        }
        cells.extend([share(load.tasks), share(load.stat)]);
        if let Some(there) = row.loads.get(1) {
            cells.push(share(if computes { there.gaps } else { there.tasks }));
        }
        cells
    };
    let shown = observed.rows.iter().filter(|row| observed.rows.len() <= MOST || row.size.is_power_of_two());
    let right: Vec<usize> = (0..heading.len()).collect();
    // What is left out first: the account that is known to be wrong, then what stands beside others.
    let rank = ["stat", "p10-p90", "counter", "+-", "p99", "round trip", "tasks"];
    let droppable: Vec<usize> =
        rank.iter().filter_map(|name| heading.iter().position(|head| head == name)).collect();
    let heading = heading.into_iter().map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = std::iter::once(heading).chain(shown.map(row)).collect();
    fitting_table(out, &rows, &right, &droppable);
    let _ = writeln!(out, "{}", wrapped(&words::model(observed), 0).join("\n"));
    for sentence in words::meters(observed) {
        let _ = writeln!(out, "{}", wrapped(&sentence, 0).join("\n"));
    }
}

/// The most launches that any has.
fn launches(all: &[Comms]) -> usize {
    measured(all).map(|(_, observed)| observed.runs).max().unwrap_or(0)
}

/// For gnuplot: a block for each benchmark; bytes, time of a message (ns), rate (bytes a second), load by gaps, by counter, CPU time of the tasks (shares; ? where there
/// is none).
#[must_use]
pub fn values(all: &[Comms]) -> String {
    let mut out = String::new();
    for (comms, observed) in measured(all) {
        let _ = writeln!(out, "# {}\n# bytes time_ns rate load counter tasks", comms.title);
        for row in &observed.rows {
            let load = row.loads.first();
            let cell = |of: fn(&Load) -> Option<f64>| {
                load.and_then(of).map_or_else(|| "?".to_owned(), |share| share.to_string())
            };
            let _ = writeln!(
                out,
                "{} {} {} {} {} {}",
                row.size,
                row.time,
                row.rate(),
                cell(|load| load.gaps),
                cell(|load| load.counter),
                cell(|load| load.tasks)
            );
        }
        out += "\n\n";
    }
    out
}

/// Rate by size, and load by size where something computed: all benchmarks in one plot each.
#[must_use]
pub fn plots(all: &[Comms]) -> Vec<Plot> {
    let plot = |title: &str, y: Axis, of: fn(&Row) -> Option<f64>| {
        let series = |(comms, observed): (&Comms, &CommsSummary)| {
            let point = |row: &Row| Some((row.size as f64, of(row)?));
            let points: Vec<(f64, f64)> = observed.rows.iter().filter_map(point).collect();
            (!points.is_empty()).then(|| Series::line(&comms.title, points))
        };
        let series: Vec<Series> = measured(all).filter_map(series).collect();
        let x = Axis::octaves("size of a message", bytes);
        (!series.is_empty()).then(|| Plot { title: title.to_owned(), x, y, series })
    };
    let plots = [
        plot("Rate by size", Axis::log("rate", rate), |row| Some(row.rate())),
        plot("Load by size", Axis::linear("load", percent), |row| row.loads.first()?.gaps),
    ];
    let document = tickmark_analysis::comms::document(all);
    let eleven = document.and_then(|document| figure(all, &document));
    plots.into_iter().flatten().chain(eleven).collect()
}

/// The document's figure 6: rate by size for packets of each size, Comms1 with its limit.
fn packets_figure(all: &[Comms]) -> Option<Plot> {
    let own =
        |comms: &Comms, name: &str, value: &str| comms.arguments.get(name).is_some_and(|own| own == value);
    let series = |(comms, observed): (&Comms, &CommsSummary)| {
        let is_limited = comms.arguments.get("rate").is_some_and(|rate| rate != "0");
        let mtu = comms.mtu.filter(|_| own(comms, "benchmark", "comms1") && is_limited)?;
        let points: Vec<(f64, f64)> = observed.rows.iter().map(|row| (row.size as f64, row.rate())).collect();
        (points.len() > 1).then(|| Series::line(format!("packets of {mtu}"), points))
    };
    let series: Vec<Series> = measured(all).filter_map(series).collect();
    (!series.is_empty()).then(|| Plot {
        title: "Figure 6 again: rate by size, Comms1, by packet size".to_owned(),
        x: Axis::octaves("size of a message", bytes),
        y: Axis::log("rate", rate),
        series,
    })
}

/// The document's figure 11: rate by size without computation, beside a thread, beside a process.
fn figure(all: &[Comms], document: &Document) -> Option<Plot> {
    let series = |row: &Latency| {
        let observed = all.get(row.at)?.summary.as_ref().ok()?;
        let points = observed.rows.iter().map(|row| (row.size as f64, row.rate())).collect();
        Some(Series::line(format!("beside {}", document::words(&row.computes)), points))
    };
    let series: Vec<Series> = document.latencies.iter().filter_map(series).collect();
    (!series.is_empty()).then(|| Plot {
        title: "Figure 11 again: rate by size, Comms2, packets of 4096".to_owned(),
        x: Axis::octaves("size of a message", bytes),
        y: Axis::log("rate", rate),
        series,
    })
}

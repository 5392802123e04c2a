//! The ten tables of one recording or of several, as lmbench's summary lays them out.

use super::layout::{Column, LOAD, TABLES};
use super::number::{rounded, step, to_step};
use crate::report::{Each, Model, Row, RowStatus};
use crate::store::Recording;
use anstyle::Style;
use serde::Serialize;
use std::fmt::Write;

const HEADING: Style = Style::new().bold();

/// All tables that hold a figure.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    /// "mean", with ticks and all that happened, or "floor".
    pub(crate) figures: &'static str,
    pub(crate) tables: Vec<Filled>,
    /// Titles of tables without any figure.
    pub(crate) without: Vec<String>,
    /// Metrics that gave no figure, and why.
    pub(crate) missing: Vec<Missing>,
}

/// One table.
#[derive(Debug, Serialize)]
pub(crate) struct Filled {
    pub(crate) title: String,
    pub(crate) columns: Vec<Head>,
    pub(crate) systems: Vec<System>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Head {
    pub(crate) head: [&'static str; 2],
    pub(crate) metric: &'static str,
}

/// The rows of one recording.
#[derive(Debug, Serialize)]
pub(crate) struct System {
    pub(crate) name: String,
    pub(crate) os: String,
    /// A row a run, a figure a column.
    pub(crate) rows: Vec<Vec<Option<f64>>>,
    /// What one step of the last digit is worth, a column each.
    pub(crate) steps: Vec<f64>,
    /// Averages of the rows, rounded to the step.
    pub(crate) average: Vec<Option<f64>>,
    /// Against the first system, from the rounded averages, in per cent.
    pub(crate) percent: Option<Vec<Option<f64>>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Missing {
    pub(crate) system: String,
    pub(crate) metric: String,
    pub(crate) why: String,
}

/// Fills the tables; of several recordings the first is what the others are compared with.
pub(crate) fn page(recordings: &[(&Recording, &Model)], floor: bool) -> Page {
    let mut page = Page {
        figures: if floor { "floor" } else { "mean" },
        tables: Vec::new(),
        without: Vec::new(),
        missing: Vec::new(),
    };
    for table in TABLES {
        let mut systems: Vec<System> = Vec::new();
        for (recording, model) in recordings {
            let system = system(recording, model, table.columns, floor);
            let percent = systems.first().map(|base| percent(base, &system));
            systems.push(System { percent, ..system });
        }
        // The clock rate stands in several tables; alone it fills none.
        let says = |(index, column): (usize, &Column)| {
            (column.metric != LOAD && (index > 0 || table.unit.is_empty()))
                && systems.iter().any(|system| system.average[index].is_some())
        };
        let title = format!("{} {}", table.title, table.unit).trim().to_owned();
        if !table.columns.iter().enumerate().any(says) {
            page.without.push(title);
            continue;
        }
        let columns = table.columns.iter().map(|c| Head { head: c.head, metric: c.metric }).collect();
        page.tables.push(Filled { title, columns, systems });
    }
    for (recording, model) in recordings {
        let rows = model.groups.iter().flat_map(|(_, rows)| rows);
        let silent =
            rows.filter(|row| row.value.is_none() && super::metrics().any(|c| c.metric == row.metric));
        page.missing.extend(silent.map(|row| Missing {
            system: recording.meta.name.clone(),
            metric: row.metric.clone(),
            why: format!("{}: {}", ended(row.status), row.notes.join("; ")),
        }));
    }
    page
}

fn ended(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Unsupported => "unsupported",
        RowStatus::Timeout => "timed out",
        RowStatus::Missing => "not run",
        RowStatus::Ok | RowStatus::Partly | RowStatus::Failed => "failed",
    }
}

fn system(recording: &Recording, model: &Model, columns: &[Column], floor: bool) -> System {
    let rows: Vec<Option<&Row>> = columns
        .iter()
        .map(|column| model.groups.iter().flat_map(|(_, rows)| rows).find(|row| row.metric == column.metric))
        .collect();
    let figure = |each: &Each, column: &Column| {
        // What a machine is has no ticks in it.
        let mean = column.unit == tickmark_wire::Unit::Time || column.unit == tickmark_wire::Unit::Throughput;
        (if mean && !floor { each.mean } else { each.value }) / column.scale
    };
    let rounds = recording.runs.iter().map(|run| run.planned.round).max().unwrap_or(0);
    let cell = |round: u32, index: usize| {
        let column = &columns[index];
        if column.metric == LOAD && recording.imported.is_none() {
            return (recording.at_once > 0).then_some(f64::from(recording.at_once));
        }
        let each = rows[index]?.each.iter().find(|each| each.round == round)?;
        Some(figure(each, column))
    };
    let cells: Vec<Vec<Option<f64>>> =
        (1..=rounds).map(|round| (0..columns.len()).map(|index| cell(round, index)).collect()).collect();
    let of = |index: usize| cells.iter().filter_map(|row| row[index]).collect::<Vec<f64>>();
    let mean = |index: usize| tickmark_stats::spread(&of(index));
    let steps: Vec<f64> = (0..columns.len())
        .map(|index| {
            let printed = rows[index].and_then(|row| {
                row.each
                    .iter()
                    .filter_map(|each| each.step)
                    .max_by(f64::total_cmp)
                    .map(|s| s / columns[index].scale)
            });
            printed.unwrap_or_else(|| mean(index).map_or(1.0, |s| step(s.mean, s.deviation)))
        })
        .collect();
    let average =
        (0..columns.len()).map(|index| mean(index).map(|s| rounded(s.mean, steps[index]))).collect();
    System {
        name: recording.meta.name.clone(),
        os: model.header.kernel.as_ref().map_or_else(String::new, |kernel| format!("Linux {kernel}")),
        rows: cells,
        steps,
        average,
        percent: None,
    }
}

/// What the averages of a system are against those of the first, in per cent: from the averages as they are
/// printed, as pages of lmbench have it.
fn percent(base: &System, other: &System) -> Vec<Option<f64>> {
    let pairs = base.average.iter().zip(&other.average);
    pairs.map(|(base, other)| Some((((*other)? / (*base)?) - 1.0) * 100.0)).collect()
}

/// A percentage as pages of lmbench print it.
pub(super) fn percent_cell(percent: f64) -> String {
    match format!("{percent:+.1}").as_str() {
        "+0.0" | "-0.0" => "+-0".to_owned(),
        text => text.to_owned(),
    }
}

/// The page as text.
pub(crate) fn render(page: &Page) -> String {
    let mut out = String::new();
    for table in &page.tables {
        let _ = writeln!(out, "\n{HEADING}{}{HEADING:#}", table.title);
        lines(&mut out, table);
    }
    let what = match page.figures {
        "mean" => "mean costs, ticks and all else included (--floor has the costs without ticks)",
        _ => "floors: the 10th percentile of short batches, without ticks",
    };
    let _ = writeln!(out, "\n{what}; one row a run. Nothing here says that a difference is real.");
    if !page.without.is_empty() {
        let _ = writeln!(out, "not measured: {}", page.without.join("; "));
    }
    for missing in &page.missing {
        let _ = writeln!(out, "-: {} {} {}", missing.system, missing.metric, missing.why);
    }
    out
}

fn lines(out: &mut String, table: &Filled) {
    let mut grid: Vec<Vec<String>> = vec![Vec::new(), Vec::new()];
    for line in 0..2 {
        let label = [["Host", "OS"], ["", ""]][line];
        grid[line].extend(label.map(str::to_owned));
        grid[line].extend(table.columns.iter().map(|column| column.head[line].to_owned()));
    }
    for system in &table.systems {
        let shown = |cells: &[Option<f64>]| -> Vec<String> {
            let cell = |(cell, step): (&Option<f64>, &f64)| {
                cell.map_or_else(|| "-".to_owned(), |v| to_step(v, *step))
            };
            cells.iter().zip(&system.steps).map(cell).collect()
        };
        for row in &system.rows {
            grid.push([vec![system.name.clone(), system.os.clone()], shown(row)].concat());
        }
        let average = vec![system.name.clone(), "average".to_owned()];
        grid.push([average, shown(&system.average)].concat());
        if let Some(percent) = &system.percent {
            let cells = percent.iter().map(|p| p.map_or_else(|| "-".to_owned(), percent_cell));
            let base = table.systems.first().map_or("", |base| base.name.as_str());
            grid.push([format!("against {base}"), "%".to_owned()].into_iter().chain(cells).collect());
        }
    }
    let width = |column: usize| grid.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.columns.len() + 2).map(width).collect();
    for line in &grid {
        let mut text = String::new();
        for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = if index < 2 { write!(text, "{cell:width$}  ") } else { write!(text, "{cell:>width$} ") };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

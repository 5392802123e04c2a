//! The ten tables of one recording or of several, as lmbench's summary lays them out.

use crate::report::{self, Each, Model, Row, RowStatus};
use anstyle::Style;
use serde::Serialize;
use std::fmt::Write;
use tickmark_import::lmbench::{Column, LOAD, TABLES, percent_cell, rounded, step, to_step};
use tickmark_store::Recording;
use tickmark_wire::Better;

const HEADING: Style = Style::new().bold();

/// All tables that hold a figure.
#[derive(Debug, Serialize)]
pub(crate) struct Page {
    /// "mean", with ticks and all that happened; "floor"; or "imported", as another program printed them.
    pub(crate) figures: Vec<&'static str>,
    pub(crate) tables: Vec<Filled>,
    /// Titles of tables without any figure.
    pub(crate) without: Vec<String>,
    /// Metrics that gave no figure, and why.
    pub(crate) missing: Vec<Missing>,
    /// Whether all figures are counts of instructions.
    pub(crate) exact: bool,
}

/// One table.
#[derive(Debug, Serialize)]
pub(crate) struct Filled {
    pub(crate) title: String,
    pub(crate) columns: Vec<Head>,
    pub(crate) systems: Vec<System>,
    /// Per cents of another source, below the others: what they are, a figure a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) beside: Option<(String, Vec<Option<f64>>)>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Head {
    pub(crate) head: [&'static str; 2],
    pub(crate) metric: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
}

/// The rows of one recording.
#[derive(Debug, Serialize)]
pub(crate) struct System {
    pub(crate) name: String,
    pub(crate) os: String,
    /// A row a run, a figure a column.
    pub(crate) rows: Vec<Vec<Option<f64>>>,
    /// What one step of the last digit is worth, a column each: of rows and averages alike.
    pub(crate) steps: Vec<f64>,
    /// What is to be known before the figures of a column are believed, a column each.
    pub(crate) marks: Vec<Vec<String>>,
    /// Averages of the rows, rounded to their step.
    pub(crate) average: Vec<Option<f64>>,
    /// Against the first system, from the rounded averages, in per cent.
    pub(crate) percent: Option<Vec<Option<f64>>>,
    /// Which of them are more than what occasions make.
    pub(crate) real: Option<Vec<bool>>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Missing {
    pub(crate) system: String,
    pub(crate) metric: &'static str,
    pub(crate) why: String,
}

/// Fills the tables; of several recordings the first is what the others are compared with.
pub(crate) fn page(recordings: &[(&Recording, &Model)], real: &[&str], floor: bool) -> Page {
    let figures = |(recording, _): &(&Recording, &Model)| match (&recording.imported, floor) {
        (Some(_), _) => "imported",
        (None, true) => "floor",
        (None, false) => "mean",
    };
    let mut page = Page {
        figures: recordings.iter().map(figures).collect(),
        tables: Vec::new(),
        without: Vec::new(),
        missing: Vec::new(),
        exact: recordings.iter().all(|(recording, _)| crate::lab::instruction(recording).is_some()),
    };
    let names = names(recordings);
    for table in TABLES {
        let mut systems: Vec<System> = Vec::new();
        for ((recording, model), name) in recordings.iter().zip(&names) {
            let system = system(recording, model, name, table.columns, floor);
            let percent = systems.first().map(|base| percent(base, &system));
            let is = |column: &Column| {
                let metric =
                    recording.imported.as_ref().map_or(column.metric, |from| column.imported_by(&from.tool));
                real.contains(&metric)
            };
            let real = percent.is_some().then(|| table.columns.iter().map(is).collect());
            systems.push(System { percent, real, ..system });
        }
        // The clock rate stands in several tables; alone it fills none.
        let says = |(index, column): (usize, &Column)| {
            (column.metric != LOAD && (index > 0 || table.unit.is_empty()))
                && systems.iter().any(|system| system.average[index].is_some())
        };
        let title = format!("{} {}", table.title, table.unit).trim().to_owned();
        if !table.columns.iter().enumerate().any(says) {
            page.without.push(table.title.to_owned());
            continue;
        }
        for (index, column) in table.columns.iter().enumerate() {
            for ((recording, model), system) in recordings.iter().zip(&systems) {
                if system.rows.iter().any(|row| row[index].is_none()) {
                    let why = why(recording, model, column);
                    let (system, metric) = (system.name.clone(), column.metric);
                    if !page.missing.iter().any(|known| known.system == system && known.metric == metric) {
                        page.missing.push(Missing { system, metric, why });
                    }
                }
            }
            unlike(recordings, &mut systems, index, column, &mut page.missing);
        }
        let head = |c: &Column| Head { head: c.head, metric: c.metric, unit: c.unit(), better: c.better };
        page.tables.push(Filled {
            title,
            columns: table.columns.iter().map(head).collect(),
            systems,
            beside: None,
        });
    }
    page
}

/// The recordings' names; where two are called the same, with their ids.
fn names(recordings: &[(&Recording, &Model)]) -> Vec<String> {
    let name = |recording: &Recording| recording.meta.name.clone();
    let alone =
        |one: &Recording| recordings.iter().filter(|(other, _)| name(other) == name(one)).count() == 1;
    recordings
        .iter()
        .map(|(one, _)| if alone(one) { name(one) } else { format!("{} {}", name(one), one.meta.id) })
        .collect()
}

/// The row of a column in a recording.
fn row<'a>(recording: &Recording, model: &'a Model, column: &Column) -> Option<&'a Row> {
    let metric = match &recording.imported {
        Some(from) => column.imported_by(&from.tool),
        None => column.metric,
    };
    model.groups.iter().flat_map(|(_, rows)| rows).find(|row| row.metric == metric)
}

/// Why a column lacks figures of a recording.
fn why(recording: &Recording, model: &Model, column: &Column) -> String {
    if recording.imported.is_some() {
        return "not in the file".to_owned();
    }
    // A metric of several rows that failed has one row, with its own name.
    let parent = column.metric.rsplit_once('.').map_or("", |(parent, _)| parent);
    let rows = || model.groups.iter().flat_map(|(_, rows)| rows);
    let own = rows().find(|row| row.metric == column.metric);
    match own.or_else(|| rows().find(|row| row.metric == parent)) {
        Some(row) if row.value.is_none() => format!("{}: {}", ended(row.status), row.remarks().join("; ")),
        Some(row) if !row.marks.is_empty() => row.marks.join("; "),
        Some(_) => "not run yet in every round".to_owned(),
        None if recording.meta.plan.metrics.iter().any(|metric| metric.name.as_str() == parent) => {
            "the curve shows no such level".to_owned()
        }
        None => "not among what was measured".to_owned(),
    }
}

/// Figures over different sizes are no ratio.
fn unlike(
    recordings: &[(&Recording, &Model)],
    systems: &mut [System],
    index: usize,
    column: &Column,
    missing: &mut Vec<Missing>,
) {
    let rows: Vec<_> = recordings.iter().map(|(recording, model)| row(recording, model, column)).collect();
    let Some(Some(base)) = rows.first() else { return };
    for (row, system) in rows.iter().zip(systems).skip(1) {
        if let (Some(row), Some(percent)) = (row, &mut system.percent)
            && !row.same_size(base)
        {
            percent[index] = None;
            let (ours, theirs) = (report::bytes(row.over as f64), report::bytes(base.over as f64));
            let why = format!("over {ours} and not {theirs}: no percentage");
            missing.push(Missing { system: system.name.clone(), metric: column.metric, why });
        }
    }
}

fn ended(status: RowStatus) -> &'static str {
    match status {
        RowStatus::Unsupported => "unsupported",
        RowStatus::Timeout => "timed out",
        RowStatus::Missing => "not run",
        RowStatus::Unknown => "not known",
        RowStatus::Ok | RowStatus::Partly | RowStatus::Failed => "failed",
    }
}

fn system(recording: &Recording, model: &Model, name: &str, columns: &[Column], floor: bool) -> System {
    let rows: Vec<Option<&Row>> = columns.iter().map(|column| row(recording, model, column)).collect();
    let figure = |each: &Each, column: &Column| {
        // What a machine is has no ticks in it.
        let mean = column.unit == tickmark_wire::Unit::Time || column.unit == tickmark_wire::Unit::Throughput;
        (if mean && !floor { each.mean } else { each.value }) / column.scale
    };
    let rounds = recording.runs.iter().map(|run| run.planned.round).max().unwrap_or(0);
    let made: std::collections::BTreeSet<u32> =
        recording.runs.iter().map(|run| run.planned.round).filter(|round| *round > 0).collect();
    let cell = |round: u32, index: usize| {
        let column = &columns[index];
        if column.metric == LOAD && recording.imported.is_none() {
            return (recording.at_once > 0).then_some(f64::from(recording.at_once));
        }
        let each = rows[index]?.each.iter().find(|each| each.round == round)?;
        Some(figure(each, column))
    };
    let cells: Vec<Vec<Option<f64>>> =
        made.into_iter().map(|round| (0..columns.len()).map(|index| cell(round, index)).collect()).collect();
    let of = |index: usize| cells.iter().filter_map(|row| row[index]).collect::<Vec<f64>>();
    let mean = |index: usize| tickmark_stats::spread(&of(index));
    let printed = |index: usize| {
        let steps = rows[index]?.each.iter().filter_map(|each| each.step);
        steps.max_by(f64::total_cmp).map(|step| step / columns[index].scale)
    };
    // Of runs of ours the average is known better than each of them.
    let step_of = |index: usize, spread: &dyn Fn(&tickmark_stats::Spread) -> f64| {
        printed(index).unwrap_or_else(|| mean(index).map_or(1.0, |s| step(s.mean, spread(&s))))
    };
    let root = f64::from(rounds.max(1)).sqrt();
    let all = 0..columns.len();
    let steps: Vec<f64> =
        all.clone().map(|index| step_of(index, &|s| (s.deviation / root).min(s.mean / 1e3))).collect();
    let average = all.map(|index| mean(index).map(|s| rounded(s.mean, steps[index]))).collect();
    let marks = rows
        .iter()
        .map(|row| row.filter(|row| row.value.is_some()).map_or_else(Vec::new, |row| marks(row, floor)))
        .collect();
    System {
        name: name.to_owned(),
        os: model.header.kernel.as_ref().map_or_else(String::new, |kernel| format!("Linux {kernel}")),
        rows: cells,
        steps,
        marks,
        average,
        percent: None,
        real: None,
    }
}

/// Marks of a row that stand for the figures that are shown of it.
fn marks(row: &Row, floor: bool) -> Vec<String> {
    let of_floor = row.floor_marks.iter().filter(|_| floor);
    let excluded = (!floor && row.apart.slices > 0).then(|| {
        format!("{} are excluded from the mean", report::count(row.apart.slices as u32, "preempted batch"))
    });
    row.marks.iter().chain(of_floor).cloned().chain(excluded).collect()
}

/// What the averages of a system are against those of the first, in per cent: from the averages as they are
/// printed, as pages of lmbench have it.
fn percent(base: &System, other: &System) -> Vec<Option<f64>> {
    let pairs = base.average.iter().zip(&other.average);
    pairs.map(|(base, other)| Some((((*other)? / (*base)?) - 1.0) * 100.0)).collect()
}

/// The page as text.
pub(crate) fn render(page: &Page) -> String {
    let mut out = String::new();
    for table in &page.tables {
        let _ = writeln!(out, "\n{HEADING}{}{HEADING:#}", table.title);
        lines(&mut out, table);
    }
    let legends = [
        (
            "mean",
            "mean costs with ticks and interrupts, without preempted batches (--floor has the costs without ticks)",
        ),
        ("floor", "floors: the 10th percentile of short batches, without ticks"),
        ("imported", "imported figures are as another program printed them: lmbench's are medians or minima"),
    ];
    let marked =
        page.tables.iter().flat_map(|t| &t.systems).any(|s| s.real.iter().flatten().any(|real| *real));
    let _ = match marked {
        true if page.exact => writeln!(
            out,
            "\nOne row a boot, each begun at another part of the tick. * changed: by more than the margin in every one of them."
        ),
        true => writeln!(
            out,
            "\nOne row a run. * changed: more than what occasions and the number of columns explain."
        ),
        false => writeln!(out, "\nOne row a run. No difference is called real."),
    };
    for (_, legend) in legends.iter().filter(|(kind, _)| page.figures.contains(kind)) {
        let _ = writeln!(out, "{legend}");
    }
    if !page.without.is_empty() {
        let _ = writeln!(out, "not measured: {}", page.without.join("; "));
    }
    for (why, metrics) in marked_columns(page) {
        let _ = writeln!(out, "~ {why}: {}", metrics.join(", "));
    }
    let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for Missing { system, metric, why } in &page.missing {
        match reasons.iter_mut().find(|(known, reason, _)| known == system && reason == why) {
            Some((.., metrics)) => metrics.push(metric),
            None => reasons.push((system, why, vec![metric])),
        }
    }
    for (system, why, metrics) in reasons {
        let _ = writeln!(out, "-: {system}, {why}: {}", metrics.join(", "));
    }
    out
}

/// Each mark with the metrics that have it, of every system.
fn marked_columns(page: &Page) -> Vec<(String, Vec<&'static str>)> {
    let mut all: Vec<(String, Vec<&'static str>)> = Vec::new();
    for table in &page.tables {
        for system in &table.systems {
            for (column, mark) in
                table.columns.iter().zip(&system.marks).flat_map(|(c, m)| m.iter().map(move |m| (c, m)))
            {
                let why = format!("{}, {mark}", system.name);
                match all.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, metrics)) if metrics.contains(&column.metric) => {}
                    Some((_, metrics)) => metrics.push(column.metric),
                    None => all.push((why, vec![column.metric])),
                }
            }
        }
    }
    all
}

fn lines(out: &mut String, table: &Filled) {
    let mut grid: Vec<Vec<String>> = vec![Vec::new(), Vec::new()];
    for line in 0..2 {
        let label = [["Host", "OS"], ["", ""]][line];
        grid[line].extend(label.map(str::to_owned));
        grid[line].extend(table.columns.iter().map(|column| column.head[line].to_owned()));
    }
    for system in &table.systems {
        let shown = |cells: &[Option<f64>], steps: &[f64]| -> Vec<String> {
            let cell = |((cell, step), marks): ((&Option<f64>, &f64), &Vec<String>)| {
                let mark = if marks.is_empty() { "" } else { "~" };
                cell.map_or_else(|| "-".to_owned(), |v| to_step(v, *step) + mark)
            };
            cells.iter().zip(steps).zip(&system.marks).map(cell).collect()
        };
        for row in &system.rows {
            grid.push([vec![system.name.clone(), system.os.clone()], shown(row, &system.steps)].concat());
        }
        let average = vec![system.name.clone(), "average".to_owned()];
        grid.push([average, shown(&system.average, &system.steps)].concat());
        if let Some(percent) = &system.percent {
            let marks = system.real.iter().flatten().map(|real| if *real { "*" } else { "" });
            let cells = percent
                .iter()
                .zip(marks)
                .map(|(p, mark)| p.map_or_else(|| "-".to_owned(), |p| percent_cell(p) + mark));
            let base = table.systems.first().map_or("", |base| base.name.as_str());
            grid.push([format!("against {base}"), "%".to_owned()].into_iter().chain(cells).collect());
        }
    }
    if let Some((what, percents)) = &table.beside {
        let cells = percents.iter().map(|p| p.map_or_else(|| "-".to_owned(), percent_cell));
        grid.push([what.clone(), "%".to_owned()].into_iter().chain(cells).collect());
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

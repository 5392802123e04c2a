//! lmbench's tables of one recording or of several.

use crate::report::{Each, Mark, Model, Row, RowStatus};
use tickmark_import::lmbench::{Column, LOAD, TABLES, rounded, step};
use tickmark_store::Recording;
use tickmark_wire::Better;

/// All tables that hold a figure.
#[derive(Debug)]
pub struct Page {
    /// "mean", with ticks and all that happened; "floor"; or "imported", as another program printed them.
    pub figures: Vec<&'static str>,
    /// Those that hold a figure.
    pub tables: Vec<Filled>,
    /// Titles of tables without any figure.
    pub without: Vec<String>,
    /// Metrics that gave no figure, and why.
    pub missing: Vec<Missing>,
    /// True if all figures are counts of instructions.
    pub exact: bool,
}

/// One table.
#[derive(Debug)]
pub struct Filled {
    /// As on lmbench's own pages.
    pub title: String,
    /// Which metric stands where.
    pub columns: Vec<Head>,
    /// A recording each.
    pub systems: Vec<System>,
    /// Systems of a document below the others: their averages, and the per cents of the second.
    pub beside: Vec<System>,
}

/// A column's heading.
#[derive(Debug)]
pub struct Head {
    /// Two lines.
    pub head: [&'static str; 2],
    /// Its metric.
    pub metric: &'static str,
    /// As printed.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
}

/// The rows of one recording.
#[derive(Debug)]
pub struct System {
    /// The recording's.
    pub name: String,
    /// The operating system.
    pub system: Option<String>,
    /// The release of its kernel.
    pub kernel: Option<String>,
    /// A row a run, a figure a column.
    pub rows: Vec<Vec<Option<f64>>>,
    /// Value of one step of the last printed digit of each column: of rows and averages alike.
    pub steps: Vec<f64>,
    /// Marks that a reader needs before believing the figures of a column, for each column.
    pub marks: Vec<Vec<Mark>>,
    /// Averages of the rows, rounded to their step.
    pub average: Vec<Option<f64>>,
    /// Against the first system, from the rounded averages, in per cent.
    pub percent: Option<Vec<Option<f64>>>,
    /// Which of them are more than what occasions make.
    pub real: Option<Vec<bool>>,
}

/// A figure that lacks.
#[derive(Debug)]
pub struct Missing {
    /// Which.
    pub system: String,
    /// Which metric.
    pub metric: &'static str,
    /// Why there is none.
    pub why: Lack,
}

/// Why a figure is missing.
#[derive(Debug, Clone, PartialEq)]
pub enum Lack {
    /// The imported file does not have it.
    NotInFile,
    /// Its metric gave no figure.
    Ended {
        /// How it ended.
        status: RowStatus,
        /// Why.
        marks: Vec<Mark>,
    },
    /// Some runs gave none.
    Marked(Vec<Mark>),
    /// Some rounds are not made yet.
    NotYet,
    /// The curve shows no such level of memory.
    NoLevel,
    /// It was not asked for.
    NotMeasured,
    /// Both sides have one, over different numbers of bytes: there is no percentage.
    Sizes {
        /// Of this system.
        over: u64,
        /// Of the first.
        base: u64,
    },
}

/// Fills the tables; of several recordings the first is what the others are compared with.
#[must_use]
pub fn page(recordings: &[(&Recording, &Model)], real: &[&str], floor: bool) -> Page {
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
        exact: recordings.iter().all(|(recording, _)| crate::instruction(recording).is_some()),
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
                    let why = lack_reason(recording, model, column);
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
            beside: Vec::new(),
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
fn lack_reason(recording: &Recording, model: &Model, column: &Column) -> Lack {
    if recording.imported.is_some() {
        return Lack::NotInFile;
    }
    // A metric of several rows that failed has one row, with its own name.
    let parent = column.metric.rsplit_once('.').map_or("", |(parent, _)| parent);
    let rows = || model.groups.iter().flat_map(|(_, rows)| rows);
    let own = rows().find(|row| row.metric == column.metric);
    match own.or_else(|| rows().find(|row| row.metric == parent)) {
        Some(row) if row.value.is_none() => Lack::Ended { status: row.status, marks: row.marks.clone() },
        Some(row) if !row.marks.is_empty() => Lack::Marked(row.marks.clone()),
        Some(_) => Lack::NotYet,
        None if recording.meta.plan.metrics.iter().any(|metric| metric.name.as_str() == parent) => {
            Lack::NoLevel
        }
        None => Lack::NotMeasured,
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
            let why = Lack::Sizes { over: row.over, base: base.over };
            missing.push(Missing { system: system.name.clone(), metric: column.metric, why });
        }
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
        system: model.header.system.clone(),
        kernel: model.header.kernel.clone(),
        rows: cells,
        steps,
        marks,
        average,
        percent: None,
        real: None,
    }
}

/// Marks of a row that stand for the figures that are shown of it.
fn marks(row: &Row, floor: bool) -> Vec<Mark> {
    let of_floor = row.floor_marks.iter().filter(|_| floor);
    let excluded = (!floor && row.apart.slices > 0).then_some(Mark::Excluded(row.apart.slices));
    row.marks.iter().chain(of_floor).cloned().chain(excluded).collect()
}

/// Averages of a system relative to those of the first, in per cent: from the averages as they are printed, as pages of lmbench have it.
fn percent(base: &System, other: &System) -> Vec<Option<f64>> {
    let pairs = base.average.iter().zip(&other.average);
    pairs.map(|(base, other)| Some((((*other)? / (*base)?) - 1.0) * 100.0)).collect()
}

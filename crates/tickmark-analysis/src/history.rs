//! Figures over time: the recordings of a machine in their order, where something split them, and when a figure changed its level.

mod parts;

use crate::comparison::{Difference, RowFilter, of_runs};
use crate::gate::machine;
use crate::report::{self, Row, Unit};
use std::collections::BTreeMap;
use tickmark_stats::change::{Change, Kind, LEAST, LEAST_LEVEL};
use tickmark_stats::verdict::LEVEL;
use tickmark_store::{Id, Recording};
use tickmark_wire::{Better, Metric, Nanos};

/// The newest recordings of a series that are looked at.
pub const MOST: usize = 2000;

/// One figure over the recordings of a machine that measured it in the same manner: settings, runs and their length.
#[derive(Debug, Clone)]
pub struct Series {
    /// The machine, as far as it is known: the name of a host or of a result, its processor, what a guest is made of.
    pub machine: String,
    /// The command that was measured, where it is one of the user's.
    pub command: Option<String>,
    /// Of the metric.
    pub metric: String,
    /// `floor`, `mean`, `value` or `p99`.
    pub figure: &'static str,
    /// Of its values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Runs of each recording, and how long one may measure.
    pub length: (usize, Nanos),
    /// The recordings in their order, each with the median of its runs.
    pub points: Vec<Point>,
    /// Where what it was measured with became another: levels do not go on across these.
    pub splits: Vec<Split>,
    /// Facts that would split it and change too often for that, as if they were what is measured.
    pub passing: Vec<&'static str>,
    /// Where new levels begin within its parts; none where a part has too few recordings for two.
    pub levels: Vec<Level>,
    /// The cycle that was taken out of the values before levels were looked for: `day` or `week`.
    pub cycle: Option<&'static str>,
    /// How much a recording resembles the one before: a correlation, 0 or above; the highest of its parts.
    pub resemblance: f64,
    /// True if recordings resemble each other so much that no change could be told from a wave.
    pub unknowable: bool,
    /// Recordings far from their level, as indices.
    pub outliers: Vec<usize>,
}

/// One recording of a series.
#[derive(Debug, Clone)]
pub struct Point {
    /// Of the recording, where a store has it.
    pub id: Option<Id>,
    /// Its name.
    pub name: String,
    /// When it was begun; none where nobody knows.
    pub created: Option<jiff::Timestamp>,
    /// The commit that was measured, where the recording names one.
    pub commit: Option<String>,
    /// The figure: the median of its runs.
    pub value: f64,
    /// How many runs gave it.
    pub runs: usize,
}

/// A place from which on recordings were measured with something else.
#[derive(Debug, Clone)]
pub struct Split {
    /// The first recording after it.
    pub at: usize,
    /// What became another.
    pub facts: Vec<Difference>,
    /// The levels on both sides, and limits of their difference (95 %); none where there are too few recordings to tell.
    pub step: Option<tickmark_stats::change::Step>,
}

/// A new level, and what is new with it.
#[derive(Debug, Clone)]
pub struct Level {
    /// Where, how sure, and from what to what.
    pub change: Change,
    /// Facts by which the last recording before it differs from its first one.
    pub differences: Vec<Difference>,
}

impl Series {
    /// Its parts between splits.
    pub fn parts(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        let begins = std::iter::once(0).chain(self.splits.iter().map(|split| split.at));
        let ends = self.splits.iter().map(|split| split.at).chain([self.points.len()]);
        begins.zip(ends).map(|(begin, end)| begin..end)
    }

    /// True if a part has enough recordings for two levels.
    #[must_use]
    pub fn enough(&self) -> bool {
        self.parts().any(|part| part.len() > 2 * LEAST)
    }
}

/// The newest change of each series, that of the newest recording first; a new spread only where there is nothing else.
#[must_use]
pub fn newest(all: &[Series]) -> Vec<(&Series, &Level)> {
    let level = |series: &&Series| -> Option<usize> {
        let is_level = |level: &Level| level.change.kind != Kind::Spread;
        series.levels.iter().rposition(is_level).or(series.levels.len().checked_sub(1))
    };
    let mut found: Vec<(&Series, &Level)> =
        all.iter().filter_map(|series| Some((series, &series.levels[level(&series)?]))).collect();
    let place = |(series, level): &(&Series, &Level)| {
        let point = series.points.get(level.change.at);
        (point.and_then(|point| point.created), level.change.at)
    };
    found.sort_by_key(|one| std::cmp::Reverse(place(one)));
    found
}

/// The next piece of work.
#[derive(Debug, Clone, Copy)]
pub enum Begun<'a> {
    /// The figures of the recording at this place.
    Recording(usize),
    /// The levels of a series.
    Series(&'a Series),
}

/// Identity of a series: machine, metric, figure, manner of measuring, bytes moved, unit.
type Key = (String, String, &'static str, String, u64, &'static str);

/// Where a recording is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A store, which knows it by its id.
    Store,
    /// A result file, which says when it was measured or does not.
    File {
        /// True if it does.
        is_timed: bool,
    },
}

/// A recording in its place in time.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The recording.
    pub recording: Recording,
    /// Where it is from.
    pub origin: Origin,
    /// The machine, or what else tells its series from others: a suite, a file.
    pub machine: String,
}

impl From<Recording> for Measurement {
    fn from(recording: Recording) -> Self {
        let is_named = recording.environment().and_then(|facts| facts.get("host.name")).is_some();
        // A result of another program that names no host is told from others by its own name: a command, a suite.
        let machine = match is_named || recording.imported.is_none() {
            true => machine(&recording, true),
            false => recording.meta.name.clone(),
        };
        Self { recording, origin: Origin::Store, machine }
    }
}

/// So many figures have enough recordings, and so many can be judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// Figures.
    pub figures: usize,
    /// At most.
    pub most: usize,
}

/// The series of recordings, given in their order. All series together show a level where there is none with a chance of 5 % (Bonferroni). `begun` is
/// told of each piece of work that may take a second.
///
/// # Errors
/// More figures than can be judged together.
pub fn build(
    all: &[Measurement],
    only: RowFilter<'_>,
    begun: &mut dyn FnMut(Begun<'_>),
) -> Result<Vec<Series>, TooMany> {
    let mut found: BTreeMap<Key, (Series, Vec<&Recording>)> = BTreeMap::new();
    for (at, Measurement { recording, origin, machine }) in all.iter().enumerate() {
        begun(Begun::Recording(at));
        let commit = recording.environment().and_then(|facts| facts.get("commit.id")).map(str::to_owned);
        let groups = report::rows_of(recording, &|_| true);
        let rows = groups.iter().flat_map(|(group, rows)| rows.iter().map(move |row| (*group, row)));
        // What is no floor is no figure of a level.
        let sound = |row: &Row, figure: &str| figure != "floor" || row.no_floor().is_none();
        for (_, row) in rows.filter(|(group, row)| only(*group, row)) {
            for (figure, values) in row.figures() {
                let Some(value) = of_runs(&values).filter(|_| sound(row, figure)) else { continue };
                let manner = of_row(recording, row).map(|metric| recording.manner(&metric.name));
                let unit = of_row(recording, row).map_or("", |metric| metric.unit.word());
                let manner = manner.unwrap_or_default();
                let key = (machine.clone(), row.metric.clone(), figure, manner, row.over, unit);
                let (series, measured) =
                    found.entry(key).or_insert_with(|| (begin(machine, row, figure, recording), Vec::new()));
                series.points.push(Point {
                    id: (*origin == Origin::Store).then(|| recording.meta.id.clone()),
                    name: recording.meta.name.clone(),
                    created: (*origin != Origin::File { is_timed: false }).then_some(recording.meta.created),
                    commit: commit.clone(),
                    value,
                    runs: values.len(),
                });
                measured.push(recording);
            }
        }
    }
    for (series, measured) in found.values_mut() {
        let old = series.points.len().saturating_sub(MOST);
        series.points.drain(..old);
        measured.drain(..old);
        parts::split(series, measured);
    }
    let enough = |series: &Series| series.parts().filter(|part| part.len() > 2 * LEAST).count();
    let judged: usize = found.values().map(|(series, _)| enough(series)).sum();
    let most = (LEVEL / LEAST_LEVEL) as usize;
    if judged > most {
        return Err(TooMany { figures: judged, most });
    }
    let mut level = |(mut series, measured): (Series, Vec<&Recording>)| {
        if series.enough() {
            begun(Begun::Series(&series));
        }
        parts::find_levels(&mut series, &measured, LEVEL / judged.max(1) as f64);
        series
    };
    Ok(found.into_values().map(&mut level).collect())
}

fn begin(machine: &str, row: &Row, figure: &'static str, recording: &Recording) -> Series {
    Series {
        machine: machine.to_owned(),
        command: recording.meta.arm.as_ref().filter(|arm| arm.is_command()).map(|arm| arm.setting.clone()),
        metric: row.metric.clone(),
        figure,
        unit: row.unit,
        better: row.better,
        length: of_row(recording, row).map(|metric| recording.length(&metric.name)).unwrap_or_default(),
        points: Vec::new(),
        splits: Vec::new(),
        passing: Vec::new(),
        levels: Vec::new(),
        cycle: None,
        resemblance: 0.0,
        unknowable: false,
        outliers: Vec::new(),
    }
}

/// The metric of a row. A row that the report derives is as its recording.
fn of_row<'a>(recording: &'a Recording, row: &Row) -> Option<&'a Metric> {
    let metrics = &recording.meta.plan.metrics;
    metrics.iter().find(|metric| metric.name.as_str() == row.metric).or(metrics.first())
}

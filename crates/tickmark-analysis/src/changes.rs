//! When the figures of a machine changed their level, over its recordings.

use crate::comparison::{Difference, RowFilter, between, of_runs};
use crate::report::{self, Row, Unit};
use std::collections::BTreeMap;
use tickmark_stats::change::{self, Change, LEAST, LEAST_LEVEL};
use tickmark_stats::verdict::LEVEL;
use tickmark_store::{Id, Recording};
use tickmark_wire::{Better, Metric, Nanos};

/// The newest recordings of a series that are looked at.
const MOST: usize = 2000;

/// One figure over the recordings that measured it in the same manner: settings, runs and their length.
#[derive(Debug, Clone)]
pub struct Series {
    /// The machine; none where it is not known.
    pub host: Option<String>,
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
    /// The recordings in the order in which they were begun, each with the median of its runs.
    pub points: Vec<Point>,
    /// Where new levels begin; none where there are too few recordings for two.
    pub levels: Vec<Level>,
    /// How much a recording resembles the one before: a correlation, 0 or above.
    pub resemblance: f64,
    /// True if recordings resemble each other so much that no change could be told from a wave.
    pub unknowable: bool,
    /// Recordings far from their level, as indices.
    pub outliers: Vec<usize>,
}

/// One recording of a series.
#[derive(Debug, Clone)]
pub struct Point {
    /// Of the recording.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// When it was begun.
    pub created: jiff::Timestamp,
    /// The figure.
    pub value: f64,
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
    /// True if there are enough recordings for two levels.
    #[must_use]
    pub fn enough(&self) -> bool {
        self.points.len() > 2 * LEAST
    }
}

/// The next piece of work.
#[derive(Debug, Clone, Copy)]
pub enum Begun<'a> {
    /// The figures of the recording at this place.
    Recording(usize),
    /// The levels of a series.
    Series(&'a Series),
}

/// Identity of a series: machine, metric, figure, manner of measuring, bytes moved.
type Key = (Option<String>, String, &'static str, String, u64);

/// So many figures have enough recordings, and so many can be judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// Figures.
    pub figures: usize,
    /// At most.
    pub most: usize,
}

/// The series of recordings, oldest first. All series together show a level where there is none with a chance of 5 % (Bonferroni).
/// `begun` is told of each piece of work that may take a second.
///
/// # Errors
/// More figures than can be judged together.
pub fn build(
    recordings: &[Recording],
    only: RowFilter<'_>,
    begun: &mut dyn FnMut(Begun<'_>),
) -> Result<Vec<Series>, TooMany> {
    let mut found: BTreeMap<Key, (Series, Vec<usize>)> = BTreeMap::new();
    for (at, recording) in recordings.iter().enumerate() {
        begun(Begun::Recording(at));
        let host = recording.environment().and_then(|facts| facts.get("host.name")).map(str::to_owned);
        // A result of another program that names no host is told from others by its own name: a command, a suite.
        let name = || recording.imported.is_some().then(|| recording.meta.name.clone());
        let host = host.or_else(name);
        let groups = report::rows_of(recording, &|_| true);
        let rows = groups.iter().flat_map(|(group, rows)| rows.iter().map(move |row| (*group, row)));
        // What is no floor is no figure of a level.
        let sound = |row: &Row, figure: &str| figure != "floor" || row.no_floor().is_none();
        for (_, row) in rows.filter(|(group, row)| only(*group, row)) {
            for (figure, values) in row.figures() {
                let Some(value) = of_runs(&values).filter(|_| sound(row, figure)) else { continue };
                let manner = of_row(recording, row).map(|metric| recording.manner(&metric.name));
                let key = (host.clone(), row.metric.clone(), figure, manner.unwrap_or_default(), row.over);
                let (series, places) = found
                    .entry(key)
                    .or_insert_with(|| (begin(host.as_ref(), row, figure, recording), Vec::new()));
                series.points.push(Point {
                    id: recording.meta.id.clone(),
                    name: recording.meta.name.clone(),
                    created: recording.meta.created,
                    value,
                });
                places.push(at);
            }
        }
    }
    let judged = found.values().filter(|(series, _)| series.enough()).count();
    let most = (LEVEL / LEAST_LEVEL) as usize;
    if judged > most {
        return Err(TooMany { figures: judged, most });
    }
    let mut level = |(mut series, mut places): (Series, Vec<usize>)| {
        if series.enough() {
            begun(Begun::Series(&series));
        }
        let old = series.points.len().saturating_sub(MOST);
        series.points.drain(..old);
        places.drain(..old);
        let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
        let new = |change: Change| {
            let side = |at: usize| std::slice::from_ref(&recordings[places[at]]);
            Level { differences: between(side(change.at - 1), side(change.at)), change }
        };
        let found = change::find(&values, LEVEL / judged.max(1) as f64);
        series.levels = found.changes.into_iter().map(new).collect();
        (series.resemblance, series.unknowable) = (found.resemblance, found.unknowable);
        series.outliers = found.outliers;
        series
    };
    Ok(found.into_values().map(&mut level).collect())
}

fn begin(host: Option<&String>, row: &Row, figure: &'static str, recording: &Recording) -> Series {
    Series {
        host: host.cloned(),
        command: recording.meta.arm.as_ref().filter(|arm| arm.is_command()).map(|arm| arm.setting.clone()),
        metric: row.metric.clone(),
        figure,
        unit: row.unit,
        better: row.better,
        length: of_row(recording, row).map(|metric| recording.length(&metric.name)).unwrap_or_default(),
        points: Vec::new(),
        levels: Vec::new(),
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

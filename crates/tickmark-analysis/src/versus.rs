//! Commands measured side by side: what each execution took, and how they compare.

use crate::comparison::{Against, Line, Model, Word};
use crate::report::{self, Row};
use std::collections::BTreeMap;
use tickmark_stats::sequential;
use tickmark_stats::student::t_point;
use tickmark_stats::verdict::LEVEL;
use tickmark_stats::{Interval, median, spread};
use tickmark_store::{Id, Recording, Status};
use tickmark_wire::{Metric, Observations, Unit, names};

/// A command with its executions.
#[derive(Debug, Clone)]
pub struct Subject {
    /// A, B, C ...
    pub letter: char,
    /// How it is called.
    pub label: String,
    /// As it was run.
    pub command: String,
    /// Its recording.
    pub id: Id,
    /// Values of each metric: of each block one for each execution, in their order.
    pub values: BTreeMap<String, Vec<Vec<f64>>>,
    /// The metrics, as the recording defines them.
    pub metrics: Vec<Metric>,
    /// Why runs failed.
    pub failed: Vec<String>,
    /// What disturbed it.
    pub disturbed: Disturbance,
    /// The level of its intervals: a part of 5 % where it was to end at one of several looks.
    pub level: f64,
}

/// What disturbed the executions of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Disturbance {
    /// Blocks that other tasks took part in.
    pub contended: usize,
    /// Of how many.
    pub blocks: usize,
    /// Steal time over the time in which it was counted.
    pub steal: f64,
    /// How much slower than at its fastest the processor was in the middle, by the time of a multiplication.
    pub slower: f64,
}

impl Subject {
    /// From the recording of a setting.
    #[must_use]
    pub fn from_recording(number: usize, recording: &Recording) -> Self {
        let arm = recording.meta.arm.as_ref();
        let setting = arm.map_or("", |arm| arm.setting.as_str());
        let looks: Vec<usize> = arm.iter().flat_map(|arm| &arm.looks).map(|look| *look as usize).collect();
        let share = sequential::share(&looks, LEVEL);
        let planned = recording.meta.plan.runs.iter().find_map(|run| run.arguments.get("words"));
        let metrics: Vec<Metric> = recording.meta.plan.metrics.clone();
        let (mut values, mut segments) = (BTreeMap::<String, Vec<Vec<f64>>>::new(), Vec::new());
        let mut failed = Vec::new();
        for run in &recording.runs {
            match &run.status {
                Status::Ok => {}
                Status::Open => continue,
                other => {
                    failed.extend(other.reason().map(str::to_owned));
                    continue;
                }
            }
            for observed in recording.observations(run) {
                if let Observations::Values(found) = observed.observations {
                    values.entry(observed.metric.as_str().to_owned()).or_default().push(found.values);
                    segments.extend(observed.segments);
                }
            }
        }
        let model = report::build(recording, &|metric| metric.name.as_str() == names::COMMAND_TIME, false);
        let rows = || model.groups.iter().flat_map(|(_, rows)| rows);
        let time = rows().find(|row: &&Row| row.metric == names::COMMAND_TIME);
        let steal = segments.iter().filter_map(|s| Some((s.steal?.as_f64(), s.wall.as_f64())));
        let (steal, wall) = steal.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let multiply = || segments.iter().map(|s| s.multiply.as_nanos_f64()).filter(|cost| *cost > 0.0);
        let fastest = multiply().fold(f64::MAX, f64::min);
        let disturbed = Disturbance {
            contended: time.map_or(0, |row| row.contended_runs),
            blocks: time.map_or(0, |row| row.runs),
            steal: if wall > 0.0 { steal / wall } else { 0.0 },
            slower: median(multiply()).map_or(0.0, |middle| middle / fastest - 1.0),
        };
        Self {
            letter: char::from(b'A' + (number % 26) as u8),
            label: setting.to_owned(),
            command: planned.cloned().unwrap_or_default(),
            id: recording.meta.id.clone(),
            values,
            metrics,
            failed,
            disturbed,
            level: LEVEL * share,
        }
    }

    /// Every execution's value of a metric.
    #[must_use]
    pub fn all(&self, metric: &str) -> Vec<f64> {
        self.values.get(metric).map(|blocks| blocks.concat()).unwrap_or_default()
    }

    /// The figure of each block: the mean of its executions.
    #[must_use]
    pub fn blocks(&self, metric: &str) -> Vec<f64> {
        let blocks = self.values.get(metric).map(Vec::as_slice).unwrap_or_default();
        blocks.iter().filter_map(|values| Some(spread(values)?.mean)).collect()
    }

    /// The mean of the blocks, which the verdict compares, and where it lies with 95 % at whichever look it ended (Student's t); none of
    /// fewer than two.
    #[must_use]
    pub fn mean(&self, metric: &str) -> Option<(f64, Option<Interval>)> {
        let blocks = self.blocks(metric);
        let found = spread(&blocks)?;
        let half = || {
            let df = blocks.len() as f64 - 1.0;
            found.deviation / (df + 1.0).sqrt() * t_point(self.level / 2.0, df)
        };
        // What is never negative has no mean below zero.
        let least = if blocks.iter().all(|block| *block >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
        let interval = || Interval { low: (found.mean - half()).max(least), high: found.mean + half() };
        Some((found.mean, (blocks.len() > 1).then(interval)))
    }

    /// Executions that ended with another code than 0, by that code.
    #[must_use]
    pub fn other_codes(&self) -> BTreeMap<i64, usize> {
        let mut codes = BTreeMap::new();
        for code in self.all(names::COMMAND_CODE).into_iter().filter(|code| *code != 0.0) {
            *codes.entry(code as i64).or_default() += 1;
        }
        codes
    }

    /// The unit of a metric.
    #[must_use]
    pub fn unit(&self, metric: &str) -> Unit {
        let known = self.metrics.iter().find(|known| known.name.as_str() == metric);
        known.map_or(Unit::Count, |known| known.unit)
    }
}

/// Commands side by side.
pub struct Versus {
    /// The first is what the others are compared with.
    pub subjects: Vec<Subject>,
    /// How they compare; none of a single one.
    pub comparison: Option<Model>,
    /// The metrics that carry the verdicts.
    pub primary: Vec<String>,
    /// True if a change is a verdict only where it is known to be beyond the margin or below it.
    pub to_margin: bool,
}

impl Versus {
    /// The lines of a side that carry its verdicts.
    pub fn verdicts<'a>(&'a self, against: &'a Against) -> impl Iterator<Item = &'a Line> {
        against.lines.iter().filter(|line| self.primary.contains(&line.metric) && line.figure == "value")
    }

    /// True if every verdict is reached: there is a change, or there is none beyond the margin; and, where a half-width is asked for, every
    /// interval is as narrow.
    #[must_use]
    pub fn is_decided(&self, width: Option<f64>) -> bool {
        let narrow =
            |line: &Line| width.is_none_or(|width| line.half_width().is_some_and(|half| half <= width));
        let Some(model) = &self.comparison else {
            let narrow = |metric: &String| {
                let (mean, interval) = self.subjects.first()?.mean(metric)?;
                let half = interval.map(|interval| (interval.high - interval.low) / 2.0)?;
                Some(half <= width.unwrap_or(0.01) * mean.abs())
            };
            return self.primary.iter().all(|metric| narrow(metric).unwrap_or(false));
        };
        let is_reached =
            |line: &Line| narrow(line) && line.decided() && !(self.to_margin && line.word == Word::Changed);
        model.against.iter().all(|against| {
            let reached = |metric: &String| {
                self.verdicts(against).any(|line| line.metric == *metric && is_reached(line))
            };
            self.primary.iter().all(reached)
        })
    }
}

//! Both sides of HZ for one command: what the ticks cost it, what it gains from finer ones, and where they meet.

use crate::report;
use tickmark_stats::balance::judge;
pub use tickmark_stats::balance::{Judged, Prefers};
use tickmark_stats::order::smallest_first;
use tickmark_store::Recording;
use tickmark_wire::{Better, Metric, names};

/// Costs of a command in the boots of one HZ.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// By the kernel's configuration.
    pub hz: f64,
    /// Cost in each boot: ns, or the number that the command printed.
    pub values: Vec<f64>,
    /// The mean of what they cost: of the values, or of their inverses where higher is better.
    pub cost: f64,
    /// Boots that were planned.
    pub planned: usize,
}

/// A command at several HZ.
#[derive(Debug, Clone, PartialEq)]
pub struct Balanced {
    /// True if the values are a number that it prints, and not its time.
    pub is_number: bool,
    /// True if that is better higher: its cost is its inverse.
    pub is_inverse: bool,
    /// True if it ran in guests that count instructions.
    pub counted: bool,
    /// In ascending order of HZ.
    pub levels: Vec<Level>,
    /// The verdict on the costs; none where boots are missing, or have a value that is not above zero.
    pub judged: Option<Judged>,
}

impl Balanced {
    /// Boots without a value.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.levels.iter().map(|level| level.planned.saturating_sub(level.values.len())).sum()
    }
}

/// Of recordings of one command, each in boots of one HZ: its number where it was asked for, else its time. None of fewer than two
/// rates, or of one whose HZ is not known.
#[must_use]
pub fn balance_of_hz(recordings: &[Recording], margin: f64) -> Option<Balanced> {
    let first = recordings.first()?;
    let metric = |name: &str| first.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name);
    let number = metric(names::COMMAND_NUMBER);
    let is_inverse = number.is_some_and(|metric| metric.better == Better::Higher);
    let own = number.or_else(|| metric(names::COMMAND_TIME))?;
    let level = |one| level(one, own, is_inverse);
    let mut levels: Vec<Level> = recordings.iter().map(level).collect::<Option<_>>()?;
    smallest_first(&mut levels, |one| one.hz);
    if levels.windows(2).any(|pair| pair[0].hz >= pair[1].hz) || levels.len() < 2 {
        return None;
    }
    let (is_number, counted) = (number.is_some(), crate::instruction(first).is_some());
    let mut balanced = Balanced { is_number, is_inverse, counted, levels, judged: None };
    if balanced.missing() == 0 {
        let costs = |level: &Level| (level.hz, costs(&level.values, is_inverse));
        balanced.judged = judge(&balanced.levels.iter().map(costs).collect::<Vec<_>>(), margin);
    }
    Some(balanced)
}

fn costs(values: &[f64], is_inverse: bool) -> Vec<f64> {
    values.iter().map(|value| if is_inverse { 1.0 / value } else { *value }).collect()
}

fn level(recording: &Recording, metric: &Metric, is_inverse: bool) -> Option<Level> {
    let groups = report::rows_of(recording, &|own| own.name == metric.name);
    let rows = groups.iter().flat_map(|(_, rows)| rows);
    let values: Vec<f64> = rows.flat_map(|row| row.each.iter().map(|each| each.value)).collect();
    let hz = recording.environment()?.get("kernel.config.HZ")?.parse().ok()?;
    let costs = costs(&values, is_inverse);
    let planned = recording.runs.iter().filter(|run| run.planned.gives(&metric.name)).count();
    Some(Level { hz, cost: costs.iter().sum::<f64>() / costs.len() as f64, values, planned })
}

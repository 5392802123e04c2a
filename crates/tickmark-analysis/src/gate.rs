//! A gate: whether new recordings are as the earlier ones of their machine were, and how well it can tell.

mod calibrated;
mod level;

use crate::comparison::{Difference, RowFilter, between, of_runs};
use crate::report::{self, Row, RowStatus, Unit};
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::gate::{self, Judged, Side, least_chance};
use tickmark_stats::median;
use tickmark_stats::states::{TwoStates, two_states};
use tickmark_store::Recording;
use tickmark_wire::Better;

pub use level::{OlderLevel, of_an_older_level};

pub use calibrated::{CONFIDENCE, Calibrated, DetectionCounts, PLANTED};

/// The chance of any claim where nothing changed, if recordings are alike.
pub const LEVEL: f64 = 0.05;
/// So many earlier recordings are looked at, newest first. Of 100, four may be off for a reason of their own before a fifth part of that
/// hides a change.
pub const MOST: usize = 100;
/// A figure of the new recordings has gone over the same bytes as before, to a twentieth.
const SAME_SIZE: f64 = 0.05;

/// Facts that identify a machine: nothing that a boot changes, and no clock rate that wanders, which some models have in their name.
const MACHINE: [&str; 6] =
    ["host.name", "cpu.model", "cpu.online", "virtualisation", "guest.machine", "guest.memory"];

/// The machine that a recording was made on, as one line; `hosts` are told apart by their names, too.
#[must_use]
pub fn machine(recording: &Recording, hosts: bool) -> String {
    let facts = recording.environment();
    let one = |name: &&str| {
        let value = facts.and_then(|facts| facts.get(name)).filter(|value| *value != "none")?;
        let value = value.split(" @ ").next().unwrap_or(value);
        Some(match *name {
            "cpu.online" => format!("CPUs {value}"),
            "virtualisation" => format!("{} guest", report::hypervisor(value)),
            "guest.memory" => format!("{value} of memory"),
            _ => value.to_owned(),
        })
    };
    let known: Vec<String> =
        MACHINE.iter().filter(|name| hosts || **name != "host.name").filter_map(one).collect();
    if known.is_empty() { "a machine of which nothing is recorded".to_owned() } else { known.join(", ") }
}

/// Name of a figure: the metric, and `floor`, `mean`, `value` or `p99`.
pub type Name = (String, String);

/// A figure of one recording: the median of its runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// In the unit of its row, above 0.
    pub value: f64,
    /// Bytes that it went over; 0 where there are none.
    pub over: u64,
    /// True if other tasks had the CPU meanwhile.
    pub contended: bool,
    /// True if some of its runs gave nothing.
    pub partly: bool,
    /// Of the value.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
}

/// The figures of one recording.
pub type Figures = BTreeMap<Name, Figure>;

/// The figures of a recording that the gate checks.
#[must_use]
pub fn figures(recording: &Recording, only: RowFilter<'_>) -> Figures {
    let mut all = Figures::new();
    for (group, rows) in report::rows_of(recording, &|_| true) {
        for row in rows.iter().filter(|row| only(group, row)) {
            for (name, values) in row.figures().into_iter().filter(|(name, _)| is_sound(row, name)) {
                let value = of_runs(&values).filter(|value| *value > 0.0 && value.is_finite());
                let figure = |value| Figure {
                    value,
                    over: row.over,
                    contended: row.contended.is_some(),
                    partly: row.status == RowStatus::Partly,
                    unit: row.unit,
                    better: row.better,
                };
                all.extend(value.map(|value| ((row.metric.clone(), name.to_owned()), figure(value))));
            }
        }
    }
    all
}

/// True if the figure can be compared: a row without a floor cannot.
fn is_sound(row: &Row, figure: &str) -> bool {
    figure != "floor" || row.no_floor().is_none()
}

/// A smaller change of a figure is a rounding error.
const ROUNDING: f64 = 1e-9;

/// A figure of the new recordings beside the earlier ones.
#[derive(Debug, Clone)]
pub struct Line {
    /// Of the metric.
    pub metric: String,
    /// `floor`, `mean`, `value` or `p99`.
    pub figure: String,
    /// Of its values.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// Middle of the earlier recordings.
    pub earlier: f64,
    /// Mean of the new recordings.
    pub new: f64,
    /// How far the new ones are off on the worse side; on either, where neither is worse.
    pub judged: Judged,
    /// The chance of any figure as far off on its better side, where nothing changed; 1 where neither side is better.
    pub p_better: f64,
    /// How many of the earlier ones are as far from their middle as the new ones, on the side where these lie.
    pub beyond: usize,
    /// The slowdown (or other change, where neither side is worse) that would be found in four of five cases, as a share; none where the labels judge.
    pub visible: Option<f64>,
    /// True if few earlier ones judge and all are the same: then no chance is known of how far off a new one may be.
    pub never_varied: bool,
    /// The two states that the earlier ones were in, where they were.
    pub states: Option<TwoStates>,
    /// True if other tasks had the CPU in one of the new ones: what it claims may be theirs.
    pub contended: bool,
    /// True if runs of it gave nothing in one of the new ones.
    pub partly: bool,
}

impl Line {
    /// True if it is claimed to have changed: for the worse or for the better, each with its own chance of being wrong.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.p() <= LEVEL + 1e-9
    }

    /// And for the worse.
    #[must_use]
    pub fn worse(&self) -> bool {
        self.has_direction() && self.judged.p <= LEVEL + 1e-9
    }

    /// The chance on the side on which it lies.
    #[must_use]
    pub fn p(&self) -> f64 {
        self.judged.p.min(self.p_better)
    }

    /// True if it moved, not to its better side, and nobody can say how likely that is: earlier ones never varied.
    #[must_use]
    pub fn is_open(&self) -> bool {
        // A mean of equal logarithms is off by its rounding.
        let moved = self.judged.ratio - 1.0;
        let is_better = match self.better {
            Better::Lower => moved < 0.0,
            Better::Higher => moved > 0.0,
            _ => false,
        };
        self.never_varied && moved.abs() > ROUNDING && !is_better && !self.changed()
    }

    /// True if a direction of it is better.
    #[must_use]
    pub fn has_direction(&self) -> bool {
        matches!(self.better, Better::Lower | Better::Higher)
    }
}

/// A figure that cannot be judged, as not all recordings have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Which.
    pub name: Name,
    /// True if a new recording lacks it, or measured it over another size; else earlier ones do.
    pub by_new: bool,
}

/// New recordings against earlier ones.
#[derive(Debug, Clone)]
pub struct Checked {
    /// How many earlier ones there are, and how many new ones.
    pub counts: [usize; 2],
    /// The figures that all of them have.
    pub lines: Vec<Line>,
    /// Figures that cannot be judged: those that new recordings lack and most earlier ones have, and metrics none of whose figures all of
    /// them have.
    pub without: Vec<Lack>,
    /// Differences between the newest earlier recording and the new ones.
    pub differences: Vec<Difference>,
}

impl Checked {
    /// True if there are enough of them for any claim at the level.
    #[must_use]
    pub fn can_tell(&self) -> bool {
        self.counts[0] >= FEWEST && !self.lines.is_empty()
    }

    /// True if there are enough of them for their labels to judge; else Student's t does.
    #[must_use]
    pub fn by_labels(&self) -> bool {
        by_labels(self.counts[0], self.counts[1])
    }

    /// Between which slowdowns those lie that would be found in four of five cases, each in one figure, where that is known.
    #[must_use]
    pub fn visible(&self) -> Option<(f64, f64)> {
        let all = || self.lines.iter().filter_map(|line| line.visible);
        let least = all().min_by(f64::total_cmp)?;
        Some((least, all().fold(least, f64::max)))
    }
}

/// How many earlier recordings it takes for a claim.
pub use tickmark_stats::gate::FEWEST;

/// How many earlier recordings it takes for so many new ones to be judged by their labels, which a calibration is made for.
#[must_use]
pub fn needed_by_labels(new: usize) -> usize {
    (3..).find(|earlier| by_labels(*earlier, new)).unwrap_or(3)
}

fn by_labels(earlier: usize, new: usize) -> bool {
    earlier >= 3 && least_chance(earlier, new) <= LEVEL + 1e-9
}

/// Judges figures of new recordings by those of earlier ones; `environments` are the newest of the earlier ones, and the new ones.
#[must_use]
pub fn check(
    earlier: &[Figures],
    new: &[Figures],
    environments: Option<(&Recording, &[Recording])>,
) -> Checked {
    let (shared, without) = shared(earlier, new);
    let rows = |side: &[Figures]| side.iter().map(|figures| logarithms(figures, &shared)).collect::<Vec<_>>();
    let sides: Vec<Side> = shared.iter().map(|name| worse_side(new[0][*name].better)).collect();
    let opposite: Vec<Side> = sides.iter().map(|side| side.opposite()).collect();
    let few = !by_labels(earlier.len(), new.len());
    let judge = |sides: &[Side]| -> Vec<(Judged, Option<f64>)> {
        let (earlier, new) = (rows(earlier), rows(new));
        match few {
            true => {
                let judged = gate::judge_few(&earlier, &new, sides).unwrap_or_default();
                let errors = |side| gate::visible_errors(earlier.len(), judged.len(), LEVEL, side);
                let (one_sided, two_sided) = (errors(Side::Above), errors(Side::Either));
                let visible = |side: &Side, error: f64| {
                    let by = error * if *side == Side::Either { two_sided } else { one_sided };
                    // As a share of what it is.
                    let share = if *side == Side::Below { -(-by).exp_m1() } else { by.exp_m1() };
                    Some(share).filter(|_| by.is_finite())
                };
                let each = judged.into_iter().zip(sides);
                each.map(|((judged, error), side)| (judged, visible(side, error))).collect()
            }
            false => {
                let judged = gate::judge(&earlier, &new, sides).unwrap_or_default();
                judged.into_iter().map(|judged| (judged, None)).collect()
            }
        }
    };
    let judged = judge(&sides).into_iter().zip(judge(&opposite));
    let line = |(name, ((judged, visible), (opposite, _))): (&&Name, ((Judged, Option<f64>), _))| {
        let opposite: Judged = opposite;
        let values: Vec<f64> = earlier.iter().map(|figures| figures[*name].value).collect();
        // In logarithms, as it is judged.
        let middle = median(values.iter().map(|value| value.ln())).map_or(f64::NAN, f64::exp);
        let Figure { unit, better, .. } = new[0][*name];
        Line {
            metric: name.0.clone(),
            figure: name.1.clone(),
            unit,
            better,
            earlier: middle,
            new: middle * judged.ratio,
            judged,
            p_better: if worse_side(better) == Side::Either { 1.0 } else { opposite.p },
            beyond: values.iter().filter(|value| is_beyond(**value, middle, middle * judged.ratio)).count(),
            visible,
            never_varied: few && values.iter().all(|value| *value == values[0]),
            states: two_states(&values),
            contended: new.iter().any(|figures| figures[*name].contended),
            partly: new.iter().any(|figures| figures[*name].partly),
        }
    };
    let lines = shared.iter().zip(judged).map(line).collect();
    let differences =
        environments.map_or_else(Vec::new, |(before, after)| between(std::slice::from_ref(before), after));
    Checked { counts: [earlier.len(), new.len()], lines, without, differences }
}

/// True if a value is as far from the middle as another one, on the side of that.
fn is_beyond(value: f64, middle: f64, other: f64) -> bool {
    if other < middle { value <= other } else { value >= other }
}

/// On which side of earlier values a worse one lies.
pub(crate) fn worse_side(better: Better) -> Side {
    match better {
        Better::Lower => Side::Above,
        Better::Higher => Side::Below,
        _ => Side::Either,
    }
}

fn logarithms(figures: &Figures, names: &[&Name]) -> Vec<f64> {
    names.iter().map(|name| figures[*name].value.ln()).collect()
}

/// The figures that all recordings have of the same size, and what some lack that is to be known.
fn shared<'a>(earlier: &'a [Figures], new: &'a [Figures]) -> (Vec<&'a Name>, Vec<Lack>) {
    let names: BTreeSet<&Name> = earlier.iter().chain(new).flat_map(Figures::keys).collect();
    let has = |name: &Name, figures: &Figures| {
        let size = new.first().and_then(|first| first.get(name)).map(|figure| figure.over);
        figures.get(name).is_some_and(|own| size.is_none_or(|size| is_same(own.over, size)))
    };
    let everywhere = |name: &&&Name| earlier.iter().chain(new).all(|figures| has(name, figures));
    let shared: Vec<&Name> = names.iter().filter(everywhere).copied().collect();
    let lack = |name: &&Name| {
        let by_new = !new.iter().all(|figures| has(name, figures));
        let most = 2 * earlier.iter().filter(|figures| has(name, figures)).count() > earlier.len();
        // Where another figure of the metric is judged (a 99th percentile that not all have), no more is said.
        let is_told = if by_new { most } else { !shared.iter().any(|other| other.0 == name.0) };
        is_told.then(|| Lack { name: (*name).clone(), by_new })
    };
    let without = names.iter().filter(|name| !shared.contains(name)).filter_map(lack).collect();
    (shared, without)
}

fn is_same(size: u64, other: u64) -> bool {
    let (a, b) = (size as f64, other as f64);
    a == 0.0 || b == 0.0 || (a / b - 1.0).abs() <= SAME_SIZE
}

#[cfg(test)]
mod tests;

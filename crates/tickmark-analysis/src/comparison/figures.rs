//! The figures that two sides have in common, with the values that count as replicates.

use super::basis::Basis;
use super::history::History;
use super::line::{Figure, Marked};
use super::no_claim::NoClaimReason;
use super::options::RowSelection;
use super::side::{Side, of_runs};
use crate::report::{self, Mark, Row, TAIL, Unit};
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::nested::Nested;
use tickmark_stats::verdict::Order;
use tickmark_store::Recording;
use tickmark_wire::Group;

/// A side with the rows of each of its recordings.
pub(super) struct SideRows<'a> {
    pub(super) side: &'a Side,
    pub(super) rows: Vec<Vec<(Group, Row)>>,
    /// Metrics that carry the page's claims, whether or not they have a figure.
    primary: BTreeSet<String>,
    /// Figures of these that do; empty: all.
    figures: Vec<&'static str>,
}

impl<'a> SideRows<'a> {
    pub(super) fn from_side(side: &'a Side, picks: RowSelection<'_>) -> Self {
        let rows = |recording: &Recording| {
            let rows = report::rows_of(recording, &|_| true)
                .into_iter()
                .flat_map(|(group, rows)| rows.into_iter().map(move |row| (group, row)));
            rows.filter(|(group, row)| (picks.only)(*group, row)).collect()
        };
        let rows: Vec<Vec<(Group, Row)>> = side.recordings.iter().map(rows).collect();
        let primary = rows.iter().flatten().filter(|(group, row)| (picks.primary)(*group, row));
        let primary = primary.map(|(_, row)| row.metric.clone()).collect();
        Self { side, rows, primary, figures: picks.figures.to_vec() }
    }

    /// The rows of a metric, one for each recording that has it with a figure.
    fn rows(&self, metric: &str) -> Vec<&Row> {
        let own = |(_, row): &&(Group, Row)| row.metric == metric && row.value.is_some();
        self.rows.iter().filter_map(|rows| rows.iter().find(own)).map(|(_, row)| row).collect()
    }

    /// The group of a metric.
    fn group(&self, metric: &str) -> Option<Group> {
        self.rows.iter().flatten().find(|(_, row)| row.metric == metric).map(|(group, _)| *group)
    }

    /// Runs of a metric that were made, over all recordings.
    fn made(&self, metric: &str) -> usize {
        let own = self.rows.iter().flatten().filter(|(_, row)| row.metric == metric);
        own.map(|(_, row)| row.made).sum()
    }

    /// The most runs that any metric has, over all recordings.
    pub(super) fn runs(&self) -> usize {
        let mut runs: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, row) in self.rows.iter().flatten() {
            *runs.entry(&row.metric).or_default() += row.runs;
        }
        runs.into_values().max().unwrap_or(0)
    }

    /// Every metric with a figure, in the order of the summary.
    fn metrics(&self) -> Vec<&str> {
        let mut metrics: Vec<&str> = Vec::new();
        for (_, row) in self.rows.iter().flatten().filter(|(_, row)| row.value.is_some()) {
            if !metrics.contains(&row.metric.as_str()) {
                metrics.push(&row.metric);
            }
        }
        metrics
    }

    /// Metric, figure and unit of all that it has.
    pub(super) fn names(&self) -> Vec<(String, &'static str, Unit)> {
        let of = |metric: &str| {
            let row = self.rows(metric).into_iter().next();
            let named = |(figure, _): (&'static str, _)| row.map(|row| (metric.to_owned(), figure, row.unit));
            row.into_iter().flat_map(Row::figures).filter_map(named).collect::<Vec<_>>()
        };
        self.metrics().into_iter().flat_map(of).collect()
    }

    /// A figure of each block.
    pub(super) fn column(&self, metric: &str, figure: &str) -> BTreeMap<u32, f64> {
        runs(&self.rows(metric), figure).into_iter().flatten().collect()
    }

    /// The first metric of this side that carries claims and has no figure on the other.
    pub(super) fn lost(&self, other: &Self) -> Option<String> {
        self.without(other).into_iter().find(|metric| self.primary.contains(metric))
    }

    /// Metrics that the other side has no figure of.
    pub(super) fn without(&self, other: &Self) -> Vec<String> {
        let theirs = other.metrics();
        self.metrics().into_iter().filter(|metric| !theirs.contains(metric)).map(str::to_owned).collect()
    }

    pub(super) fn figures(&self, other: &Self, basis: &Basis, history: &History) -> Vec<Figure> {
        let mut figures = Vec::new();
        for metric in self.metrics() {
            let (ours, theirs) = (self.rows(metric), other.rows(metric));
            let ([first, ..], [second, ..]) = (&ours[..], &theirs[..]) else { continue };
            let unlike = if ours.iter().chain(&theirs).any(|row| row.unit != first.unit) {
                Some(NoClaimReason::OtherUnits)
            } else if !ours.iter().chain(&theirs).all(|row| row.same_size(first)) || !first.same_size(second)
            {
                Some(NoClaimReason::OtherSizes)
            } else {
                None
            };
            let no_floor =
                ours.iter().chain(&theirs).find_map(|row| row.no_floor()).map(NoClaimReason::NoFloor);
            let names = |rows: &[&Row]| -> Vec<&'static str> {
                let mut names = Vec::new();
                for (name, _) in rows.iter().flat_map(|row| row.figures()) {
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                names
            };
            // What another program printed is neither a floor nor a mean cost.
            let known = names(&theirs);
            let mut shared = names(&ours);
            shared.retain(|name| known.contains(name));
            if shared.is_empty() {
                shared.push("value");
            } else if names(&ours).into_iter().chain(known).any(|name| name == TAIL)
                && !shared.contains(&TAIL)
            {
                // Of a side that waited too long to have a tail the runs that lack it are missing.
                shared.push(TAIL);
            }
            for figure in shared {
                let few = matches!(basis, Basis::Few { .. });
                let name = (metric.to_owned(), figure);
                let history = few.then(|| history.get(&name)).flatten();
                let runs = [runs(&ours, figure), runs(&theirs, figure)];
                let (values, blocks) = replicates(&runs, basis, history.is_some());
                let in_order = match basis {
                    Basis::Apart => Some(values.clone()),
                    Basis::Few { imported: true, .. } => Some(
                        runs.each_ref().map(|side| side.iter().flatten().map(|(_, value)| *value).collect()),
                    ),
                    _ => None,
                };
                let counts = match basis {
                    // What was made one after the other is one stretch of time.
                    Basis::Few { order, .. } if !Basis::by_turns(order) => [1, 1],
                    _ => values.each_ref().map(Vec::len),
                };
                figures.push(Figure {
                    metric: metric.to_owned(),
                    group: self.group(metric).unwrap_or(Group::Machine),
                    figure,
                    primary: self.primary.contains(metric)
                        && (self.figures.is_empty() || self.figures.contains(&figure)),
                    unit: first.unit,
                    better: first.better,
                    over: [first.over, second.over],
                    // What is no floor is no figure to compare.
                    unlike: unlike.or(no_floor.filter(|_| figure == "floor")),
                    marks: marks(&ours, &theirs, figure),
                    order: in_order.and_then(|[first, second]| Order::one_after_the_other(&first, &second)),
                    values,
                    blocks,
                    counts,
                    step: step(&ours).max(step(&theirs)),
                    made: [(&runs[0], self), (&runs[1], other)]
                        .map(|(runs, side)| [runs.iter().map(Vec::len).sum(), side.made(metric)]),
                    between: between(&runs),
                    runs: runs.map(|of| of.into_iter().flatten().map(|(_, value)| value).collect()),
                    history,
                    by_pace: None,
                    paired: matches!(basis, Basis::Blocks { .. }),
                    exact: matches!(basis, Basis::Phases { .. }),
                });
            }
        }
        figures
    }
}

#[cfg(test)]
impl Figure {
    /// The floor of a single recording a side, judged by earlier ones.
    pub(super) fn floor(metric: &str, group: Group, floors: [f64; 2], history: &History) -> Self {
        let values = floors.map(|floor| vec![floor]);
        Self {
            metric: metric.to_owned(),
            group,
            figure: "floor",
            primary: true,
            unit: Unit::Nanoseconds,
            better: tickmark_wire::Better::Lower,
            over: [0; 2],
            unlike: None,
            runs: values.clone(),
            values,
            blocks: Vec::new(),
            counts: [1, 1],
            step: 0.0,
            order: None,
            made: [[1, 1]; 2],
            between: None,
            history: history.get(&(metric.to_owned(), "floor")),
            by_pace: None,
            paired: false,
            exact: false,
            marks: Vec::new(),
        }
    }
}

/// Marks of a figure in the rows of both sides, each with its sides.
fn marks(ours: &[&Row], theirs: &[&Row], figure: &str) -> Vec<Marked> {
    let mut all: Vec<Marked> = Vec::new();
    for (side, rows) in [ours, theirs].into_iter().enumerate() {
        for row in rows {
            // Why there is no floor is what the line says in place of a verdict.
            let of_floor = row.floor_marks.iter().filter(|_| figure == "floor" && row.no_floor().is_none());
            for mark in row.marks.iter().chain(of_floor) {
                let at = all.iter().position(|known| known.mark.is_like(mark)).unwrap_or_else(|| {
                    all.push(Marked { sides: [false; 2], mark: Mark::clone(mark) });
                    all.len() - 1
                });
                all[at].sides[side] = true;
            }
        }
    }
    all.sort_by_key(|marked| std::cmp::Reverse(marked.sides));
    all
}

/// To which step the values of a side were printed: that of the one with the most digits, as zeros at the end are often left out.
fn step(rows: &[&Row]) -> f64 {
    let steps = rows.iter().flat_map(|row| &row.each).filter_map(|each| each.step);
    steps.reduce(f64::min).unwrap_or(0.0)
}

/// Round and value of each run of each recording. A figure that a row lacks is the one that it has; but nothing else is a tail.
fn runs(rows: &[&Row], figure: &str) -> Vec<Vec<(u32, f64)>> {
    let of = |row: &&Row| {
        if figure == TAIL {
            return row.each.iter().filter_map(|each| Some((each.round, each.tail?))).collect();
        }
        let mut figures = row.figures();
        let at =
            figures.iter().position(|(name, _)| *name == figure).unwrap_or(figures.len().saturating_sub(1));
        if figures.is_empty() { Vec::new() } else { figures.swap_remove(at).1 }
    };
    rows.iter().map(of).collect()
}

/// The share of the variance that lies between the recordings of a side, the larger of both sides'.
fn between(runs: &[Vec<Vec<(u32, f64)>>; 2]) -> Option<f64> {
    let groups = |side: &Vec<Vec<(u32, f64)>>| -> Vec<Vec<f64>> {
        side.iter().map(|own| own.iter().map(|(_, value)| *value).collect()).collect()
    };
    let shares = runs.iter().filter_map(|side| Some(Nested::from_groups(&groups(side))?.share_between()));
    shares.max_by(f64::total_cmp)
}

/// The values of two sides, and from which block each pair is.
type Replicates = ([Vec<f64>; 2], Vec<usize>);

/// The values that count as replicates; none where there are too few to say how they spread.
fn replicates(runs: &[Vec<Vec<(u32, f64)>>; 2], basis: &Basis, known: bool) -> Replicates {
    let each = |side: &Vec<Vec<(u32, f64)>>| side.iter().filter_map(|own| of_runs(own)).collect::<Vec<f64>>();
    let apart = |values| (values, Vec::new());
    match basis {
        Basis::Blocks { .. } | Basis::Phases { .. } => {
            let column =
                |side: &Vec<Vec<(u32, f64)>>| side.iter().flatten().copied().collect::<BTreeMap<u32, f64>>();
            let [a, b] = runs.each_ref().map(column);
            let both = |(block, value): (&u32, &f64)| Some((*block as usize - 1, (*value, *b.get(block)?)));
            let (blocks, pairs): (Vec<usize>, Vec<(f64, f64)>) =
                a.iter().filter(|(block, _)| **block > 0).filter_map(both).unzip();
            (pairs.into_iter().unzip::<_, _, Vec<_>, Vec<_>>().into(), blocks)
        }
        Basis::Apart | Basis::RequestedRuns => {
            apart(runs.each_ref().map(|side| side.iter().flatten().map(|(_, value)| *value).collect()))
        }
        Basis::Recordings { .. } => apart(runs.each_ref().map(each)),
        Basis::Few { .. } if known => apart(runs.each_ref().map(each)),
        Basis::Few { .. } => apart([Vec::new(), Vec::new()]),
    }
}

//! From recordings to the model.

use super::basis::{Basis, Unit};
use super::environment::{differences, knob};
use super::history::{self, Earlier, History};
use super::line::Marked;
use super::line::{Figure, Line, Word};
use super::model::{Against, Model, Party};
use super::model::{Caution, Deciding};
use super::side::Side;
use super::why::Why;
use crate::report::{self, Mark, Row};
use std::collections::BTreeMap;
use tickmark_stats::nested::Nested;
use tickmark_stats::verdict::{Comparison, Rule, Sides, compare};
use tickmark_store::{Id, Recording};
use tickmark_wire::Group;

/// How sides are compared.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Changes below it do not matter: a share.
    pub margin: f64,
    /// What may count as a replicate.
    pub unit: Unit,
}

/// A side with the rows of each of its recordings.
struct Read<'a> {
    side: &'a Side,
    rows: Vec<Vec<Row>>,
}

/// Why nothing can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incomparable {
    /// There are no sides.
    Nothing,
    /// A recording is on both sides.
    Twice(Id),
    /// No metric has figures on two sides.
    NothingInCommon,
}

/// Compares every other side with the first. `earlier` gives recordings of these machines, newest first, as long as they are
/// asked for: they say how far replicates spread where there are too few of them. Only the rows that `only` picks are compared, and
/// their claims are corrected for each other alone.
///
/// # Errors
/// Nothing in common; a recording on both sides.
pub fn build(
    sides: &[Side],
    asked: Asked,
    only: &dyn Fn(Group, &Row) -> bool,
    earlier: &Earlier<'_>,
) -> Result<Model, Incomparable> {
    let read: Vec<Read<'_>> = sides.iter().map(|side| Read::of(side, only)).collect();
    let Some((base, others)) = read.split_first() else {
        return Err(Incomparable::Nothing);
    };
    for (at, side) in sides.iter().enumerate() {
        let same = |recording: &&Recording| {
            sides[..at]
                .iter()
                .flat_map(|other| &other.recordings)
                .any(|other| other.meta.id == recording.meta.id)
        };
        if let Some(twice) = side.recordings.iter().find(same) {
            return Err(Incomparable::Twice(twice.meta.id.clone()));
        }
    }
    let basis: Vec<Basis> = others.iter().map(|other| Basis::of(base.side, other.side, asked.unit)).collect();
    let few: Vec<&Side> =
        others.iter().zip(&basis).filter(|(_, b)| **b == Basis::Few).map(|(o, _)| o.side).collect();
    let history = if few.is_empty() {
        History::new()
    } else {
        history::of(earlier, &[&few[..], &[base.side]].concat())
    };
    let figures: Vec<Vec<Figure>> =
        others.iter().zip(&basis).map(|(other, basis)| base.figures(other, basis, &history)).collect();
    if figures.iter().all(Vec::is_empty) {
        return Err(Incomparable::NothingInCommon);
    }
    let rule = Rule { margin: asked.margin, ..Rule::default() };
    // All claims of all sides are corrected for each other.
    let claims = judged(&figures, rule, claim);
    let alone = judged(&figures, rule, runs_alone);
    let known = claims.iter().flatten().flatten().filter(|c| c.p.is_some()).count();
    let party = |read: &Read<'_>| {
        let runs = read.rows.first().into_iter().flatten().map(|row| row.runs).max().unwrap_or(0);
        Party::of(read.side, runs)
    };
    let against = others.iter().zip(basis).zip(figures).zip(claims.into_iter().zip(alone)).map(
        |(((other, basis), figures), (claims, alone))| {
            let without = [base.without(other), other.without(base)];
            let lines: Vec<Line> = figures
                .into_iter()
                .zip(claims.into_iter().zip(alone))
                .map(|(figure, (claim, alone))| figure.line(claim, alone, asked.margin))
                .collect();
            let differences = differences(base.side, other.side);
            let cautions = wanders(&lines).into_iter().chain(missing(&lines, &basis)).collect();
            let open: Vec<&str> = lines
                .iter()
                .filter(|line| line.word == Word::Undecided)
                .map(|line| line.metric.as_str())
                .collect();
            let experiment = (basis == Basis::Few && !open.is_empty())
                .then(|| deciding(base.side, &differences, &open))
                .flatten();
            Against { party: party(other), basis, cautions, differences, lines, without, experiment }
        },
    );
    Ok(Model { base: party(base), margin: asked.margin, claims: known, against: against.collect() })
}

/// Figures that some blocks lack: what is missing may be missing for what is compared.
fn missing(lines: &[Line], basis: &Basis) -> Option<Caution> {
    if !matches!(basis, Basis::Blocks { .. } | Basis::Phases { .. }) {
        return None;
    }
    let of = lines.iter().map(|line| line.replicates[0]).max()?;
    let fewer = lines.iter().filter(|line| line.replicates[0] < of);
    let figures: Vec<_> = fewer.map(|line| (line.metric.clone(), line.figure, line.replicates[0])).collect();
    (!figures.is_empty()).then_some(Caution::Missing { figures, of })
}

/// What the occasions of a figure say; none where there are too few.
fn claim(figure: &Figure) -> Option<Sides<'_>> {
    let [a, b] = &figure.values;
    if figure.exact || figure.unlike.is_some() || a.is_empty() || b.is_empty() {
        return None;
    }
    if figure.paired {
        return Some(Sides::Paired(a, b));
    }
    match figure.history {
        Some(history) => {
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            Some(Sides::Known {
                means: [mean(a), mean(b)],
                counts: [a.len(), b.len()],
                deviation: history.deviation,
                df: history.df,
            })
        }
        None => Some(Sides::Apart(a, b)),
    }
}

fn runs_alone(figure: &Figure) -> Option<Sides<'_>> {
    let [a, b] = &figure.runs;
    (!figure.exact && figure.unlike.is_none() && (figure.values[0].is_empty() || figure.history.is_some()))
        .then_some(Sides::Apart(a, b))
}

/// Judges those that there are, together.
fn judged<'a>(
    figures: &'a [Vec<Figure>],
    rule: Rule,
    of: impl Fn(&'a Figure) -> Option<Sides<'a>>,
) -> Vec<Vec<Option<Comparison>>> {
    let sides: Vec<Vec<Option<Sides<'_>>>> =
        figures.iter().map(|own| own.iter().map(&of).collect()).collect();
    let known: Vec<Sides<'_>> = sides.iter().flatten().flatten().copied().collect();
    let mut compared = compare(&known, rule).into_iter();
    let mut next = |sides: Option<Sides<'_>>| sides.and_then(|_| compared.next().flatten());
    sides.into_iter().map(|own| own.into_iter().map(&mut next).collect()).collect()
}

/// Figures whose differences change from block to block, if there are more than chance gives.
fn wanders(lines: &[Line]) -> Option<Caution> {
    let drifting: Vec<&Line> =
        lines.iter().filter(|l| l.checks.drift.is_some_and(|p| p < 0.01 / lines.len() as f64)).collect();
    let first = drifting.first()?;
    let such_as = (first.metric.clone(), first.figure);
    Some(Caution::Drifts { figures: drifting.len(), of: lines.len(), such_as })
}

/// The experiment that would decide.
fn deciding(base: &Side, differences: &[super::environment::Difference], open: &[&str]) -> Option<Deciding> {
    let knob = knob(differences)?;
    let plan = &base.recordings.first()?.meta.plan;
    // Rows that a metric gives several of are not probes.
    // What a command or another program measured is no probe either: it has no time of its own.
    let measured = |run: &&tickmark_wire::RunPlan| run.budget.get() > 0;
    let gives =
        |run: &tickmark_wire::RunPlan, metric: &str| run.metrics().any(|name| name.as_str() == metric);
    let known = |metric: &&&str| plan.runs.iter().filter(measured).any(|run| gives(run, metric));
    let mut probes: Vec<String> = open.iter().filter(known).map(|metric| (*metric).to_owned()).collect();
    probes.dedup();
    Some(Deciding { knob, probes: if probes.len() > 4 { Vec::new() } else { probes } })
}

impl<'a> Read<'a> {
    fn of(side: &'a Side, only: &dyn Fn(Group, &Row) -> bool) -> Self {
        let rows = |recording: &Recording| {
            let model = report::build(recording, &|_| true, false);
            let rows = model
                .groups
                .into_iter()
                .flat_map(|(group, rows)| rows.into_iter().map(move |row| (group, row)));
            rows.filter(|(group, row)| only(*group, row)).map(|(_, row)| row).collect()
        };
        Self { side, rows: side.recordings.iter().map(rows).collect() }
    }

    /// The rows of a metric, one for each recording that has it with a figure.
    fn rows(&self, metric: &str) -> Vec<&Row> {
        let own = |rows: &'_ [Row]| rows.iter().position(|row| row.metric == metric && row.value.is_some());
        self.rows.iter().filter_map(|rows| rows.get(own(rows)?)).collect()
    }

    /// Every metric with a figure, in the order of the summary.
    fn metrics(&self) -> Vec<&str> {
        let mut metrics: Vec<&str> = Vec::new();
        for row in self.rows.iter().flatten().filter(|row| row.value.is_some()) {
            if !metrics.contains(&row.metric.as_str()) {
                metrics.push(&row.metric);
            }
        }
        metrics
    }

    /// Metrics that the other side has no figure of.
    fn without(&self, other: &Self) -> Vec<String> {
        let theirs = other.metrics();
        self.metrics().into_iter().filter(|metric| !theirs.contains(metric)).map(str::to_owned).collect()
    }

    fn figures(&self, other: &Self, basis: &Basis, history: &History) -> Vec<Figure> {
        let mut figures = Vec::new();
        for metric in self.metrics() {
            let (ours, theirs) = (self.rows(metric), other.rows(metric));
            let ([first, ..], [second, ..]) = (&ours[..], &theirs[..]) else { continue };
            let unlike = if ours.iter().chain(&theirs).any(|row| row.unit != first.unit) {
                Some(Why::OtherUnits)
            } else if !ours.iter().chain(&theirs).all(|row| row.same_size(first)) || !first.same_size(second)
            {
                Some(Why::OtherSizes)
            } else {
                None
            };
            let no_floor = ours.iter().chain(&theirs).find_map(|row| row.no_floor()).map(Why::NoFloor);
            let names: Vec<&'static str> = first.figures().into_iter().map(|(name, _)| name).collect();
            let known = |name: &&'static str| second.figures().iter().any(|(other, _)| other == name);
            // What another program printed is neither a floor nor a mean cost.
            let shared: Vec<&'static str> = names.iter().copied().filter(known).collect();
            let shared = if shared.is_empty() { vec!["value"] } else { shared };
            for figure in shared {
                let history =
                    history.get(&(metric.to_owned(), figure)).copied().filter(|_| *basis == Basis::Few);
                let runs = [runs(&ours, figure), runs(&theirs, figure)];
                figures.push(Figure {
                    metric: metric.to_owned(),
                    figure,
                    unit: first.unit,
                    better: first.better,
                    over: [first.over, second.over],
                    // What is no floor is no figure to compare.
                    unlike: unlike.or(no_floor.filter(|_| figure == "floor")),
                    marks: marks(&ours, &theirs, figure),
                    values: occasions(&runs, basis, history.is_some()),
                    between: between(&runs),
                    runs: runs.map(|of| of.into_iter().flatten().map(|(_, value)| value).collect()),
                    history,
                    paired: matches!(basis, Basis::Blocks { .. }),
                    exact: matches!(basis, Basis::Phases { .. }),
                });
            }
        }
        figures
    }
}

/// What is to be known of a figure of the rows of both sides, each with the sides that it is of.
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

/// Round and value of each run of each recording. A figure that a row lacks is the one that it has.
fn runs(rows: &[&Row], figure: &str) -> Vec<Vec<(u32, f64)>> {
    let of = |row: &&Row| {
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
    let shares = runs.iter().filter_map(|side| Some(Nested::of(&groups(side))?.share_between()));
    shares.max_by(f64::total_cmp)
}

/// The values that count as occasions; none where there are too few to say how they spread.
fn occasions(runs: &[Vec<Vec<(u32, f64)>>; 2], basis: &Basis, known: bool) -> [Vec<f64>; 2] {
    let each = |side: &Vec<Vec<(u32, f64)>>| -> Vec<f64> {
        let mean =
            |own: &Vec<(u32, f64)>| own.iter().map(|(_, value)| value).sum::<f64>() / own.len().max(1) as f64;
        side.iter().map(mean).collect()
    };
    match basis {
        Basis::Blocks { .. } | Basis::Phases { .. } => {
            let column =
                |side: &Vec<Vec<(u32, f64)>>| side.iter().flatten().copied().collect::<BTreeMap<u32, f64>>();
            let [a, b] = runs.each_ref().map(column);
            a.iter()
                .filter_map(|(block, value)| Some((*value, *b.get(block)?)))
                .unzip::<_, _, Vec<_>, Vec<_>>()
                .into()
        }
        Basis::Apart { .. } | Basis::Asked => {
            runs.each_ref().map(|side| side.iter().flatten().map(|(_, value)| *value).collect())
        }
        Basis::Recordings { .. } => runs.each_ref().map(each),
        Basis::Few if known => runs.each_ref().map(each),
        Basis::Few => [Vec::new(), Vec::new()],
    }
}

//! From recordings to the model.

use super::basis::Basis;
use super::environment::{differences, knob};
use super::figures::SideRows;
use super::group::{self, GroupLine};
use super::history::{self, Earlier, History};
use super::judged::{self, Page};
use super::line::{Figure, Line, Word};
use super::model::{Against, Model, Party};
use super::model::{Caution, Deciding};
use super::options::{CompareOptions, RowSelection};
use super::pace::Paced;
use super::side::Side;
use super::trend;
use crate::report::TAIL;
use tickmark_stats::verdict::Rule;
use tickmark_store::{Id, Recording};

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
/// asked for: they say how far replicates spread where there are too few of them. Only the rows that are picked are compared, and
/// their claims are corrected for each other alone.
///
/// # Errors
/// Nothing in common; a recording on both sides.
pub fn build(
    sides: &[Side],
    options: CompareOptions,
    picks: RowSelection<'_>,
    earlier: &Earlier<'_>,
) -> Result<Model, Incomparable> {
    let read: Vec<SideRows<'_>> = sides.iter().map(|side| SideRows::from_side(side, picks)).collect();
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
    let basis: Vec<Basis> =
        others.iter().map(|other| Basis::for_sides(base.side, other.side, options.unit)).collect();
    let is_few = |basis: &Basis| matches!(basis, Basis::Few { .. });
    let few: Vec<&Side> = others.iter().zip(&basis).filter(|(_, b)| is_few(b)).map(|(o, _)| o.side).collect();
    let history = if few.is_empty() {
        History::default()
    } else {
        history::history_before(earlier, &[&few[..], &[base.side]].concat())
    };
    let mut pages: Vec<Page<'_>> = others
        .iter()
        .zip(&basis)
        .map(|(other, basis)| Page { basis, figures: base.figures(other, basis, &history) })
        .collect();
    if pages.iter().all(|page| page.figures.is_empty()) {
        return Err(Incomparable::NothingInCommon);
    }
    let rule = Rule { margin: options.margin, correction: options.correction, ..Rule::default() };
    let sound = |figure: &Figure| figure.primary && figure.unlike.is_none() && !figure.missing(options);
    let paced = Paced::from_pages(&pages, &history);
    let both = pages.iter().zip(&paced.pages).map(|(page, paced)| {
        (page.basis, page.figures.iter().chain(&paced.figures).filter(|f| sound(f)).collect())
    });
    let groups = group::judged(both, [&history, &paced.history], rule);
    // All claims of all sides are corrected for each other; what carries none is looked at for itself.
    let mut claims = judged::claimed(&pages, &groups, rule, &history);
    let by_pace = judged::claimed(&paced.pages, &groups, rule, &paced.history);
    let groups: Vec<Vec<GroupLine>> = groups.into_iter().map(group::keep_shown_lines).collect();
    paced.take_over(&by_pace, &groups, &mut pages, &mut claims);
    let secondary = judged::secondary(&pages, rule, &history);
    let alone = judged::runs_alone(&pages, rule);
    let known = claims.iter().flatten().flatten().filter(|c| c.p.is_some()).count();
    let same =
        |figure: &Figure, (metric, name): (&str, &str)| figure.metric == metric && figure.figure == name;
    let everywhere = |metric: &str, name: &str| {
        pages.iter().all(|page| page.figures.iter().any(|f| same(f, (metric, name)) && sound(f)))
    };
    let doses = trend::trend_lines(&read, &basis, rule.level, &everywhere);
    let party = |read: &SideRows<'_>| Party::from_side(read.side, read.runs());
    let judged = claims.into_iter().zip(secondary).zip(alone).zip(groups);
    let against = others.iter().zip(&basis).zip(pages.into_iter().map(|page| page.figures)).zip(judged).map(
        |(((other, basis), figures), (((claims, secondary), alone), groups))| {
            let without = [base.without(other), other.without(base)];
            let lost = base.lost(other);
            let claims = claims.into_iter().zip(secondary).map(|(claim, secondary)| claim.or(secondary));
            let lines: Vec<Line> = figures
                .into_iter()
                .zip(claims.zip(alone))
                .map(|(figure, (claim, alone))| figure.line(claim, alone, options))
                .collect();
            let lines = shaped(lines);
            let differences = differences(base.side, other.side);
            let cautions = wanders(&lines).into_iter().collect();
            let open: Vec<&str> = lines
                .iter()
                .filter(|line| line.word == Word::Undecided)
                .map(|line| line.metric.as_str())
                .collect();
            let experiment = (is_few(basis) && !open.is_empty())
                .then(|| deciding(base.side, &differences, &open))
                .flatten();
            let (party, basis) = (party(other), basis.clone());
            Against { party, basis, cautions, differences, lines, groups, without, lost, experiment }
        },
    );
    let against = against.collect();
    Ok(Model {
        base: party(base),
        margin: options.margin,
        claims: known,
        correction: options.correction,
        against,
        doses,
    })
}

/// Tells of tails that changed where the centre did not.
fn shaped(mut lines: Vec<Line>) -> Vec<Line> {
    let same = |line: &&Line| line.figure == "value" && line.word == Word::Equivalent;
    let centres: Vec<String> = lines.iter().filter(same).map(|line| line.metric.clone()).collect();
    for line in lines.iter_mut().filter(|line| line.figure == TAIL && line.changed()) {
        line.same_centre = centres.contains(&line.metric);
    }
    lines
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

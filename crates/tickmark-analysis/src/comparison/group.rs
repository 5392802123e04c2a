//! Related figures together: thirty system calls that are each a little slower are a change that none of them shows alone.

use super::basis::Basis;
use super::class::Class;
use super::history::{History, Name};
use super::line::Figure;
use std::collections::BTreeMap;
use tickmark_stats::composite::{composite, squares};
use tickmark_stats::earlier::{PAIRS, Series, greatest};
use tickmark_stats::verdict::{Comparison, Family, Rule, Sides, compare};
use tickmark_wire::{Better, Group};

/// Fewer figures are no group.
pub(super) const LEAST: usize = 3;
/// A composite beyond so many deviations is as far as this one.
const FAR: f64 = 500.0;

/// Figures of one group, judged as one.
#[derive(Debug, Clone)]
pub struct GroupLine {
    /// Which.
    pub group: Group,
    /// True if it is the clocks that are read by a call.
    pub by_call: bool,
    /// `floor`, `mean` or `value`.
    pub figure: &'static str,
    /// Which way is better, for all of them.
    pub better: Better,
    /// How many figures it has.
    pub figures: usize,
    /// How many of them are lower and higher on the other side.
    pub moved: [usize; 2],
    /// True if they rise together: the sign of their standardised mean, where large figures weigh no more than small ones.
    pub rises: bool,
    /// The geometric mean of their ratios.
    pub ratio: f64,
    /// The chance of such a difference where there is none.
    pub p: f64,
    /// The same, corrected for all groups of the page.
    pub adjusted: f64,
    /// True if a difference is claimed.
    pub changed: bool,
    /// Pace of the processor on the other side relative to the first, where the figures are in units of the pace: their change comes from
    /// the pace.
    pub by_pace: Option<f64>,
}

impl GroupLine {
    /// The class of its figures.
    pub(super) fn class(&self) -> Class {
        Class {
            group: self.group,
            by_call: self.by_call,
            figure: self.figure,
            better: self.better,
            by_pace: self.by_pace.is_some(),
        }
    }

    /// True if it changed, in the direction that is not the better one.
    #[must_use]
    pub fn worse(&self) -> bool {
        let worse = match self.better {
            Better::Lower => self.rises,
            Better::Higher => !self.rises,
            Better::Neither | Better::Other(_) => false,
        };
        self.changed && worse
    }
}

/// Values by which a group is judged: the logarithms of its figures, or one composite of each side with its known deviation.
enum Values {
    Paired(Vec<f64>, Vec<usize>),
    Apart([Vec<f64>; 2]),
    Known { composite: f64, counts: [usize; 2], deviation: f64, df: f64, earlier: Series },
}

struct Members<'a> {
    figures: Vec<&'a Figure>,
    values: Values,
    zeros: Vec<f64>,
}

/// The groups of each page's figures, for themselves and in units of the pace, each with its earlier recordings; judged together: a wrong
/// claim in any of them has the rule's level.
pub(super) fn judged<'a>(
    pages: impl Iterator<Item = (&'a Basis, Vec<&'a Figure>)>,
    histories: [&History; 2],
    rule: Rule,
) -> Vec<Vec<GroupLine>> {
    let groups: Vec<(&Basis, Vec<Members<'_>>)> =
        pages.map(|(basis, figures)| (basis, members(&figures, histories))).collect();
    let earlier = |groups: &[Members<'_>]| {
        greatest(&groups.iter().filter_map(Members::earlier).collect::<Vec<Series>>())
    };
    let families: Vec<Family<'_>> = groups
        .iter()
        .map(|(basis, groups)| basis.family(groups.iter().map(Members::sides).collect(), earlier(groups)))
        .collect();
    let compared = compare(&families, rule);
    let lines = groups.iter().zip(compared);
    lines
        .map(|((_, groups), compared)| {
            groups.iter().zip(compared).filter_map(|(g, c)| g.line(&c?, rule.level)).collect()
        })
        .collect()
}

/// A line for each group: for itself, or in units of the pace where it changed in these alone.
pub(super) fn keep_shown_lines(lines: Vec<GroupLine>) -> Vec<GroupLine> {
    let (own, paced): (Vec<GroupLine>, Vec<GroupLine>) =
        lines.into_iter().partition(|line| line.by_pace.is_none());
    let by_pace = |own: &GroupLine| {
        let same = |line: &&GroupLine| line.class() == Class { by_pace: true, ..own.class() };
        paced.iter().find(same).filter(|line| line.changed && !own.changed).cloned()
    };
    own.into_iter().map(|line| by_pace(&line).unwrap_or(line)).collect()
}

/// The groups of a page's figures that can be compared and carry claims.
fn members<'a>(figures: &[&'a Figure], histories: [&History; 2]) -> Vec<Members<'a>> {
    let mut groups: BTreeMap<Class, Vec<&Figure>> = BTreeMap::new();
    let usable = |figure: &&Figure| {
        let positive =
            figure.values.iter().all(|side| !side.is_empty() && side.iter().all(|value| *value > 0.0));
        positive && !figure.exact
    };
    for figure in figures.iter().copied().filter(usable) {
        groups.entry(figure.class()).or_default().push(figure);
    }
    let one = |figures: Vec<&'a Figure>| {
        let by_pace = figures.first()?.by_pace.is_some();
        let values = values(&figures, histories[usize::from(by_pace)])?;
        let zeros = match &values {
            Values::Paired(values, _) => vec![0.0; values.len()],
            _ => Vec::new(),
        };
        Some(Members { figures, values, zeros })
    };
    groups.into_values().map(alike).filter(|figures| figures.len() >= LEAST).filter_map(one).collect()
}

fn values(figures: &[&Figure], history: &History) -> Option<Values> {
    let first = figures.first()?;
    if first.paired {
        return paired(figures);
    }
    if figures.iter().all(|figure| figure.history.is_some()) {
        return known_values(figures, history);
    }
    if figures.iter().any(|figure| figure.history.is_some()) {
        return None;
    }
    let logs = |figure: &&Figure| figure.values.concat().iter().map(|value| value.ln()).collect();
    let mut both = composite(&figures.iter().map(logs).collect::<Vec<Vec<f64>>>(), mean)?;
    let second = both.split_off(first.values[0].len());
    Some(Values::Apart([both, second]))
}

/// Those that have the replicates that most of them have: others are not replicates of the group.
fn alike(figures: Vec<&Figure>) -> Vec<&Figure> {
    let of = |figure: &Figure| (figure.values.each_ref().map(Vec::len), figure.blocks.clone());
    let mut counts = BTreeMap::new();
    figures.iter().for_each(|figure| *counts.entry(of(figure)).or_insert(0) += 1);
    let most = counts.into_iter().max_by_key(|(_, count)| *count).map(|(replicates, _)| replicates);
    figures.into_iter().filter(|figure| Some(of(figure)) == most).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The logarithms of the ratios of each block.
fn paired(figures: &[&Figure]) -> Option<Values> {
    let logs = |figure: &&Figure| {
        figure.values[0].iter().zip(&figure.values[1]).map(|(a, b)| (b / a).ln()).collect()
    };
    let columns: Vec<Vec<f64>> = figures.iter().map(logs).collect();
    Some(Values::Paired(composite(&columns, |_| 0.0)?, figures.first()?.blocks.clone()))
}

/// Of single recordings, by the deviations of earlier ones.
fn known_values(figures: &[&Figure], history: &History) -> Option<Values> {
    let names: Vec<Name> = figures.iter().map(|figure| (figure.metric.clone(), figure.figure)).collect();
    let columns = history.columns(&names);
    let deviations: Vec<f64> = (0..names.len()).map(|at| columns.deviation(at)).collect();
    let sum: f64 = columns.logs.iter().filter_map(|columns| squares(columns, &deviations)).sum();
    let standard = |(figure, deviation): (&&Figure, &f64)| {
        let [a, b] = figure.values.each_ref().map(|values| mean(values));
        (*deviation > 0.0).then(|| (b / a).ln() / deviation)
    };
    let each: Vec<f64> = figures.iter().zip(&deviations).filter_map(standard).collect();
    let df = columns.df();
    let counts = figures.first()?.counts;
    let composite = mean(&each).clamp(-FAR, FAR);
    let earlier = history.composites(&names, &deviations);
    let joint = earlier.iter().map(|values| values.iter().flatten().count());
    // As many as a figure needs, of those that have the whole group.
    let enough = joint.map(|count| count * count.saturating_sub(1) / 2).sum::<usize>() >= PAIRS;
    (enough && df > 2.0 && sum > 0.0).then(|| Values::Known {
        composite,
        counts,
        deviation: (sum / (df - 2.0)).sqrt(),
        df,
        earlier,
    })
}

impl Members<'_> {
    /// The same of earlier recordings.
    fn earlier(&self) -> Option<Series> {
        match &self.values {
            Values::Known { earlier, .. } => Some(earlier.clone()),
            Values::Paired(..) | Values::Apart(..) => None,
        }
    }

    fn sides(&self) -> Sides<'_> {
        match &self.values {
            Values::Paired(values, blocks) => {
                Sides::Paired { values: [&self.zeros, values], blocks: Some(blocks), step: 0.0 }
            }
            Values::Apart([a, b]) => Sides::apart(a, b),
            Values::Known { composite, counts, deviation, df, .. } => Sides::Known {
                means: [1.0, composite.exp()],
                counts: *counts,
                deviation: *deviation,
                df: *df,
            },
        }
    }

    fn line(&self, claim: &Comparison, level: f64) -> Option<GroupLine> {
        let first = self.figures.first()?;
        let ratios: Vec<f64> =
            self.figures.iter().map(|figure| mean(&figure.values[1]) / mean(&figure.values[0])).collect();
        let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        // What is the same throughout is no group that changed or did not.
        if ratios.iter().all(|ratio| *ratio == 1.0) {
            return None;
        }
        Some(GroupLine {
            group: first.group,
            by_call: first.class().by_call,
            figure: first.figure,
            better: first.better,
            figures: ratios.len(),
            moved: [
                ratios.iter().filter(|ratio| **ratio < 1.0).count(),
                ratios.iter().filter(|ratio| **ratio > 1.0).count(),
            ],
            rises: claim.means[1] > claim.means[0],
            ratio: mean(&logs).exp(),
            p: claim.p?,
            adjusted: claim.adjusted?,
            changed: claim.adjusted? < level,
            by_pace: first.by_pace,
        })
    }
}

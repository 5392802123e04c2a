//! Single recordings beside the pace of the processor.
//!
//! From one recording to the next a machine is faster or slower as a whole: by its clock, a neighbour on the same core, its host.
//! What runs in user space alone shows that, and nothing that the kernel does to a call reaches it. A figure in units of that pace
//! spreads less over earlier recordings, so a smaller change of it can be told (the analysis of covariance, Fisher, Statistical
//! methods for research workers, section 49.1, with the slope 1: a figure that takes twice as long as the pace does is the same).

use super::group::{GroupLine, LEAST};
use super::history::{Figures, History, Name};
use super::judged::Page;
use super::line::Figure;
use crate::report::Unit;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::verdict::{Comparison, LEVEL, Rule, Sides, compare_all};
use tickmark_wire::Better;

/// Name of the pace among figures.
const PACE: &str = "pace";

/// True if a metric is of instructions in user space alone: nothing of the kernel takes part in it.
fn shows_pace(metric: &str) -> bool {
    ["clock.tsc.", "op."].iter().any(|begin| metric.starts_with(begin)) || metric == "syscall.getcpu.vdso"
}

/// The same pages and earlier recordings, in units of the pace.
pub(super) struct Paced<'a> {
    pub(super) pages: Vec<Page<'a>>,
    pub(super) history: History,
}

impl<'a> Paced<'a> {
    /// Of figures that earlier recordings judge. A page whose pace differs as such has none: what changed there is more than a call.
    pub(super) fn from_pages(pages: &[Page<'a>], history: &History) -> Self {
        let of_pace = |figure: &&Figure| shows_pace(&figure.metric) && is_judged(figure);
        let names = |page: &Page<'_>| page.figures.iter().filter(of_pace).map(name).collect();
        let own = pages.iter().map(names).filter(|names: &BTreeSet<Name>| !names.is_empty());
        let names = own.reduce(|a, b| &a & &b).unwrap_or_default();
        let history = history.each_recording(|figures| in_units_of(&names, figures));
        let paced = |page: &Page<'a>| {
            let own = |side: usize| {
                let judged = page.figures.iter().filter(|figure| is_judged(figure));
                judged.map(|figure| (name(figure), mean(&figure.values[side]))).collect::<Figures>()
            };
            let counts = page.figures.iter().find(|figure| is_judged(figure)).map_or([1, 1], |f| f.counts);
            let sides = [0, 1].map(|side| in_units_of(&names, &own(side)));
            let ratios = steady(&sides, counts, &history);
            let figure = |figure: &Figure| {
                let by_pace =
                    ratios.get(figure.figure).copied().filter(|_| is_judged(figure) && is_time(figure));
                let name = name(figure);
                let values = [sides[0].get(&name)?, sides[1].get(&name)?].map(|value| vec![*value]);
                let history = Some(history.get(&name)?);
                by_pace.map(|_| Figure { values, history, by_pace, ..figure.clone() })
            };
            let figures = page.figures.iter().filter_map(figure).collect();
            Page { basis: page.basis, figures }
        };
        Self { pages: pages.iter().map(paced).collect(), history }
    }

    /// Hands on what is claimed in these units: of groups that changed in these alone, so that a figure is asked once. `own` are their
    /// claims, `claims` those of the figures for themselves, `told` the groups.
    pub(super) fn take_over(
        self,
        own: &[Vec<Option<Comparison>>],
        shown: &[Vec<GroupLine>],
        pages: &mut [Page<'_>],
        claims: &mut [Vec<Option<Comparison>>],
    ) {
        let each = self.pages.into_iter().zip(own).zip(shown).zip(pages).zip(claims);
        for ((((paced, own), shown), page), claims) in each {
            let by_pace = |figure: &Figure| shown.iter().any(|line| line.class() == figure.class());
            let changed: BTreeMap<Name, (Figure, Comparison)> = paced
                .figures
                .into_iter()
                .zip(own)
                .filter(|(figure, _)| by_pace(figure))
                .filter_map(|(figure, claim)| Some((figure, claim.filter(|c| c.verdict.is_change())?)))
                .map(|(figure, claim)| (name(&figure), (figure, claim)))
                .collect();
            for (figure, claim) in page.figures.iter_mut().zip(claims) {
                let (Some((paced, by_pace)), Some(own)) = (changed.get(&name(figure)), claim.as_mut()) else {
                    continue;
                };
                (figure.by_pace, figure.history) = (paced.by_pace, paced.history);
                // The means stay what was measured.
                *own = Comparison { means: own.means, ..*by_pace };
            }
        }
    }
}

fn name(figure: &Figure) -> Name {
    (figure.metric.clone(), figure.figure)
}

fn is_judged(figure: &Figure) -> bool {
    figure.history.is_some() && figure.unlike.is_none() && figure.values.iter().all(|own| !own.is_empty())
}

fn is_time(figure: &Figure) -> bool {
    figure.unit == Unit::Nanoseconds && figure.better == Better::Lower
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The figures of a recording that are none of the pace, in units of it: of its figures of the same kind, their geometric mean, which stands
/// beside them. What has too few of them has no pace.
fn in_units_of(pace: &BTreeSet<Name>, figures: &Figures) -> Figures {
    let kinds: BTreeSet<&'static str> = pace.iter().map(|(_, kind)| *kind).collect();
    let of = |kind: &'static str| {
        let own = pace.iter().filter(|(_, other)| *other == kind);
        let logs: Option<Vec<f64>> = own.map(|name| Some(figures.get(name)?.ln())).collect();
        logs.filter(|logs| logs.len() >= LEAST).map(|logs| (kind, mean(&logs).exp()))
    };
    let paces: BTreeMap<&'static str, f64> = kinds.into_iter().filter_map(of).collect();
    let others = figures.iter().filter(|(name, _)| !shows_pace(&name.0));
    let divided = others.filter_map(|(name, value)| Some((name.clone(), value / paces.get(name.1)?)));
    divided.chain(paces.iter().map(|(kind, value)| ((PACE.to_owned(), *kind), *value))).collect()
}

/// The ratio of both sides' paces, by the kind of figure, where earlier recordings were as far from each other.
fn steady(sides: &[Figures; 2], counts: [usize; 2], history: &History) -> BTreeMap<&'static str, f64> {
    let one = |((metric, kind), first): (&Name, &f64)| {
        let second = sides[1].get(&(PACE.to_owned(), *kind)).filter(|_| metric == PACE)?;
        let known = history.get(&(PACE.to_owned(), *kind))?;
        let (deviation, df) = (known.deviation, known.df);
        let sides = Sides::Known { means: [*first, *second], counts, deviation, df };
        let p = compare_all(&[sides], Rule::default())[0]?.p?;
        (p >= LEVEL).then_some((*kind, second / first))
    };
    sides[0].iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::basis::Basis;
    use crate::comparison::{group, judged};
    use tickmark_wire::Group;

    const PACES: [&str; 3] = ["clock.tsc.plain", "clock.tsc.fenced", "op.int64.add"];
    const CALLS: [&str; 3] = ["syscall.null", "syscall.read", "syscall.write"];

    /// Twenty earlier recordings of a machine that is up to a tenth slower as a whole, and each figure by a per cent for itself.
    fn history() -> History {
        let own = |at: usize, number: usize| {
            0.01 * (((number + 3) * (2 * at + 7) * (number + at + 1)) % 23) as f64 / 23.0
        };
        let whole = |number: usize| 1.0 + 0.1 * ((number * 13) % 20) as f64 / 20.0;
        let value = |at, number| 100.0 * whole(number) * (1.0 + own(at, number));
        let figure =
            |number| move |(at, metric): (usize, &&str)| (((*metric).to_owned(), "floor"), value(at, number));
        let all = || PACES.iter().chain(&CALLS).enumerate();
        History::from_recordings((0..20).map(|number| all().map(figure(number)).collect()).collect())
    }

    /// Of a pair of recordings whose pace and whose calls went to so much: the claimed ratio of each call, and the paces' of the group.
    fn claimed(pace: f64, calls: f64) -> ([Option<f64>; 3], Vec<Option<f64>>) {
        let (history, basis) = (history(), Basis::Few { order: "AB".to_owned(), imported: false });
        let of = |ratio: f64, group| {
            let history = &history;
            move |metric: &&str| Figure::floor(metric, group, [105.0, 105.0 * ratio], history)
        };
        let paces = PACES.iter().map(of(pace, Group::Arithmetic));
        let figures: Vec<Figure> = paces.chain(CALLS.iter().map(of(calls, Group::SystemCall))).collect();
        let mut pages = vec![Page { basis: &basis, figures }];
        let paced = Paced::from_pages(&pages, &history);
        let both = pages[0].figures.iter().chain(&paced.pages[0].figures).collect();
        let rule = Rule::default();
        let groups = group::judged(std::iter::once((&basis, both)), [&history, &paced.history], rule);
        let mut claims = judged::claimed(&pages, &groups, rule, &history);
        let own = judged::claimed(&paced.pages, &groups, rule, &paced.history);
        let shown: Vec<Vec<GroupLine>> = groups.into_iter().map(group::keep_shown_lines).collect();
        paced.take_over(&own, &shown, &mut pages, &mut claims);
        let ratio = |at: usize| claims[0][at].filter(|c| c.verdict.is_change()).and_then(|c| c.change().0);
        let changed = shown.iter().flatten().filter(|line| line.changed && line.group == Group::SystemCall);
        ([3, 4, 5].map(ratio), changed.map(|line| line.by_pace).collect())
    }

    #[test]
    fn calls_that_do_not_follow_the_pace_changed() {
        let (calls, groups) = claimed(0.98, 1.04);
        assert!(
            matches!(groups[..], [Some(pace)] if (pace - 0.98).abs() < 1e-9),
            "the machine itself varies more: {groups:?}"
        );
        for ratio in calls {
            assert!((ratio.unwrap() - 1.04 / 0.98).abs() < 1e-9, "{calls:?}");
        }
        assert_eq!(claimed(1.05, 1.05), ([None; 3], vec![]), "they follow");
        assert_eq!(claimed(1.0, 1.0), ([None; 3], vec![]));
        // Far more than the machine varies: no need of a pace.
        let (calls, groups) = claimed(1.0, 1.5);
        assert_eq!(groups, [None]);
        assert!((calls[0].unwrap() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_pace_that_changed_itself_is_none() {
        assert_eq!(claimed(1.4, 1.0), ([None; 3], vec![]), "what reached the pace is no change of the calls");
        assert_eq!(claimed(0.7, 1.0), ([None; 3], vec![]));
    }
}

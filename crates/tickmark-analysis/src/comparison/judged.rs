//! Judges the replicates of all figures of a page together.

use super::basis::Basis;
use super::class::Class;
use super::group::GroupLine;
use super::history::{History, Name};
use super::line::Figure;
use std::collections::BTreeSet;
use tickmark_stats::verdict::{Comparison, Family, Rule, Sides, Verdict, compare};

/// The figures of one side against the first.
pub(super) struct Page<'a> {
    pub(super) basis: &'a Basis,
    pub(super) figures: Vec<Figure>,
}

/// The replicates of a figure; none where there are too few.
fn claim(figure: &Figure) -> Option<Sides<'_>> {
    let [a, b] = &figure.values;
    if figure.exact || figure.unlike.is_some() || a.is_empty() || b.is_empty() {
        return None;
    }
    let step = figure.step;
    if figure.paired {
        return Some(Sides::Paired { values: [a, b], blocks: Some(&figure.blocks), step });
    }
    match figure.history {
        Some(history) => {
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            Some(Sides::Known {
                means: [mean(a), mean(b)],
                counts: figure.counts,
                deviation: history.deviation,
                df: history.df,
            })
        }
        None => Some(Sides::Apart { values: [a, b], step, order: figure.order }),
    }
}

/// Judges the runs alone, as if replicates did not vary; secondary to the verdict.
pub(super) fn runs_alone(pages: &[Page<'_>], rule: Rule) -> Vec<Vec<Option<Comparison>>> {
    judged(pages, rule, &History::default(), |_, figure| {
        let [a, b] = &figure.runs;
        (!figure.exact
            && figure.unlike.is_none()
            && (figure.values[0].is_empty() || figure.history.is_some()))
        .then_some(Sides::Apart { values: [a, b], step: figure.step, order: figure.order })
    })
}

/// Judges figures that carry no claims.
pub(super) fn secondary(pages: &[Page<'_>], rule: Rule, history: &History) -> Vec<Vec<Option<Comparison>>> {
    judged(pages, rule, history, |_, figure| claim(figure).filter(|_| !figure.primary))
}

/// The claims of each page. Single recordings are judged from the group down: the figures of a group for themselves, and none is surer
/// than its group (Meinshausen, Hierarchical testing of variable importance, 2008); those of no group together.
pub(super) fn claimed(
    pages: &[Page<'_>],
    groups: &[Vec<GroupLine>],
    rule: Rule,
    history: &History,
) -> Vec<Vec<Option<Comparison>>> {
    let group = |page: usize, figure: &Figure| {
        let own = |line: &&GroupLine| line.class() == figure.class();
        groups[page].iter().find(own).filter(|_| figure.history.is_some())
    };
    let class = |page: usize, figure: &Figure| group(page, figure).map(GroupLine::class);
    let figures =
        || pages.iter().enumerate().flat_map(|(at, page)| page.figures.iter().map(move |f| (at, f)));
    let classes: BTreeSet<Option<Class>> = figures().map(|(page, figure)| class(page, figure)).collect();
    let mut all: Vec<Vec<Option<Comparison>>> =
        pages.iter().map(|page| vec![None; page.figures.len()]).collect();
    let one_class = classes.len() < 2 && !classes.iter().any(Option::is_some);
    for one in classes {
        // In units of the pace what belongs to no group is not asked.
        let is_wanted = |figure: &Figure| figure.primary && (one.is_some() || figure.by_pace.is_none());
        let of =
            |page: usize, figure| claim(figure).filter(|_| is_wanted(figure) && class(page, figure) == one);
        let found = judged(pages, rule, history, of);
        for (all, found) in all.iter_mut().flatten().zip(found.into_iter().flatten()) {
            *all = all.or(found);
        }
    }
    // Of one class this is all.
    if one_class {
        return all;
    }
    // What is equivalent is so among all figures of the page.
    let whole = judged(pages, rule, history, |_, figure| claim(figure).filter(|_| figure.primary));
    for (((page, figure), claim), whole) in
        figures().zip(all.iter_mut().flatten()).zip(whole.into_iter().flatten())
    {
        let (Some(own), Some(whole)) = (claim.as_mut(), whole) else { continue };
        if let Some(group) = group(page, figure) {
            *own = own.no_surer_than(group.adjusted, rule.level);
        }
        if own.verdict == Verdict::Equivalent && whole.verdict != Verdict::Equivalent {
            own.verdict = Verdict::Undecided { needed: None };
        }
    }
    all
}

/// Judges those that there are, together; `of` is asked with the number of the page.
fn judged<'a>(
    pages: &'a [Page<'a>],
    rule: Rule,
    history: &History,
    of: impl Fn(usize, &'a Figure) -> Option<Sides<'a>>,
) -> Vec<Vec<Option<Comparison>>> {
    let picked = pages.iter().enumerate();
    let picked: Vec<Vec<Option<Sides<'a>>>> =
        picked.map(|(at, page)| page.figures.iter().map(|figure| of(at, figure)).collect()).collect();
    let figures = |own: &Vec<Option<Sides<'a>>>| own.iter().flatten().copied().collect();
    let earlier = |(figure, sides): (&Figure, &Option<Sides<'_>>)| {
        let by_earlier = matches!(sides, Some(Sides::Known { .. }));
        by_earlier.then(|| (figure.metric.clone(), figure.figure))
    };
    let family = |(page, own): (&'a Page<'a>, _)| {
        let names: Vec<Name> = page.figures.iter().zip(own).filter_map(earlier).collect();
        page.basis.family(figures(own), history.greatest(&names))
    };
    let families: Vec<Family<'_>> = pages.iter().zip(&picked).map(family).collect();
    let compared = compare(&families, rule);
    let spread = |(own, compared): (Vec<Option<Sides<'_>>>, Vec<Option<Comparison>>)| {
        let mut compared = compared.into_iter();
        own.into_iter().map(|sides| sides.and_then(|_| compared.next().flatten())).collect()
    };
    picked.into_iter().zip(compared).map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::group;
    use crate::comparison::history::Figures;
    use tickmark_wire::Group;

    const CALLS: [&str; 3] = ["a", "b", "c"];

    /// Twelve earlier recordings, in which each figure goes its own way by a per cent.
    fn history() -> History {
        let names = CALLS.iter().chain(&["alone"]).map(|name| ((*name).to_owned(), "floor"));
        let value =
            |at: usize, number: usize| 99.0 + 0.2 * ((number * (7 + at) + number * number * at) % 11) as f64;
        let one = |number| names.clone().enumerate().map(|(at, name)| (name, value(at, number))).collect();
        History::from_recordings((0..12).map(one).collect::<Vec<Figures>>())
    }

    /// Which of the calls and of what has no group are claimed, and whether the group is.
    fn changed(others: [f64; 4]) -> ([bool; 4], Vec<bool>) {
        let (history, basis) = (history(), Basis::Few { order: "AB".to_owned(), imported: false });
        let figure = |name: &str, group, other| Figure::floor(name, group, [100.0, other], &history);
        let call = |(name, other): (&&str, &f64)| figure(name, Group::SystemCall, *other);
        let mut figures: Vec<Figure> = CALLS.iter().zip(&others).map(call).collect();
        figures.push(figure("alone", Group::Memory, others[3]));
        let pages = [Page { basis: &basis, figures }];
        let own = pages.iter().map(|page| (page.basis, page.figures.iter().collect()));
        let groups = group::judged(own, [&history; 2], Rule::default());
        let claims = claimed(&pages, &groups, Rule::default(), &history);
        let is_change = |at: usize| claims[0][at].is_some_and(|claim| claim.verdict.is_change());
        ([0, 1, 2, 3].map(is_change), groups[0].iter().map(|group| group.changed).collect())
    }

    #[test]
    fn no_figure_of_single_recordings_is_surer_than_its_group() {
        assert_eq!(changed([120.0, 121.0, 122.0, 100.0]), ([true, true, true, false], vec![true]));
        assert_eq!(changed([100.2, 99.9, 100.1, 120.0]), ([false, false, false, true], vec![false]));
        // They go apart: none is claimed, though each differs by many deviations.
        assert_eq!(changed([120.0, 83.0, 100.0, 100.0]), ([false; 4], vec![false]));
    }

    #[test]
    fn one_page_of_earlier_recordings_that_were_as_far_apart_takes_the_claim_away() {
        let verdict = |far: f64| {
            let mut recordings = [100.0; 12];
            (1..12).for_each(|at| recordings[at] += [1.0, -1.0, 0.5][at % 3]);
            recordings[7] = far;
            let one = |value: &f64| Figures::from([(("alone".to_owned(), "floor"), *value)]);
            let history = History::from_recordings(recordings.iter().map(one).collect());
            let basis = Basis::Few { order: "AB".to_owned(), imported: false };
            let alone = Figure::floor("alone", Group::Memory, [100.0, 110.0], &history);
            let pages = [Page { basis: &basis, figures: vec![alone] }];
            claimed(&pages, &[Vec::new()], Rule::default(), &history)[0][0].unwrap().verdict
        };
        assert!(verdict(100.7).is_change());
        assert!(matches!(verdict(140.0), Verdict::Undecided { .. }));
    }
}

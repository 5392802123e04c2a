//! Analysis of columns of numbers: each by itself, and each against the first.

use super::distances::Distances;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tickmark_stats::bootstrap::bca;
use tickmark_stats::rank::{MannWhitney, hodges_lehmann, mann_whitney, signed_rank};
use tickmark_stats::series::{Drift, drift, lag_1, lag_1_by_chance};
use tickmark_stats::states::{ComparedStates, compare_states};
use tickmark_stats::summary::{Summary, quantile_ranks};
use tickmark_stats::two::{Difference, Moments};
use tickmark_stats::verdict::{Comparison, Order, Rule, Sides, compare_all};
use tickmark_stats::{Interval, median};

/// Above so many values a side the checks by ranks are left out: they sort.
const RANKED: usize = 100_000;
/// Above so many a side the medians have no interval: it is drawn.
const DRAWN: usize = 1_000;
const DRAWS: usize = 2_000;
/// So many outliers are listed.
const LISTED: usize = 8;

/// How columns are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) rule: Rule,
    /// True if values of one line belong together.
    pub(crate) paired: bool,
    /// True if outliers are taken out.
    pub(crate) drop_outliers: bool,
    /// True if later sets are compared with the first at all.
    pub(crate) test: bool,
    /// Of what the values are multiples, as printed numbers are; 0 where that is not known.
    pub(crate) step: f64,
}

/// One set.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) summary: Summary,
    /// The integer from which the summary's values are counted, where they are too large to be exact otherwise; 0 elsewhere.
    pub(crate) origin: i128,
    /// Where the median lies, where the set is large enough to tell.
    pub(crate) median: Option<Interval>,
    pub(crate) outliers: Outliers,
    /// True if the values come in order of size: what they were taken in is not known.
    pub(crate) sorted: bool,
    /// The correlation of neighbours, and whether it is more than chance gives in 95 of 100 sets.
    pub(crate) lag_1: Option<(f64, bool)>,
    pub(crate) drift: Option<Drift>,
}

/// Values beyond the fences.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outliers {
    pub(crate) count: usize,
    /// The farthest of them.
    pub(crate) listed: Vec<f64>,
    pub(crate) dropped: bool,
}

/// A later set against the first.
#[derive(Debug, Clone)]
pub(crate) struct Against {
    /// Which set.
    pub(crate) set: usize,
    /// None where nothing varies.
    pub(crate) difference: Option<Difference>,
    pub(crate) comparison: Comparison,
    /// The median of all differences, or of the means of two of a pair's, with its interval and the confidence that it has.
    pub(crate) shift: Option<(f64, Interval, f64)>,
    pub(crate) ranks: Option<MannWhitney>,
    /// Where the difference of the medians lies, by drawing the values again.
    pub(crate) medians: Option<(f64, Interval)>,
    /// Where both are in two states, and one in both.
    pub(crate) states: Option<ComparedStates>,
}

pub(crate) struct Model {
    pub(crate) manner: Manner,
    pub(crate) sets: Vec<Set>,
    pub(crate) against: Vec<Against>,
    /// Why a check is missing.
    pub(crate) left_out: Option<String>,
}

/// Describes and compares. Sets of large integers are described by their `exact` distances.
pub(crate) fn build(sets: &mut [(String, Vec<f64>)], exact: &[Option<Distances>], manner: Manner) -> Model {
    let described: Vec<Option<Set>> = std::thread::scope(|scope| {
        let one = |number: usize, (name, values): &mut (String, Vec<f64>)| {
            describe(name, values, exact[number].as_ref(), manner)
        };
        let workers: Vec<_> =
            sets.iter_mut().enumerate().map(|(number, set)| scope.spawn(move || one(number, set))).collect();
        workers.into_iter().map(|worker| worker.join().ok().flatten()).collect()
    });
    let described: Vec<Set> = described.into_iter().flatten().collect();
    // Differences of rounded integers would be none of theirs.
    let is_rounded = described.iter().any(|set| set.origin != 0);
    let against = if manner.test && !is_rounded { against(sets, &described, manner) } else { Vec::new() };
    let large = sets.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let left_out =
        (manner.test && sets.len() > 1 && large > DRAWN && !is_rounded).then(|| match large > RANKED {
            _ if manner.paired => format!("the check by ranks is left out above {DRAWN} pairs"),
            true => format!("checks by ranks and by drawing again are left out above {RANKED} values a side"),
            false => format!("the interval of the medians is left out above {DRAWN} values a side"),
        });
    let rounded =
        "integers above 2^53 are described and not compared: subtract a constant from all of them first";
    let left_out =
        left_out.or_else(|| (is_rounded && manner.test && sets.len() > 1).then(|| rounded.to_owned()));
    Model { manner, sets: described, against, left_out }
}

/// One set; outliers are taken out where that was asked for.
fn describe(name: &str, values: &mut Vec<f64>, exact: Option<&Distances>, manner: Manner) -> Option<Set> {
    let (sorted, lag_1, drift) = order(values);
    let (mut summary, mut median) = summarised(values, manner)?;
    let outliers = outliers(values, &summary, manner);
    if outliers.dropped {
        (summary, median) = summarised(values, manner)?;
    }
    let mut origin = 0;
    if let Some(exact) = exact.filter(|_| !outliers.dropped) {
        (summary, median) = summarised(&exact.all, manner)?;
        origin = exact.origin;
    }
    Some(Set { name: name.to_owned(), summary, origin, median, outliers, sorted, lag_1, drift })
}

/// A set's figures, and where its median lies.
fn summarised(values: &[f64], manner: Manner) -> Option<(Summary, Option<Interval>)> {
    let ranks = quantile_ranks(values.len(), 0.5, 1.0 - manner.rule.level);
    let ranks = ranks.map_or(Vec::new(), |(low, high, _)| vec![low, high]);
    let (summary, ends) = Summary::with_ranks(values, &ranks)?;
    let interval = |ends: &[f64]| Interval { low: ends[0], high: ends[1] };
    Some((summary, (ends.len() == 2).then(|| interval(&ends))))
}

/// Result of the tests of the order in which the values came.
fn order(values: &[f64]) -> (bool, Option<(f64, bool)>, Option<Drift>) {
    let sorted = tickmark_stats::verdict::is_sorted(values);
    if sorted { (true, None, None) } else { (false, neighbours(values), drift(values)) }
}

fn neighbours(values: &[f64]) -> Option<(f64, bool)> {
    let observed = lag_1(values)?;
    let (low, high) = lag_1_by_chance(values.len());
    // Of many values the least correlation is more than chance; a small one does no harm.
    Some((observed, (observed < low || observed > high) && observed.abs() > 0.1))
}

/// Finds the outliers, and takes them out where that was asked for.
fn outliers(values: &mut Vec<f64>, summary: &Summary, manner: Manner) -> Outliers {
    let [low, high] = summary.fences();
    let beyond = |value: &f64| *value < low || *value > high;
    let mut listed: Vec<f64> = values.iter().copied().filter(beyond).collect();
    let count = listed.len();
    let far = |value: &f64| (value - summary.median).abs();
    if count > LISTED {
        listed.select_nth_unstable_by(LISTED, |a, b| far(b).total_cmp(&far(a)));
        listed.truncate(LISTED);
    }
    listed.sort_unstable_by(f64::total_cmp);
    if manner.drop_outliers {
        values.retain(|value| !beyond(value));
    }
    Outliers { count, listed, dropped: manner.drop_outliers && count > 0 }
}

fn against(sets: &[(String, Vec<f64>)], described: &[Set], manner: Manner) -> Vec<Against> {
    let Some(((_, base), others)) = sets.split_first() else { return Vec::new() };
    let moments: Vec<Moments> = described.iter().map(|set| moments(&set.summary)).collect();
    let Some((first, later)) = moments.split_first() else { return Vec::new() };
    let sides: Vec<Sides<'_>> = others
        .iter()
        .zip(later)
        .map(|((_, other), own)| match manner.paired {
            true => Sides::Paired { values: [base, other], blocks: None, step: manner.step },
            // Those of many values are at hand, and of so many rounding leaves the mean alone, unless they hardly vary.
            false
                if base.len().max(other.len()) > DRAWN
                    && first.deviation.min(own.deviation) > manner.step =>
            {
                Sides::Moments(first, own, Order::one_after_the_other(base, other))
            }
            false => Sides::Apart {
                values: [base, other],
                step: manner.step,
                order: Order::one_after_the_other(base, other),
            },
        })
        .collect();
    let compared = compare_all(&sides, manner.rule).into_iter().zip(others.iter().zip(later)).zip(1..);
    compared
        .filter_map(|((comparison, ((_, other), own)), set)| {
            let large = base.len().max(other.len());
            let ranked = large <= RANKED && !manner.paired;
            let confidence = 1.0 - manner.rule.level;
            Some(Against {
                set,
                difference: match manner.paired {
                    true => Difference::paired(base, other),
                    false => Difference::between(first, own),
                },
                comparison: comparison?,
                shift: match manner.paired {
                    true if large <= DRAWN => signed_rank(&differences(base, other), confidence),
                    false if ranked => hodges_lehmann(base, other, confidence),
                    _ => None,
                },
                ranks: ranked.then(|| mann_whitney(base, other)).flatten(),
                medians: (large <= DRAWN && !manner.paired)
                    .then(|| medians(base, other, confidence))
                    .flatten(),
                // Those of large integers are distances, and no levels.
                states: (described[0].origin == 0 && described[set].origin == 0)
                    .then(|| compare_states(base, other))
                    .flatten(),
            })
        })
        .collect()
}

fn differences(base: &[f64], other: &[f64]) -> Vec<f64> {
    base.iter().zip(other).map(|(a, b)| b - a).collect()
}

fn moments(summary: &Summary) -> Moments {
    Moments { count: summary.count as f64, mean: summary.mean, deviation: summary.deviation }
}

/// The difference of the medians. The seed is fixed: the same numbers give the same page.
fn medians(base: &[f64], other: &[f64], confidence: f64) -> Option<(f64, Interval)> {
    let middle = |values: &[f64]| median(values.iter().copied()).unwrap_or(f64::NAN);
    let statistic = |samples: &[Vec<f64>]| middle(&samples[1]) - middle(&samples[0]);
    let mut random = StdRng::seed_from_u64(1);
    let interval = bca(&[base, other], statistic, confidence, DRAWS, &mut random)?;
    Some((middle(other) - middle(base), interval))
}

//! The same for programs.

use super::model::{Against, Model, Set};
use serde_json::Number;
use tickmark_render::json::{OrderTests, Page, StatesPage};
use tickmark_render::json_object;
use tickmark_stats::Interval;
use tickmark_stats::permutation::Labels;
use tickmark_stats::series::Drift;
use tickmark_stats::verdict::{Test, Verdict, Withheld};

json_object! {
    /// Columns of numbers: each by itself, and each against the first.
    pub(crate) struct StatPage(model: &Model, unit: String, remarks: Vec<String>) {
        /// Changes below this share do not matter.
        margin: f64 = model.manner.rule.margin,
        confidence: f64 = 1.0 - model.manner.rule.level,
        /// True if values of one line belong together.
        paired: bool = model.manner.paired,
        /// Of all values; empty where none is given.
        unit: String = unit,
        sets: Vec<SetPage> = model.sets.iter().map(SetPage::new).collect(),
        comparisons: Vec<AgainstPage> = model.against.iter().map(|one| AgainstPage::new(model, one)).collect(),
        /// Why a check is missing.
        left_out: Option<String> = model.left_out.clone(),
        /// What to know of the files.
        remarks: Vec<String> = remarks,
    }

    struct SetPage(set: &Set) {
        name: String = set.name.clone(),
        count: usize = set.summary.count,
        /// An integer is written with all of its digits.
        min: Option<Number> = number(set, set.summary.least),
        max: Option<Number> = number(set, set.summary.most),
        median: Option<Number> = number(set, set.summary.median),
        median_interval: Option<[Option<Number>; 2]> = set.median.map(|interval| ends(interval).map(|end| number(set, end))),
        quartiles: [Option<Number>; 2] = set.summary.quartiles.map(|quartile| number(set, quartile)),
        mean: Option<Number> = number(set, set.summary.mean),
        std_dev: f64 = set.summary.deviation,
        outliers: OutliersPage = OutliersPage::new(set),
        /// True if the values come in order of size.
        sorted: bool = set.sorted,
        /// Correlation of neighbours.
        lag_1: Option<f64> = set.lag_1.map(|(observed, _)| observed),
        lag_1_beyond_chance: Option<bool> = set.lag_1.map(|(_, beyond)| beyond),
        drift: Option<DriftPage> = set.drift.as_ref().map(DriftPage::new),
    }

    struct OutliersPage(set: &Set) {
        count: usize = set.outliers.count,
        farthest: Vec<f64> = set.outliers.listed.clone(),
        dropped: bool = set.outliers.dropped,
    }

    struct DriftPage(drift: &Drift) {
        /// Over the whole set, in the values' unit.
        over: f64 = drift.over,
        p: f64 = drift.p,
    }

    struct AgainstPage(model: &Model, of: &Against) {
        base: Option<String> = model.sets.first().map(|set| set.name.clone()),
        candidate: Option<String> = model.sets.get(of.set).map(|set| set.name.clone()),
        means: [f64; 2] = of.comparison.means,
        difference: f64 = of.comparison.means[1] - of.comparison.means[0],
        difference_interval: Option<[f64; 2]> = of.difference.as_ref().map(|d| ends(d.interval(1.0 - model.manner.rule.level))),
        t: Option<f64> = of.difference.as_ref().map(tickmark_stats::two::Difference::t),
        df: Option<f64> = of.difference.as_ref().map(|d| d.df),
        p_t: Option<f64> = of.difference.as_ref().map(tickmark_stats::two::Difference::p),
        p: Option<f64> = of.comparison.p,
        p_corrected: Option<f64> = of.comparison.adjusted,
        /// `sign_flips`, `permutations` or `t`.
        judged_by: Option<&'static str> = match of.comparison.test {
            Some(Test::Labels(Labels::Blocks(_))) => Some("sign_flips"),
            Some(Test::Labels(Labels::Groups(..))) => Some("permutations"),
            Some(_) => Some("t"),
            None => None,
        },
        ratio_of_middles: Option<f64> = of.comparison.middle.map(|(ratio, _)| ratio),
        ratio_of_middles_interval: Option<[f64; 2]> = of.comparison.middle.map(|(_, interval)| ends(interval)),
        ratio: Option<f64> = of.comparison.ratio,
        ratio_interval: Option<[f64; 2]> = of.comparison.interval.map(ends),
        /// `beyond_margin`, `changed`, `below_margin`, `equivalent` or `undecided`.
        verdict: &'static str = match of.comparison.verdict {
            Verdict::Beyond => "beyond_margin",
            Verdict::Changed => "changed",
            Verdict::BelowMargin => "below_margin",
            Verdict::Equivalent => "equivalent",
            Verdict::Undecided { .. } => "undecided",
        },
        /// Values a side that would decide.
        values_needed: Option<usize> = match of.comparison.verdict {
            Verdict::Undecided { needed } => needed,
            _ => None,
        },
        /// Why no claim is made: `drift`, `sorted` or `dependence`.
        withheld: Option<&'static str> = of.comparison.withheld.map(|why| match why {
            Withheld::Drift => "drift",
            Withheld::Sorted => "sorted",
            Withheld::Dependence => "dependence",
        }),
        order: Option<OrderTests> = of.comparison.order.as_ref().map(OrderTests::new),
        /// Hodges and Lehmann's.
        shift: Option<f64> = of.shift.map(|(point, ..)| point),
        shift_interval: Option<[f64; 2]> = of.shift.map(|(_, interval, _)| ends(interval)),
        shift_confidence: Option<f64> = of.shift.map(|(.., sure)| sure),
        p_mann_whitney: Option<f64> = of.ranks.as_ref().map(|ranks| ranks.p),
        medians_difference: Option<f64> = of.medians.map(|(point, _)| point),
        medians_interval: Option<[f64; 2]> = of.medians.map(|(_, interval)| ends(interval)),
        /// Where both sets are in two states, and one in both.
        states: Option<StatesPage> = of.states.as_ref().map(StatesPage::new),
    }
}

impl Page for StatPage {
    const NAME: &'static str = "stat";
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// A value of a set whose figures are distances from its origin.
fn number(set: &Set, distance: f64) -> Option<Number> {
    if set.origin == 0 {
        return Number::from_f64(distance);
    }
    let whole = i64::try_from(set.origin + distance as i128).ok().filter(|_| distance.fract() == 0.0);
    whole.map(Number::from).or_else(|| Number::from_f64(set.origin as f64 + distance))
}

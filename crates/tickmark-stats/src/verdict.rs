//! Verdicts on two samples: there are five.

mod family;
mod looks;
mod order;
mod sides;

pub use family::{Family, Test};
pub use looks::Looks;
pub use order::{Order, Withheld, is_sorted};
pub use sides::Sides;

use crate::Interval;
use crate::multiple::holm;
use crate::permutation::Labels;
use crate::plan::needed;
use crate::student::t_point;
use crate::two::Difference;
use family::FigureChance;

/// The chance of a wrong claim that is accepted: for one metric and, corrected, for all together.
pub const LEVEL: f64 = 0.05;
/// The chance with which what is said to be needed will do.
pub const POWER: f64 = 0.8;

/// The set of claims that the level holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// Any wrong claim among all.
    FamilyWise,
    /// The share of wrong claims among those made.
    Discovery,
}

/// The rule of claims.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// A smaller change does not matter: a share of the first mean.
    pub margin: f64,
    /// The chance of a wrong claim that is accepted.
    pub level: f64,
    /// The meaning of the chance of error.
    pub correction: Correction,
}

impl Default for Rule {
    fn default() -> Self {
        Self { margin: 0.01, level: LEVEL, correction: Correction::FamilyWise }
    }
}

/// Whether a difference mattered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// There is a difference, and it is larger than the margin.
    Beyond,
    /// There is a difference; it may be smaller or larger than the margin.
    Changed,
    /// There is a difference, and it is smaller than the margin.
    BelowMargin,
    /// No difference was found, and one larger than the margin is ruled out.
    Equivalent,
    /// None of these can be said; so many values a side would decide, if they spread like these, in four of five cases.
    Undecided {
        /// How many, where that can be told.
        needed: Option<usize>,
    },
}

impl Verdict {
    /// True if a difference is claimed.
    #[must_use]
    pub fn is_change(self) -> bool {
        matches!(self, Self::Beyond | Self::Changed | Self::BelowMargin)
    }
}

/// A comparison of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The mean of each side.
    pub means: [f64; 2],
    /// Values of the smaller side.
    pub values: usize,
    /// Second mean over the first, where the first is above zero: else there is no ratio, and no margin to judge by.
    pub ratio: Option<f64>,
    /// Where that lies with one less the rule's level, where it can be told.
    pub interval: Option<Interval>,
    /// The ratio of the middle, without a tenth of the values at either end, with its interval, where it is judged beside the mean.
    pub middle: Option<(f64, Interval)>,
    /// True if the middle shows the difference that is claimed, and the mean does not.
    pub by_middle: bool,
    /// How the chances were found.
    pub test: Option<Test>,
    /// The chance of such a difference where there is none, for this metric alone.
    pub p: Option<f64>,
    /// The same, corrected for all metrics that were compared.
    pub adjusted: Option<f64>,
    /// The chance that two earlier replicates are as far from each other in any figure; 0 where those do not judge.
    pub between_earlier: f64,
    /// Result of the tests of the order of the values, where it is known.
    pub order: Option<Order>,
    /// Why a difference that independent values would show is not claimed.
    pub withheld: Option<Withheld>,
    /// The verdict.
    pub verdict: Verdict,
}

impl Comparison {
    /// The same where its corrected chance is no smaller than this: that of what it is a part of.
    #[must_use]
    pub fn no_surer_than(mut self, chance: f64, level: f64) -> Self {
        self.adjusted = self.adjusted.map(|adjusted| adjusted.max(chance));
        if self.verdict.is_change() && chance >= level {
            self.verdict = Verdict::Undecided { needed: None };
        }
        self
    }

    /// The change that is claimed, or seen: of the mean, or of the middle where that shows what the mean does not.
    #[must_use]
    pub fn change(&self) -> (Option<f64>, Option<Interval>) {
        match self.middle {
            Some((ratio, interval)) if self.by_middle => (Some(ratio), Some(interval)),
            _ => (self.ratio, self.interval),
        }
    }
}

/// Compares each pair of samples of each family and corrects for their number. Differences are judged by their labels where there
/// are enough of them, else by Student's t; both are fixed by the number of values alone. None where a side is empty.
#[must_use]
pub fn compare(families: &[Family<'_>], rule: Rule) -> Vec<Vec<Option<Comparison>>> {
    let families: Vec<Family<'_>> = families.iter().map(Family::exact_where_constant).collect();
    let families = &families[..];
    let chances = family::chances(families, rule);
    let all = || families.iter().flat_map(|family| &family.figures);
    let within: Vec<Option<f64>> = all().map(|sides| sides.within(rule.margin)).collect();
    let mut adjusted = holm(&within.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    let mut within = within.into_iter().map(|p| p.and_then(|_| adjusted.next()));
    let number = all().count().max(1);
    let mut one = |(sides, found): (&Sides<'_>, &Option<FigureChance>), [part, next, ended]: [f64; 3]| {
        let within = within.next().flatten();
        let confidence = 1.0 - rule.level * ended;
        FigureEvidence { sides, rule, confidence, found: *found, within, number, part, next }.comparison()
    };
    let own = families.iter().zip(&chances);
    own.map(|(family, chances)| {
        let parts = [family.looks.part(), family.looks.next(), family.looks.of_intervals()];
        family.figures.iter().zip(chances).map(|figure| one(figure, parts)).collect()
    })
    .collect()
}

/// Compares samples of which each is a claim of its own.
#[must_use]
pub fn compare_all(all: &[Sides<'_>], rule: Rule) -> Vec<Option<Comparison>> {
    let families: Vec<Family<'_>> = all.iter().map(|sides| Family::once(vec![*sides])).collect();
    compare(&families, rule).into_iter().flatten().collect()
}

/// No level asks for more blocks that all differ in the same direction.
const MOST_BLOCKS: usize = 64;

/// A figure with what is known of it.
struct FigureEvidence<'a, 'b> {
    sides: &'a Sides<'b>,
    rule: Rule,
    /// That of the intervals.
    confidence: f64,
    found: Option<FigureChance>,
    /// The chance that it is beyond the margin, corrected.
    within: Option<f64>,
    /// How many figures there are.
    number: usize,
    /// Share of the level at this look.
    part: f64,
    /// Share of the level at the next look: the needed sample is needed then.
    next: f64,
}

impl FigureEvidence<'_, '_> {
    fn comparison(&self) -> Option<Comparison> {
        let (sides, level) = (self.sides, self.rule.level);
        let means = sides.means()?;
        let [base, other] = means;
        let ratio = (base > 0.0).then_some(other / base);
        let mean = ratio.and_then(|_| sides.ratio(self.confidence));
        let labels = self.found.is_some_and(|found| matches!(found.test, Test::Labels(_)));
        let middle = ratio.filter(|_| labels).and_then(|_| sides.middle(self.confidence));
        let apart = |of: Option<(f64, Interval)>| of.is_some_and(|(_, i)| i.low > 1.0 || i.high < 1.0);
        // Without a ratio the chance alone speaks, but for what rounding may have made.
        let bare = ratio.is_none() && (other - base).abs() > sides.bias() * (1.0 + 1e-9);
        let shown = bare || apart(mean) || apart(middle);
        let found = self.found.is_some_and(|found| found.chance.adjusted < level) && shown;
        let by_middle = found && !apart(mean) && apart(middle);
        let withheld = self.withheld(if by_middle { middle } else { None }).filter(|_| found);
        let claimed = found && withheld.is_none();
        let small = self.within.is_some_and(|p| p < level * self.part) && withheld.is_none();
        let verdict = match (claimed, small) {
            _ if withheld.is_some() => Verdict::Undecided { needed: None },
            (true, true) => Verdict::BelowMargin,
            (true, false) if self.beyond(by_middle) => Verdict::Beyond,
            (true, false) => Verdict::Changed,
            (false, true) => Verdict::Equivalent,
            (false, false) => Verdict::Undecided { needed: self.needed(means) },
        };
        Some(Comparison {
            means,
            values: sides.count(),
            ratio,
            interval: mean.map(|(_, interval)| interval),
            middle,
            by_middle,
            test: self.found.map(|found| found.test),
            p: self.found.map(|found| found.chance.p),
            adjusted: self.found.map(|found| found.chance.adjusted),
            between_earlier: self.found.map_or(0.0, |found| found.between_earlier),
            order: sides.order(),
            withheld,
            verdict,
        })
    }

    /// True if the change is larger than the margin, each figure at its part of the level (Bonferroni).
    fn beyond(&self, by_middle: bool) -> bool {
        let confidence = 1.0 - self.own_level();
        if self.sides.means().is_none_or(|[base, _]| base <= 0.0) {
            return false;
        }
        let of = if by_middle { self.sides.middle(confidence) } else { self.sides.ratio(confidence) };
        let margin = self.rule.margin;
        of.is_some_and(|(_, i)| i.low > 1.0 + margin || i.high < 1.0 - margin)
    }

    /// Why the order of the values forbids the claim of a difference: of the middle where that is given, a ratio, else of the mean.
    fn withheld(&self, middle: Option<(f64, Interval)>) -> Option<Withheld> {
        let order = self.sides.order()?;
        let of_mean = self.sides.difference(1.0)?;
        let difference = match (middle, self.sides.means()) {
            (Some((ratio, interval)), Some([base, _])) => {
                let half = (interval.high - interval.low) / 2.0 * base;
                let error = half / t_point((1.0 - self.confidence) / 2.0, of_mean.df);
                Difference { point: (ratio - 1.0) * base, error, df: of_mean.df }
            }
            _ => of_mean,
        };
        order.withholds(&difference, self.own_level())
    }

    fn own_level(&self) -> f64 {
        self.rule.level * self.part / self.number as f64
    }

    /// How many values a side would decide in four of five cases, if they spread like these and the change is what it seems: to
    /// claim it among all comparisons, or to rule out one of the margin, whichever is less.
    fn needed(&self, [base, _]: [f64; 2]) -> Option<usize> {
        let (sides, level) = (self.sides, self.own_level() / self.part * self.next);
        let count = sides.count();
        let difference = sides.difference(1.0);
        // What more recordings a side would be judged by depends on the order in which they are made.
        if matches!(sides, Sides::Known { .. }) {
            return None;
        }
        // Labels need no deviation: so many values are enough of them.
        let Some(d) = difference else {
            let differ = sides.means().is_some_and(|[a, b]| a != b);
            let labels = |count: usize| match sides {
                Sides::Paired { .. } => Labels::Blocks(count),
                _ => Labels::Groups(count, count),
            };
            let enough = |count: &usize| labels(*count).least(1) <= level;
            return (count + 1..MOST_BLOCKS).filter(|_| differ && count > 1).find(enough);
        };
        let one = d.error * (count as f64).sqrt();
        let margin = self.rule.margin * base;
        let df = |n: f64| sides.df(n);
        // What rounding may have made is no difference.
        let sure = (d.point.abs() - sides.bias()).max(0.0);
        let claim = needed(sure / one, count + 1, level, POWER, df);
        let left = margin - d.point.abs() - sides.bias();
        // Both one-sided tests have to find it.
        let both = f64::midpoint(1.0, POWER);
        let rule_out = (left > 0.0).then(|| needed(left / one, count + 1, 2.0 * level, both, df)).flatten();
        claim.into_iter().chain(rule_out.filter(|_| base > 0.0)).min()
    }
}

#[cfg(test)]
mod tests;

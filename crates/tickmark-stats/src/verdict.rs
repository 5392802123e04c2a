//! What two samples say together: four verdicts.

use crate::multiple::holm;
use crate::two::{Difference, Moments, paired_ratio, ratio, ratio_between, runs_for};
use crate::{Interval, spread};

/// The chance of a wrong claim that is accepted: for one metric and, by Holm's correction, for all together.
pub const LEVEL: f64 = 0.05;

/// What is claimed, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// A smaller change does not matter: a share of the first mean.
    pub margin: f64,
    /// The chance of a wrong claim that is accepted.
    pub level: f64,
}

impl Default for Rule {
    fn default() -> Self {
        Self { margin: 0.01, level: LEVEL }
    }
}

/// Whether a difference mattered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// There is a difference, and it may be larger than the margin.
    Changed,
    /// There is a difference, and it is smaller than the margin.
    BelowMargin,
    /// No difference was found, and one larger than the margin is ruled out.
    Equivalent,
    /// Neither can be said; so many values a side would decide, if they spread like these.
    Undecided {
        /// How many, where that can be told.
        needed: Option<usize>,
    },
}

/// The values of two sides, each of them an occasion of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sides<'a> {
    /// Each side for itself.
    Apart(&'a [f64], &'a [f64]),
    /// The same, known by their moments.
    Moments(&'a Moments, &'a Moments),
    /// The values at one place belong together: the blocks of an interleaved experiment.
    Paired(&'a [f64], &'a [f64]),
    /// A mean of so many occasions a side, and how far single occasions of this kind were from each other on
    /// earlier ones: a standard deviation relative to the mean, with its degrees of freedom.
    Known {
        /// The mean of each side.
        means: [f64; 2],
        /// How many occasions it stands for.
        counts: [usize; 2],
        /// The relative standard deviation between occasions.
        deviation: f64,
        /// Its degrees of freedom.
        df: f64,
    },
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
    /// The chance of such a difference where there is none, for this metric alone.
    pub p: Option<f64>,
    /// The same, corrected for all metrics that were compared.
    pub adjusted: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Compares each pair of samples and corrects for their number. Sides whose values do not differ at all say nothing
/// of what another occasion would give: they are equivalent where both have the same value, else undecided. None where
/// a side is empty.
#[must_use]
pub fn compare(all: &[Sides<'_>], rule: Rule) -> Vec<Option<Comparison>> {
    let chances: Vec<Option<f64>> = all.iter().map(Sides::p).collect();
    let known: Vec<f64> = chances.iter().flatten().copied().collect();
    let mut adjusted = holm(&known).into_iter();
    all.iter().zip(&chances).map(|(sides, p)| one(sides, rule, *p, p.and_then(|_| adjusted.next()))).collect()
}

impl Sides<'_> {
    fn means(&self) -> Option<[f64; 2]> {
        match self {
            Self::Apart(a, b) | Self::Paired(a, b) => Some([spread(a)?.mean, spread(b)?.mean]),
            Self::Moments(a, b) => Some([a.mean, b.mean]),
            Self::Known { means, .. } => Some(*means),
        }
    }

    /// The values of the smaller side.
    fn values(&self) -> usize {
        match self {
            Self::Apart(a, b) | Self::Paired(a, b) => a.len().min(b.len()),
            Self::Moments(a, b) => a.count.min(b.count) as usize,
            Self::Known { counts: [a, b], .. } => *a.min(b),
        }
    }

    /// The difference; of known spreads, of the logarithms.
    fn difference(&self) -> Option<Difference> {
        match self {
            Self::Apart(a, b) => Difference::welch(a, b),
            Self::Moments(a, b) => Difference::between(a, b),
            Self::Paired(a, b) => Difference::paired(a, b),
            Self::Known { means: [a, b], counts, deviation, df } => {
                let [m, n] = counts.map(|count| 1.0 / count as f64);
                let possible = *a > 0.0 && *b > 0.0 && *deviation > 0.0;
                let error = deviation * (m + n).sqrt();
                possible.then(|| Difference { point: (b / a).ln(), error, df: *df })
            }
        }
    }

    fn p(&self) -> Option<f64> {
        // What cannot be computed is no chance, and claims nothing.
        self.difference().map(|difference| difference.p()).map(|p| if p.is_nan() { 1.0 } else { p })
    }

    /// Where the ratio lies with this confidence.
    fn ratio(&self, confidence: f64) -> Option<Interval> {
        match self {
            Self::Apart(a, b) => ratio(a, b, confidence).map(|(_, interval)| interval),
            Self::Moments(a, b) => ratio_between(a, b, confidence).map(|(_, interval)| interval),
            Self::Paired(a, b) => paired_ratio(a, b, confidence).map(|(_, interval)| interval),
            Self::Known { .. } => {
                let i = self.difference()?.interval(confidence);
                Some(Interval { low: i.low.exp(), high: i.high.exp() })
            }
        }
    }
}

fn one(sides: &Sides<'_>, rule: Rule, p: Option<f64>, adjusted: Option<f64>) -> Option<Comparison> {
    let Rule { margin, level } = rule;
    let means = sides.means()?;
    let [base, other] = means;
    let ratio = (base > 0.0).then_some(other / base);
    let interval = ratio.and_then(|_| sides.ratio(1.0 - level));
    let within =
        |interval: Option<Interval>| interval.is_some_and(|i| i.low > 1.0 - margin && i.high < 1.0 + margin);
    let verdict = match adjusted {
        Some(adjusted) if adjusted < level => {
            if within(interval) {
                Verdict::BelowMargin
            } else {
                Verdict::Changed
            }
        }
        // Two one-sided tests: the interval of twice the level lies within the margin (Schuirmann 1987).
        Some(_) if ratio.is_some() && within(sides.ratio(1.0 - 2.0 * level)) => Verdict::Equivalent,
        Some(adjusted) => Verdict::Undecided { needed: needed(sides, rule, ratio, p, adjusted) },
        None if sides.values() > 1 && base == other => Verdict::Equivalent,
        None => Verdict::Undecided { needed: None },
    };
    Some(Comparison { means, values: sides.values(), ratio, interval, p, adjusted, verdict })
}

/// How many values a side would decide, if they spread like these and the change is what it seems: enough to claim it
/// among all comparisons, or enough to rule out one of the margin, whichever is less.
fn needed(sides: &Sides<'_>, rule: Rule, ratio: Option<f64>, p: Option<f64>, adjusted: f64) -> Option<usize> {
    let (effect, values) = ((ratio? - 1.0).abs(), sides.values());
    let half = |confidence: f64| sides.ratio(confidence).map(|i| (i.high - i.low) / 2.0);
    // The level of this one comparison.
    let own = rule.level * p.filter(|_| adjusted > 0.0).map_or(1.0, |p| p / adjusted);
    let claim = half(1.0 - own).filter(|_| effect > 0.0).and_then(|half| runs_for(half, values, effect));
    let left = rule.margin - effect;
    let rule_out = half(1.0 - 2.0 * rule.level).and_then(|half| runs_for(half, values, left));
    let least = claim.into_iter().chain(rule_out).min()?;
    Some(least.max(values + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(pairs: &[(&[f64], &[f64])], margin: f64) -> Vec<Verdict> {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| Sides::Apart(a, b)).collect();
        compare(&pairs, Rule { margin, ..Rule::default() }).into_iter().map(|c| c.unwrap().verdict).collect()
    }

    const NULL: (&[f64], &[f64]) = (&[6.19, 6.20, 6.20, 6.20, 6.20], &[5.83, 5.82, 5.83, 5.83, 5.81]);
    /// The headline of the 1000 Hz page: "nearly 20 % faster".
    const TWO: (&[f64], &[f64]) = (&[34.8, 23.2, 30.1, 25.9, 32.6], &[23.4, 25.0, 23.2, 24.8, 23.3]);
    const UP: (&[f64], &[f64]) = (
        &[14067.0, 14098.0, 14104.0, 14107.0, 14116.0, 14116.0, 14135.0, 14136.0, 14155.0, 14178.0],
        &[14141.0, 14149.0, 14153.0, 14159.0, 14169.0, 14170.0, 14179.0, 14185.0, 14197.0, 14257.0],
    );

    #[test]
    fn the_documents_get_the_verdicts_that_they_deserve() {
        assert_eq!(verdicts(&[NULL], 0.01), [Verdict::Changed]);
        let two = verdicts(&[TWO], 0.01);
        assert!(matches!(two[0], Verdict::Undecided { needed: Some(runs) } if runs > 5), "{two:?}");
        assert_eq!(verdicts(&[UP], 0.01), [Verdict::BelowMargin], "real, but below one per cent");
    }

    #[test]
    fn many_metrics_ask_for_more_and_none_is_claimed_of_nothing() {
        let same: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i) * 0.01).collect();
        let other: Vec<f64> = same.iter().rev().map(|v| v + 0.002).collect();
        assert_eq!(verdicts(&[(&same, &other)], 0.01), [Verdict::Equivalent]);
        // A chance of 1 % is a claim alone and none among fifty.
        let (a, b) = ([10.0, 10.2, 9.8, 10.1, 9.9], [10.4, 10.5, 10.2, 10.3, 10.1]);
        let alone = compare(&[Sides::Apart(&a, &b)], Rule::default());
        let p = alone[0].unwrap().p.unwrap();
        assert!(p < LEVEL && p > LEVEL / 50.0, "{p}");
        assert_eq!(alone[0].unwrap().verdict, Verdict::Changed);
        let among: Vec<_> = (0..50).map(|_| Sides::Apart(&a, &b)).collect();
        assert!(matches!(compare(&among, Rule::default())[7].unwrap().verdict, Verdict::Undecided { .. }));
    }

    #[test]
    fn what_does_not_vary_says_little() {
        assert_eq!(verdicts(&[(&[5.0, 5.0], &[5.0, 5.0])], 0.01), [Verdict::Equivalent]);
        assert_eq!(verdicts(&[(&[5.0, 5.0], &[6.0, 6.0])], 0.01), [Verdict::Undecided { needed: None }]);
        assert_eq!(verdicts(&[(&[5.0], &[6.0])], 0.01), [Verdict::Undecided { needed: None }]);
        assert!(compare(&[Sides::Apart(&[], &[1.0])], Rule::default())[0].is_none());
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        let to_zero =
            compare(&[Sides::Apart(&[-1.0, 0.0, 1.0], &[9.0, 10.0, 11.0])], Rule::default())[0].unwrap();
        assert_eq!((to_zero.ratio, to_zero.interval, to_zero.verdict), (None, None, Verdict::Changed));
        let below =
            compare(&[Sides::Apart(&[-5.0, -4.0, -6.0], &[-5.1, -4.2, -6.0])], Rule::default())[0].unwrap();
        assert_eq!((below.ratio, below.verdict), (None, Verdict::Undecided { needed: None }));
    }

    #[test]
    fn pairs_take_out_what_they_share() {
        // Blocks that differ by 20 % and a change of 2 % in each: seen in pairs, not seen apart.
        let blocks = [100.0, 120.0, 95.0, 110.0, 105.0, 90.0];
        let other: Vec<f64> =
            blocks.iter().enumerate().map(|(i, v)| v * (1.02 + 0.0005 * (i % 3) as f64)).collect();
        let both = [Sides::Apart(&blocks, &other), Sides::Paired(&blocks, &other)];
        let seen: Vec<Verdict> = both
            .iter()
            .map(|s| compare(std::slice::from_ref(s), Rule::default())[0].unwrap().verdict)
            .collect();
        assert!(matches!(seen[..], [Verdict::Undecided { needed: Some(_) }, Verdict::Changed]), "{seen:?}");
    }

    #[test]
    fn the_spread_of_earlier_occasions_judges_one_a_side() {
        let known =
            |other: f64| Sides::Known { means: [100.0, other], counts: [1, 1], deviation: 0.01, df: 9.0 };
        let verdict =
            |other| compare(&[known(other)], Rule { margin: 0.05, ..Rule::default() })[0].unwrap().verdict;
        // t(9) at 97.5 % is 2.262: 3.2 % of two occasions.
        assert!(matches!(verdict(103.0), Verdict::Undecided { needed: Some(_) } | Verdict::Equivalent));
        assert_eq!((verdict(104.0), verdict(100.5)), (Verdict::Changed, Verdict::Equivalent));
    }
}

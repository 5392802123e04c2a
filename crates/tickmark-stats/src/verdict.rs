//! What two samples say together: four verdicts.

use crate::multiple::holm;
use crate::two::{Difference, ratio, runs_for};
use crate::{Interval, spread};

/// The chance of a wrong claim that is accepted: for one metric and, by Holm's correction, for all together.
pub const LEVEL: f64 = 0.05;

/// Whether a difference mattered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// There is a difference, and it may be larger than the margin.
    Changed,
    /// There is a difference, and it is smaller than the margin.
    BelowMargin,
    /// No difference was found, and one larger than the margin is ruled out.
    Equivalent,
    /// Neither can be said; so many values a side would narrow the interval to the margin, if they spread like these.
    Undecided {
        /// How many, where that can be told.
        needed: Option<usize>,
    },
}

/// A comparison of one metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Second mean over the first.
    pub ratio: f64,
    /// Where that lies with 95 %, where it can be told.
    pub interval: Option<Interval>,
    /// The chance of such a difference where there is none, for this metric alone.
    pub p: Option<f64>,
    /// The same, corrected for all metrics that were compared.
    pub adjusted: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Compares each pair of samples, whose values are occasions of their own, and corrects for their number. A sample whose
/// values do not differ at all says nothing of what another occasion would give: such a pair is equivalent where
/// both have the same value, else undecided.
#[must_use]
pub fn compare(pairs: &[(Vec<f64>, Vec<f64>)], margin: f64) -> Vec<Option<Comparison>> {
    let chances: Vec<Option<f64>> =
        pairs.iter().map(|(a, b)| Difference::welch(a, b).map(|d| d.p())).collect();
    let known: Vec<f64> = chances.iter().flatten().copied().collect();
    let mut adjusted = holm(&known).into_iter();
    pairs
        .iter()
        .zip(&chances)
        .map(|((a, b), p)| one(a, b, margin, *p, p.and_then(|_| adjusted.next())))
        .collect()
}

fn one(a: &[f64], b: &[f64], margin: f64, p: Option<f64>, adjusted: Option<f64>) -> Option<Comparison> {
    let (base, other) = (spread(a)?.mean, spread(b)?.mean);
    if base == 0.0 {
        return None;
    }
    let point = other / base;
    let interval = ratio(a, b, 1.0 - LEVEL).map(|(_, interval)| interval);
    let verdict = match (Difference::welch(a, b), adjusted) {
        (Some(difference), Some(adjusted)) => {
            let within = interval.is_some_and(|i| i.low > 1.0 - margin && i.high < 1.0 + margin);
            let half = interval.map(|i| (i.high - i.low) / 2.0);
            if adjusted < LEVEL {
                if within { Verdict::BelowMargin } else { Verdict::Changed }
            } else if difference.tost(margin * base.abs()) < LEVEL {
                Verdict::Equivalent
            } else {
                let values = a.len().min(b.len());
                Verdict::Undecided { needed: half.and_then(|half| runs_for(half, values, margin)) }
            }
        }
        _ if a.len() > 1 && b.len() > 1 && point == 1.0 => Verdict::Equivalent,
        _ => Verdict::Undecided { needed: None },
    };
    Some(Comparison { ratio: point, interval, p, adjusted, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(pairs: &[(&[f64], &[f64])], margin: f64) -> Vec<Verdict> {
        let pairs: Vec<_> = pairs.iter().map(|(a, b)| (a.to_vec(), b.to_vec())).collect();
        compare(&pairs, margin).into_iter().map(|c| c.unwrap().verdict).collect()
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
        assert!(matches!(two[0], Verdict::Undecided { needed: Some(runs) } if runs > 100), "{two:?}");
        assert_eq!(verdicts(&[UP], 0.01), [Verdict::BelowMargin], "real, but below one per cent");
    }

    #[test]
    fn many_metrics_ask_for_more_and_none_is_claimed_of_nothing() {
        let same: Vec<f64> = (0..10).map(|i| 100.0 + f64::from(i) * 0.01).collect();
        let other: Vec<f64> = same.iter().rev().map(|v| v + 0.002).collect();
        assert_eq!(verdicts(&[(&same, &other)], 0.01), [Verdict::Equivalent]);
        // A chance of 1 % is a claim alone and none among fifty.
        let (a, b) = ([10.0, 10.2, 9.8, 10.1, 9.9], [10.4, 10.5, 10.2, 10.3, 10.1]);
        let alone = compare(&[(a.to_vec(), b.to_vec())], 0.01);
        let p = alone[0].unwrap().p.unwrap();
        assert!(p < LEVEL && p > LEVEL / 50.0, "{p}");
        assert_eq!(alone[0].unwrap().verdict, Verdict::Changed);
        let among: Vec<_> = (0..50).map(|_| (a.to_vec(), b.to_vec())).collect();
        assert!(matches!(compare(&among, 0.01)[7].unwrap().verdict, Verdict::Undecided { .. }));
    }

    #[test]
    fn what_does_not_vary_says_little() {
        assert_eq!(verdicts(&[(&[5.0, 5.0], &[5.0, 5.0])], 0.01), [Verdict::Equivalent]);
        assert_eq!(verdicts(&[(&[5.0, 5.0], &[6.0, 6.0])], 0.01), [Verdict::Undecided { needed: None }]);
        assert_eq!(verdicts(&[(&[5.0], &[6.0])], 0.01), [Verdict::Undecided { needed: None }]);
        assert!(compare(&[(vec![], vec![1.0])], 0.01)[0].is_none());
        assert!(
            compare(&[(vec![0.0, 0.0], vec![1.0, 2.0])], 0.01)[0].is_none(),
            "there is no ratio to nothing"
        );
    }
}

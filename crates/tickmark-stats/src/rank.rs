//! Two samples by their order alone.

use crate::Interval;
use crate::quantile::Sorted;
use crate::student::{normal_above, normal_point};

/// Up to so many values together the distribution of U is counted, if there are no ties.
const COUNTED: usize = 60;

/// Mann and Whitney's U and the chance of one this extreme on either side where both samples come from one
/// distribution: On a test of whether one of two random variables is stochastically larger, 1947.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MannWhitney {
    /// How many pairs the second sample wins; a tie is half a pair.
    pub u: f64,
    /// The two-sided chance.
    pub p: f64,
    /// True if it was counted, and is not the normal approximation with corrections for ties and continuity.
    pub exact: bool,
}

/// Compares two samples of any length. None where one is empty.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let Ranks { u, ties, tied_across } = ranks(first, second);
    let (m, n) = (first.len(), second.len());
    let pairs = m as f64 * n as f64;
    if m + n <= COUNTED && !tied_across {
        let least = u.min(pairs - u);
        let below: f64 = distribution(m, n).iter().take(least as usize + 1).sum();
        return Some(MannWhitney { u, p: (2.0 * below).min(1.0), exact: true });
    }
    let all = (m + n) as f64;
    let variance = pairs / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return Some(MannWhitney { u, p: 1.0, exact: false });
    }
    let z = ((u - pairs / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    Some(MannWhitney { u, p: (2.0 * normal_above(z)).min(1.0), exact: false })
}

struct Ranks {
    /// How many pairs the second sample wins; a tie is half a pair.
    u: f64,
    /// Sum of t^3 - t over the groups of equal values.
    ties: f64,
    /// True if a value stands in both samples.
    tied_across: bool,
}

fn ranks(first: &[f64], second: &[f64]) -> Ranks {
    let mut all: Vec<(f64, bool)> =
        first.iter().map(|v| (*v, false)).chain(second.iter().map(|v| (*v, true))).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranks = Ranks { u: 0.0, ties: 0.0, tied_across: false };
    let mut below = 0.0;
    for group in all.chunk_by(|a, b| a.0 == b.0) {
        let own = group.iter().filter(|(_, of_second)| *of_second).count() as f64;
        let (count, others) = (group.len() as f64, group.len() as f64 - own);
        ranks.u += own * (below + others / 2.0);
        ranks.ties += count.powi(3) - count;
        ranks.tied_across |= own > 0.0 && others > 0.0;
        below += others;
    }
    ranks
}

/// The chance of each value of U from 0 to m n, by the recurrence of Mann and Whitney's paper in the form of a product:
/// the coefficients of (1 - q^(n+1)) ... (1 - q^(n+m)) / ((1 - q) ... (1 - q^m)), over their sum.
fn distribution(m: usize, n: usize) -> Vec<f64> {
    let most = m * n;
    let mut counts = vec![0.0; most + 1];
    counts[0] = 1.0;
    for i in 1..=m {
        for at in (n + i..=most).rev() {
            counts[at] -= counts[at - n - i];
        }
        for at in i..=most {
            counts[at] += counts[at - i];
        }
    }
    let sum: f64 = counts.iter().sum();
    counts.iter().map(|count| count / sum).collect()
}

/// Hodges and Lehmann's estimate of the shift from the first sample to the second, the median of all differences, with
/// the interval whose ends are two of them: Estimates of location based on rank tests, 1963. The confidence is what the
/// distribution of U gives (counted, above 60 values its normal approximation): at least what was asked for where the
/// samples are large enough, else the most that they give.
#[must_use]
pub fn hodges_lehmann(first: &[f64], second: &[f64], confidence: f64) -> Option<(f64, Interval, f64)> {
    let differences = Differences::new(first, second)?;
    let count = differences.count();
    let (left_out, sure) = left_out(first.len(), second.len(), confidence);
    let interval = Interval { low: differences.at(left_out), high: differences.at(count - 1 - left_out) };
    let point = f64::midpoint(differences.at((count - 1) / 2), differences.at(count / 2));
    Some((point, interval, sure))
}

/// How many differences are left out on each side, and the confidence that this gives.
fn left_out(m: usize, n: usize, confidence: f64) -> (usize, f64) {
    let tail = (1.0 - confidence) / 2.0;
    if m + n > COUNTED {
        let pairs = m as f64 * n as f64;
        let reach = normal_point(tail) * (pairs * (m + n + 1) as f64 / 12.0).sqrt();
        let out = (pairs / 2.0 - reach - 0.5).floor().max(0.0);
        return (out as usize, confidence);
    }
    let chances = distribution(m, n);
    let (mut out, mut below) = (0, chances[0]);
    while out + 1 < m * n / 2 && below + chances[out + 1] <= tail {
        out += 1;
        below += chances[out];
    }
    (out, 1.0 - 2.0 * below)
}

/// All differences of a value of the second sample and one of the first, in ascending order, without making them.
struct Differences {
    first: Sorted,
    second: Sorted,
}

impl Differences {
    fn new(first: &[f64], second: &[f64]) -> Option<Self> {
        let own =
            Self { first: Sorted::new(first.iter().copied()), second: Sorted::new(second.iter().copied()) };
        (own.count() > 0).then_some(own)
    }

    fn count(&self) -> usize {
        self.first.as_slice().len() * self.second.as_slice().len()
    }

    /// How many are `limit` or less: one walk over both samples.
    fn up_to(&self, limit: f64) -> usize {
        let (first, mut from, mut count) = (self.first.as_slice(), 0, 0);
        for b in self.second.as_slice() {
            while from < first.len() && b - first[from] > limit {
                from += 1;
            }
            count += first.len() - from;
        }
        count
    }

    /// The difference with so many below it, by halving the range of numbers until one is left.
    fn at(&self, rank: usize) -> f64 {
        let (mut low, mut high) = (ordered(f64::NEG_INFINITY), ordered(f64::INFINITY));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.up_to(from_ordered(middle)) > rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        from_ordered(low)
    }
}

const SIGN: u64 = 1 << 63;

/// The place of a number in the order of all numbers, and the number at a place.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn from_ordered(place: u64) -> f64 {
    f64::from_bits(if place & SIGN != 0 { place ^ SIGN } else { !place })
}

/// The same for differences of pairs: the median of their means two by two, with the interval that Wilcoxon's signed ranks give
/// (Individual comparisons by ranking methods, 1945; Hodges and Lehmann 1963). The distribution is counted up to 60
/// pairs. None of an empty sample.
#[must_use]
pub fn signed_rank(differences: &[f64], confidence: f64) -> Option<(f64, Interval, f64)> {
    let n = differences.len();
    let means = differences
        .iter()
        .enumerate()
        .flat_map(|(at, a)| differences[at..].iter().map(move |b| f64::midpoint(*a, *b)));
    let means = Sorted::new(means);
    let point = means.quantile(0.5)?;
    let (values, tail) = (means.as_slice(), (1.0 - confidence) / 2.0);
    let (out, sure) = if n > COUNTED {
        let pairs = values.len() as f64;
        let reach = normal_point(tail) * (pairs * (2 * n + 1) as f64 / 12.0).sqrt();
        ((pairs / 2.0 - reach - 0.5).floor().max(0.0) as usize, confidence)
    } else {
        // Subsets of the ranks by their sum.
        let mut counts = vec![0.0; values.len() + 1];
        counts[0] = 1.0;
        for rank in 1..=n {
            for at in (rank..counts.len()).rev() {
                counts[at] += counts[at - rank];
            }
        }
        let all = 2f64.powi(n as i32);
        let (mut out, mut below) = (0, counts[0] / all);
        while out + 1 < values.len() / 2 && below + counts[out + 1] / all <= tail {
            out += 1;
            below += counts[out] / all;
        }
        (out, 1.0 - 2.0 * below)
    };
    let interval = Interval { low: values[out], high: values[values.len() - 1 - out] };
    Some((point, interval, sure))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACPI: [f64; 5] = [14_097.47, 13_741.43, 13_704.01, 13_626.05, 13_769.32];
    const TSC: [f64; 5] = [13_638.09, 15_204.89, 15_126.16, 15_199.22, 15_111.09];

    #[test]
    fn golden_values_of_scipy() {
        let mw = mann_whitney(&ACPI[1..], &TSC[1..]).unwrap();
        assert_eq!((mw.u, mw.exact), (16.0, true));
        assert!((mw.p - 0.028_571_428_57).abs() < 1e-10);
        let (point, i, confidence) = hodges_lehmann(&ACPI[1..], &TSC[1..], 0.95).unwrap();
        assert!((point - 1446.68).abs() < 1e-9 && (confidence - 0.971_428_571).abs() < 1e-9);
        assert!((i.low - 1341.77).abs() < 1e-9 && (i.high - 1578.84).abs() < 1e-9, "{i:?}");

        let mw = mann_whitney(&ACPI, &TSC).unwrap();
        assert_eq!(mw.u, 21.0);
        assert!((mw.p - 0.095_238_095_2).abs() < 1e-9);
        let (point, i, _) = hodges_lehmann(&ACPI, &TSC, 0.95).unwrap();
        assert!((point - 1384.73).abs() < 1e-9, "{point}");
        assert!((i.low + 103.34).abs() < 1e-9 && (i.high - 1500.88).abs() < 1e-9, "{i:?}");

        let (a, b) = ([154.0, 155.0, 154.0, 153.0, 153.0], [128.0, 163.0, 166.0, 164.0, 161.0]);
        assert!((mann_whitney(&a, &b).unwrap().p - 0.150_794).abs() < 1e-6);
        let (point, i, _) = hodges_lehmann(&a, &b, 0.95).unwrap();
        assert_eq!((point, i), (9.0, Interval { low: -26.0, high: 12.0 }));
    }

    #[test]
    fn the_distribution_is_one_and_symmetric() {
        for (m, n) in [(1, 1), (3, 5), (7, 7), (20, 30)] {
            let d = distribution(m, n);
            assert!((d.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!((0..d.len()).all(|i| (d[i] - d[d.len() - 1 - i]).abs() < 1e-12), "{m} {n}");
        }
        // 2 / C(14, 7): seven runs a side are enough for 80 metrics under Holm.
        let p = mann_whitney(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], &[8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0])
            .unwrap()
            .p;
        assert!((p - 2.0 / 3432.0).abs() < 1e-12 && p < 0.05 / 80.0);
    }

    #[test]
    fn many_values_are_ranked_as_few_are() {
        // Half of 400 x 400 differences of two ladders are below their distance.
        let a: Vec<f64> = (0..400).map(f64::from).collect();
        let b: Vec<f64> = (0..400).map(|i| f64::from(i) + 20.5).collect();
        let (point, i, confidence) = hodges_lehmann(&a, &b, 0.95).unwrap();
        assert_eq!(point, 20.5);
        assert!(i.low > 3.0 && i.low < 6.0 && i.high > 35.0 && i.high < 38.0, "{i:?}");
        assert_eq!(confidence, 0.95);
        let same = mann_whitney(&a, &a).unwrap();
        assert_eq!((same.u, same.p), (80_000.0, 1.0));
    }

    #[test]
    #[expect(clippy::approx_constant, reason = "a published value")]
    fn signed_ranks_have_the_intervals_of_the_tables() {
        // Hollander and Wolfe, Nonparametric statistical methods, example 3.1 (depression scale): pseudo-median -.46; the
        // interval of nine pairs with 96.1 % lies between the 6th and the 40th of 45 means: -.786 and -.010.
        let (before, after) = (
            [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
            [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
        );
        let differences: Vec<f64> = before.iter().zip(after).map(|(a, b)| b - a).collect();
        let (point, i, confidence) = signed_rank(&differences, 0.95).unwrap();
        assert!((point + 0.46).abs() < 1e-9 && (confidence - 0.961).abs() < 1e-3, "{point} {confidence}");
        assert!((i.low + 0.786).abs() < 1e-3 && (i.high + 0.010).abs() < 1e-3, "{i:?}");
        assert!(signed_rank(&[], 0.95).is_none());
        let many: Vec<f64> = (0..200).map(|i| f64::from(i) - 89.5).collect();
        let (point, i, _) = signed_rank(&many, 0.95).unwrap();
        assert!(point == 10.0 && i.low > 0.0 && i.low < 4.0 && i.high > 16.0 && i.high < 20.0, "{i:?}");
    }

    #[test]
    fn ties_are_corrected_for_and_all_equal_is_no_difference() {
        let mw = mann_whitney(&[1.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 2.0, 4.0]).unwrap();
        assert!(!mw.exact && mw.p > 0.3 && mw.p < 0.8, "{mw:?}");
        assert_eq!(mann_whitney(&[5.0; 9], &[5.0; 9]).unwrap().p, 1.0);
        assert!(mann_whitney(&[], &[1.0]).is_none());
    }
}

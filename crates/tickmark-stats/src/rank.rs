//! Two samples by their order alone.

use crate::Interval;
use crate::quantile::Sorted;
use crate::student::normal_above;

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
    /// Whether it was counted, and is not the normal approximation with corrections for ties and continuity.
    pub exact: bool,
}

/// Compares two samples. None where one is empty.
#[must_use]
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<MannWhitney> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let wins = |b: &f64| {
        first.iter().map(|a| if b > a { 1.0 } else { f64::from(u8::from(a == b)) / 2.0 }).sum::<f64>()
    };
    let u: f64 = second.iter().map(wins).sum();
    let (m, n) = (first.len(), second.len());
    let pairs = (m * n) as f64;
    let ties = ties(first, second);
    if m + n <= COUNTED && !ties.tied_across {
        let least = u.min(pairs - u);
        let below: f64 = distribution(m, n).iter().take(least as usize + 1).sum();
        return Some(MannWhitney { u, p: (2.0 * below).min(1.0), exact: true });
    }
    let all = (m + n) as f64;
    let variance = pairs / 12.0 * (all + 1.0 - ties.sum / (all * (all - 1.0)));
    if variance <= 0.0 {
        return Some(MannWhitney { u, p: 1.0, exact: false });
    }
    let z = ((u - pairs / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    Some(MannWhitney { u, p: (2.0 * normal_above(z)).min(1.0), exact: false })
}

struct Ties {
    /// Sum of t^3 - t over the groups of equal values.
    sum: f64,
    /// Whether a value stands in both samples.
    tied_across: bool,
}

fn ties(first: &[f64], second: &[f64]) -> Ties {
    let all = Sorted::new(first.iter().chain(second).copied());
    let (mut sum, mut at) = (0.0, 0);
    let values = all.as_slice();
    while at < values.len() {
        let end = values[at..].partition_point(|v| *v == values[at]) + at;
        let count = (end - at) as f64;
        sum += count.powi(3) - count;
        at = end;
    }
    let own = Sorted::new(first.iter().copied());
    let tied_across = second.iter().any(|v| own.as_slice().binary_search_by(|a| a.total_cmp(v)).is_ok());
    Ties { sum, tied_across }
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
/// the interval whose ends are two of them: Estimates of location based on rank tests, 1963. The confidence is what
/// the counted distribution gives, at least what was asked for where the samples are large enough, else the most that
/// they give.
#[must_use]
pub fn hodges_lehmann(first: &[f64], second: &[f64], confidence: f64) -> Option<(f64, Interval, f64)> {
    let differences = Sorted::new(first.iter().flat_map(|a| second.iter().map(move |b| b - a)));
    let point = differences.quantile(0.5)?;
    let values = differences.as_slice();
    let chances = distribution(first.len(), second.len());
    let (mut left_out, mut below) = (0, chances[0]);
    while left_out + 1 < values.len() / 2 && below + chances[left_out + 1] <= (1.0 - confidence) / 2.0 {
        left_out += 1;
        below += chances[left_out];
    }
    let interval = Interval { low: values[left_out], high: values[values.len() - 1 - left_out] };
    Some((point, interval, 1.0 - 2.0 * below))
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
    fn ties_are_corrected_for_and_all_equal_is_no_difference() {
        let mw = mann_whitney(&[1.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 2.0, 4.0]).unwrap();
        assert!(!mw.exact && mw.p > 0.3 && mw.p < 0.8, "{mw:?}");
        assert_eq!(mann_whitney(&[5.0; 9], &[5.0; 9]).unwrap().p, 1.0);
        assert!(mann_whitney(&[], &[1.0]).is_none());
    }
}

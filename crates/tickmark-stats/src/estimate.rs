//! A value and how far it can be trusted, over the runs of one recording.

use crate::quantile::Sorted;

/// Two ends of an interval, in the unit of what it belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A value with its interval. The confidence is what the method gives, not what was wished for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub point: f64,
    /// Where the median of such runs lies.
    pub interval: Interval,
    /// With which probability, 0 to 1.
    pub confidence: f64,
}

/// Mean and standard deviation between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation with n - 1; 0 of a single run.
    pub deviation: f64,
}

/// Mean and standard deviation, in two passes. None of an empty sample.
#[must_use]
pub fn spread(values: &[f64]) -> Option<Spread> {
    if values.is_empty() {
        return None;
    }
    let count = values.len() as f64;
    // What is all the same does not vary, whatever rounding makes of its mean.
    if values.iter().all(|value| *value == values[0]) {
        return Some(Spread { mean: values[0], deviation: 0.0 });
    }
    let rough = values.iter().sum::<f64>() / count;
    let mean = rough + values.iter().map(|v| v - rough).sum::<f64>() / count;
    // In units of the farthest, so that no square overflows or vanishes.
    let far = values.iter().map(|v| (v - mean).abs()).fold(0.0, f64::max);
    let squares: f64 = values.iter().map(|v| ((v - mean) / far).powi(2)).sum();
    let deviation = if values.len() > 1 { (squares / (count - 1.0)).sqrt() * far } else { 0.0 };
    Some(Spread { mean, deviation })
}

/// The median of the runs, and the interval between two of them that holds the median of such runs:
/// the narrowest pair of order statistics with at least 95 % where there is one (6 runs or more), else
/// the least and the greatest with the confidence that they give, 1 - 2^(1-n) (5 runs: 93.75 %). Sign
/// test; Conover, Practical nonparametric statistics, section 3.2. None of an empty sample.
#[must_use]
pub fn median_of_runs(values: &[f64]) -> Option<Estimate> {
    let sorted = Sorted::new(values.iter().copied());
    let point = sorted.quantile(0.5)?;
    let values = sorted.as_slice();
    let n = values.len();
    let (mut left_out, mut tail) = (0, 0.5f64.powi(n as i32));
    // The chance of `left_out` or fewer on one side; each further step adds a binomial term.
    let (mut term, mut sum) = (tail, tail);
    for k in 1..n.div_ceil(2) {
        term *= (n - k + 1) as f64 / k as f64;
        sum += term;
        if 1.0 - 2.0 * sum < 0.95 {
            break;
        }
        (left_out, tail) = (k, sum);
    }
    let interval = Interval { low: values[left_out], high: values[n - 1 - left_out] };
    Some(Estimate { point, interval, confidence: 1.0 - 2.0 * tail })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_runs_give_their_range_with_what_it_is_worth() {
        let e = median_of_runs(&[5.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!((e.point, e.interval, e.confidence), (3.0, Interval { low: 1.0, high: 5.0 }, 0.9375));
    }

    #[test]
    fn order_statistics_as_tables_have_them() {
        // Conover: n = 10 leaves one out on each side (97.85 %), n = 20 leaves five out (95.86 %).
        for (n, low, confidence) in
            [(6, 1.0, 0.96875), (10, 2.0, 0.978_515_625), (20, 6.0, 0.958_610_534_667_968_8)]
        {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let e = median_of_runs(&values).unwrap();
            assert_eq!(e.interval.low, low, "n = {n}");
            assert!((e.confidence - confidence).abs() < 1e-12, "n = {n}: {}", e.confidence);
        }
    }

    #[test]
    fn one_run_says_nothing_of_others() {
        assert_eq!(median_of_runs(&[7.0]).unwrap().confidence, 0.0);
        assert_eq!(median_of_runs(&[]), None);
        assert_eq!(spread(&[7.0]).unwrap(), Spread { mean: 7.0, deviation: 0.0 });
    }

    #[test]
    fn what_is_all_the_same_does_not_vary() {
        assert_eq!(spread(&[0.1, 0.1, 0.1]).unwrap(), Spread { mean: 0.1, deviation: 0.0 });
    }

    #[test]
    fn spread_survives_a_large_offset() {
        let s = spread(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).unwrap();
        assert_eq!(s.deviation, 1.0);
    }
}

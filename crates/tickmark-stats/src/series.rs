//! Values in the order in which they came: do neighbours resemble each other, and do they wander off? Either makes an
//! interval from independent values too narrow.

use crate::student::t_above;
use crate::two::Difference;

/// The correlation of each value with the next, -1 to 1: the first serial correlation coefficient of Box and Jenkins,
/// Time series analysis, 1970, section 2.1.5. None for fewer than three values or values that do not vary.
#[must_use]
pub fn lag_1(values: &[f64]) -> Option<f64> {
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count as f64;
    let all: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let neighbours: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    (count > 2 && all > 0.0).then(|| neighbours / all)
}

/// Limits of that correlation in 95 of 100 series of `count` independent values: around -1/n, two standard errors of 1/sqrt(n) (Bartlett
/// 1946; Kendall 1954 for the shift).
#[must_use]
pub fn lag_1_by_chance(count: usize) -> (f64, f64) {
    let n = count as f64;
    (-1.0 / n - 1.96 / n.sqrt(), -1.0 / n + 1.96 / n.sqrt())
}

/// A straight line through the values over their order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// By how much the line rises from the first value to the last, in the unit of the values.
    pub over: f64,
    /// The chance of a line this steep, on either side, where the order means nothing.
    pub p: f64,
}

/// Least squares over 0, 1, 2 ... with Student's t of the slope at n - 2 degrees of freedom. Of the n! orders that chance might have
/// given, the seen one and its reverse are as steep: the chance is never below 2 / n!. None for fewer than three values or values
/// that do not vary.
#[must_use]
pub fn drift(values: &[f64]) -> Option<Drift> {
    let n = values.len() as f64;
    if n < 3.0 {
        return None;
    }
    let (mean, middle) = (values.iter().sum::<f64>() / n, (n - 1.0) / 2.0);
    let (mut across, mut up) = (0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        across += (at as f64 - middle) * (value - mean);
        up += (value - mean).powi(2);
    }
    let along = n * (n * n - 1.0) / 12.0;
    let slope = across / along;
    let left = (up - slope * across).max(0.0);
    let line = Difference { point: slope, error: (left / (n - 2.0) / along).sqrt(), df: n - 2.0 };
    let p = if line.error > 0.0 { 2.0 * t_above(line.t().abs(), line.df) } else { 0.0 };
    let orders: f64 = (2..=values.len().min(20)).map(|at| at as f64).product();
    (up > 0.0).then_some(Drift { over: slope * (n - 1.0), p: p.max(2.0 / orders) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours() {
        // By hand: deviations -2 -1 0 1 2; products 2 0 0 2 over 10.
        assert!((lag_1(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap() - 0.4).abs() < 1e-12);
        assert!((lag_1(&[1.0, -1.0, 1.0, -1.0]).unwrap() + 0.75).abs() < 1e-12);
        assert_eq!((lag_1(&[3.0, 3.0, 3.0]), lag_1(&[1.0, 2.0])), (None, None));
        let (low, high) = lag_1_by_chance(100);
        assert!((low + 0.206).abs() < 1e-9 && (high - 0.186).abs() < 1e-9);
    }

    #[test]
    fn a_line() {
        let d = drift(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        // Two of 24 orders are as steep.
        assert_eq!((d.over, d.p), (3.0, 2.0 / 24.0));
        assert_eq!(drift(&[1.0, 2.0, 3.0]).unwrap().p, 2.0 / 6.0);
        // Slope and chance by mpmath.
        let d = drift(&[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]).unwrap();
        assert!((d.over / 7.0 - 0.535714286).abs() < 1e-8, "{d:?}");
        assert!((d.p - 0.231519832).abs() < 1e-8, "{d:?}");
        assert_eq!((drift(&[2.0, 2.0, 2.0]), drift(&[1.0, 2.0])), (None, None));
    }
}

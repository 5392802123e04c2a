//! What the order of the values says against a claim that takes them for independent: two sides that were measured one after the
//! other may differ because values hang together, or because they drift.
//!
//! The constants were chosen by simulation, so that of pairs in which nothing was changed at most 8 % are claimed where a test of
//! independent values claims up to 100 % (ten to two hundred values a side; autoregressive values of correlation .3 and .6, drifts
//! of .5 to 4 standard deviations; of five a side under the largest drift it is 13 %): `cargo test -p tickmark-stats --release --test order -- --nocapture` prints the rates. Values of
//! states that last fewer than fifteen values cannot be told from a change.

use crate::student::t_point;
use crate::two::Difference;

/// Added to the correlation of neighbours, over all values: its bias in short series (Kendall, Note on bias in the estimation of
/// autocorrelation, 1954), and about one standard error.
const BIAS: f64 = 6.0;
/// A larger correlation is not told from a drift.
const MOST: f64 = 0.95;
/// A difference has to be so many standard errors more than what the drift alone makes.
const SURE: f64 = 1.5;
/// Fewer values a side have no order that says anything.
const FEWEST: usize = 3;
/// Of so many sorted values it is not believed that they were measured in this order.
const SORTED: usize = 4;

/// Why a difference is not claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// Both sides drift, and going on would make a difference like it.
    Drift,
    /// Neighbours resemble each other: of so few independent values it is not shown.
    Dependence,
}

/// The order of two sides, of which the second was measured after the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    /// The correlation of neighbours, -1 to 1: of both sides, each around its own mean, as it is.
    pub lag_1: f64,
    /// The same with its bias and its error, which is what is reckoned with: 0 to .95.
    pub correlation: f64,
    /// So many times as far as of independent values the means vary: of autoregressive ones (Box and Jenkins, Time series analysis,
    /// 1970, section 5.2).
    pub widening: f64,
    /// By how much the second mean would be above the first if the common line of both sides went on, in their unit.
    pub drift: f64,
    /// Its standard error.
    pub drift_error: f64,
}

impl Order {
    /// None where the order is not known: values that come sorted, too few, or none that vary.
    #[must_use]
    pub fn one_after_the_other(first: &[f64], second: &[f64]) -> Option<Self> {
        let sorted = |values: &[f64]| {
            values.len() > SORTED && (values.is_sorted() || values.is_sorted_by(|a, b| a >= b))
        };
        if first.len().min(second.len()) < FEWEST || sorted(first) || sorted(second) {
            return None;
        }
        let all = (first.len() + second.len()) as f64;
        let [a, b] = [Sums::of(first), Sums::of(second)];
        let (squares, neighbours) = (a.squares + b.squares, a.neighbours + b.neighbours);
        let (along, across) = (a.along + b.along, a.across + b.across);
        let lag_1 = neighbours / squares;
        let correlation = (lag_1 + BIAS / all).clamp(0.0, MOST);
        let (slope, half) = (across / along, all / 2.0);
        let left = (squares - across * across / along).max(0.0);
        (squares > 0.0).then(|| Self {
            lag_1,
            correlation,
            widening: ((1.0 + correlation) / (1.0 - correlation)).sqrt(),
            drift: slope * half,
            drift_error: half * (left / (all - 3.0) / along).sqrt(),
        })
    }

    /// Whether neighbours resemble each other more than chance makes them in 97.5 of 100 pairs of so many values.
    #[must_use]
    pub fn resembles(&self, values: usize) -> bool {
        self.lag_1 > 1.96 / (values as f64).sqrt()
    }

    /// Whether both sides drift by more than chance makes them in 99 of 100 pairs.
    #[must_use]
    pub fn drifts(&self) -> bool {
        self.drift.abs() > 2.6 * self.drift_error
    }

    /// Why a difference with this error and these degrees of freedom is not claimed at a level, if it is not.
    pub(super) fn withholds(&self, difference: &Difference, level: f64) -> Option<Withheld> {
        let Difference { point, error, df } = *difference;
        let own = self.drift * point.signum();
        let beyond = point.abs() - own;
        if own > 0.0 && beyond <= SURE * error.hypot(self.drift_error) {
            return Some(Withheld::Drift);
        }
        let reach = t_point(level / 2.0, df) * error * self.widening;
        (point.abs() <= reach).then_some(Withheld::Dependence)
    }
}

/// Sums over one side, around its mean.
struct Sums {
    squares: f64,
    /// Of neighbours.
    neighbours: f64,
    /// Of places, and of places with values.
    along: f64,
    across: f64,
}

impl Sums {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let middle = (count - 1.0) / 2.0;
        let apart = |value: &f64| value - mean;
        Self {
            squares: values.iter().map(|value| apart(value).powi(2)).sum(),
            neighbours: values.windows(2).map(|pair| apart(&pair[0]) * apart(&pair[1])).sum(),
            along: count * (count * count - 1.0) / 12.0,
            across: values.iter().enumerate().map(|(at, value)| (at as f64 - middle) * apart(value)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(first: &[f64], second: &[f64]) -> (Order, Option<Withheld>) {
        let order = Order::one_after_the_other(first, second).unwrap();
        (order, order.withholds(&Difference::welch(first, second).unwrap(), 0.05))
    }

    // By a second implementation, in Python.
    #[test]
    fn a_clear_step_is_no_drift_and_no_dependence() {
        let a = [10.1, 10.4, 9.8, 10.0, 10.3, 9.9, 10.2, 10.5, 9.7, 10.1];
        let b = [11.0, 10.6, 11.3, 10.9, 10.7, 11.2, 10.8, 11.1, 10.5, 11.4];
        let (order, withheld) = judged(&a, &b);
        assert!(withheld.is_none() && order.widening == 1.0, "{order:?}");
        assert!(
            (order.drift - 0.02727).abs() < 1e-5 && (order.drift_error - 0.2253).abs() < 1e-4,
            "{order:?}"
        );
    }

    #[test]
    fn a_line_that_goes_on_is_drift_and_neighbours_that_resemble_each_other_are_fewer() {
        let a: Vec<f64> = (1..=10).map(f64::from).collect();
        let mut b: Vec<f64> = (11..=19).map(f64::from).chain([20.5]).collect();
        assert_eq!(Order::one_after_the_other(&a, &b), None, "sorted: whether it is the order is not known");
        b.swap(0, 1);
        let mut a = a;
        a.swap(4, 5);
        assert_eq!(judged(&a, &b).1, Some(Withheld::Drift));
        let a = [1.0, 1.2, 1.5, 1.4, 1.7, 1.3, 1.0, 0.8, 0.9, 1.1];
        let b = [1.4, 1.7, 1.9, 1.8, 1.5, 1.3, 1.2, 1.5, 1.8, 1.9];
        let (order, withheld) = judged(&a, &b);
        assert_eq!(withheld, Some(Withheld::Dependence));
        assert!(
            (order.correlation - 0.83621).abs() < 1e-5 && (order.widening - 3.34826).abs() < 1e-5,
            "{order:?}"
        );
    }
}

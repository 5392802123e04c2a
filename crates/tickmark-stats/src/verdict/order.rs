//! Evidence of time order against a claim that takes the values for independent: two sides that were measured one after the other may
//! differ because values are correlated, or because they drift.
//!
//! The constants were chosen by simulation, so that of pairs in which nothing was changed at most 8 % are claimed where a test of
//! independent values claims up to 100 % (ten to two hundred values a side; autoregressive values of correlation .3 and .6, drifts
//! of .5 to 4 standard deviations; of five a side under the largest drift it is 13 %): `cargo test -p tickmark-stats --release --test statistics order -- --nocapture` prints the rates. Values of
//! states that last fewer than fifteen values cannot be told from a change.

use crate::student::t_point;
use crate::two::Difference;

/// Added to the correlation of neighbours, over all values: its bias in short series (Kendall, Note on bias in the estimation of
/// autocorrelation, 1954), and about one standard error.
const BIAS: f64 = 6.0;
/// A larger correlation is not told from a drift.
const MOST: f64 = 0.95;
/// The next value of a side that goes on is at most so many of its largest steps away.
const NEAR: f64 = 2.0;
/// A difference has to be so many standard errors more than what the drift alone makes.
const SURE: f64 = 1.5;
/// Fewer values a side have no order that says anything.
const FEWEST: usize = 3;
/// Values that can be arranged in so many ways, as five different ones can, are hardly measured in the order of their size.
const ARRANGEMENTS: f64 = 120.0;

/// Why a difference is not claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withheld {
    /// A drift that the values leave open would make a difference like it.
    Drift,
    /// Both sides are sorted, and one goes on where the other ends.
    Sorted,
    /// Neighbours resemble each other: of so few independent values it is not shown.
    Dependence,
}

/// The order of two sides that were measured one after the other; which one was first is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Order {
    /// The correlation of neighbours, -1 to 1: of both sides, each around its own mean, as it is.
    pub lag_1: f64,
    /// The same with its bias and its error, which is what is reckoned with: 0 to .95.
    pub correlation: f64,
    /// So many times as far as of independent values the means vary: of autoregressive ones (Box and Jenkins, Time series analysis,
    /// 1970, section 5.2).
    pub widening: f64,
    /// By how much the mean of the later side would be above the other one's if the common line of both went on, in their unit.
    pub drift: f64,
    /// Its standard error.
    pub drift_error: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// True if a side comes sorted: its values were hardly measured in this order, and the above says nothing.
    pub sorted: bool,
    /// True if both do, and one goes on where the other ends.
    continues: bool,
}

impl Order {
    /// None where there are too few values, or none that vary.
    #[must_use]
    pub fn one_after_the_other(first: &[f64], second: &[f64]) -> Option<Self> {
        if first.len().min(second.len()) < FEWEST {
            return None;
        }
        let all = (first.len() + second.len()) as f64;
        let [a, b] = [Sums::from_values(first), Sums::from_values(second)];
        let (squares, neighbours) = (a.squares + b.squares, a.neighbours + b.neighbours);
        let (along, across) = (a.along + b.along, a.across + b.across);
        let lag_1 = neighbours / squares;
        let sorted = is_sorted(first) || is_sorted(second);
        let correlation = if sorted { 0.0 } else { (lag_1 + BIAS / all).clamp(0.0, MOST) };
        let (slope, half) = (across / along, all / 2.0);
        let left = (squares - across * across / along).max(0.0);
        (squares > 0.0).then(|| Self {
            lag_1,
            correlation,
            widening: ((1.0 + correlation) / (1.0 - correlation)).sqrt(),
            drift: slope * half,
            drift_error: half * (left / (all - 3.0) / along).sqrt(),
            df: all - 3.0,
            sorted,
            continues: continue_each_other(first, second),
        })
    }

    /// True if neighbours resemble each other more than chance makes them in 97.5 of 100 pairs of so many values.
    #[must_use]
    pub fn resembles(&self, values: usize) -> bool {
        self.lag_1 > 1.96 / (values as f64).sqrt()
    }

    /// True if the sides together drift by more than chance makes them in 99 of 100 pairs.
    #[must_use]
    pub fn drifts(&self) -> bool {
        self.drift.abs() > t_point(0.005, self.df) * self.drift_error
    }

    /// The largest difference that the drift makes if it goes on, with 95 % confidence, in the unit of the values.
    #[must_use]
    pub fn most_by_drift(&self) -> f64 {
        self.drift.abs() + t_point(0.05, self.df) * self.drift_error
    }

    /// Why a difference with this error and these degrees of freedom is not claimed at a level, if it is not.
    pub(super) fn withholds(&self, difference: &Difference, level: f64) -> Option<Withheld> {
        let Difference { point, error, df } = *difference;
        // Whichever was first.
        let drifts = point.abs() - self.drift.abs() <= SURE * error.hypot(self.drift_error);
        if self.sorted {
            return (self.continues && drifts).then_some(Withheld::Sorted);
        }
        if drifts {
            return Some(Withheld::Drift);
        }
        let reach = t_point(level / 2.0, df) * error * self.widening;
        (point.abs() <= reach).then_some(Withheld::Dependence)
    }
}

/// True if so many values come in the order of their size that it is hardly the one in which they were measured, unless they drift.
#[must_use]
pub fn is_sorted(values: &[f64]) -> bool {
    (values.is_sorted() || values.is_sorted_by(|a, b| a >= b)) && arrangements(values) >= ARRANGEMENTS
}

/// In how many ways sorted values can be arranged, where equal ones cannot be told apart: n! over the factorial of each group of equals.
fn arrangements(sorted: &[f64]) -> f64 {
    let groups = sorted.chunk_by(|a, b| a == b).flat_map(|group| 1..=group.len());
    groups.zip(1..).map(|(in_group, in_all): (usize, usize)| in_all as f64 / in_group as f64).product()
}

/// True if both are sorted the same way, and one begins near to where the other ends.
fn continue_each_other(first: &[f64], second: &[f64]) -> bool {
    let rises = |values: &[f64]| values.is_sorted().then(|| [values[0], values[values.len() - 1]]);
    let falls =
        |values: &[f64]| values.is_sorted_by(|a, b| a >= b).then(|| [values[values.len() - 1], values[0]]);
    if !(is_sorted(first) && is_sorted(second)) {
        return false;
    }
    let both = rises(first).zip(rises(second)).or_else(|| falls(first).zip(falls(second)));
    let Some((a, b)) = both else { return false };
    let gap = (b[0] - a[1]).max(a[0] - b[1]);
    let steps = [first, second]
        .into_iter()
        .flat_map(|values| values.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
    gap >= 0.0 && gap <= NEAR * steps.fold(0.0, f64::max)
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
    fn from_values(values: &[f64]) -> Self {
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

    #[test]
    fn equal_values_have_no_order() {
        assert!(is_sorted(&[1.0, 2.0, 3.0, 4.0, 5.0]) && is_sorted(&[5.0, 4.0, 3.0, 2.0, 1.0]));
        // 60 arrangements, 10, and one.
        for values in [[1.0, 2.0, 3.0, 4.0, 4.0], [1.0, 1.0, 1.0, 2.0, 2.0], [1.0; 5]] {
            assert!(!is_sorted(&values), "{values:?}");
        }
        // 252.
        assert!(is_sorted(&[1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0]));
        assert_eq!(arrangements(&[1.0, 1.0, 2.0, 3.0, 3.0, 3.0]), 60.0);
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
        assert_eq!(judged(&a, &b).1, Some(Withheld::Sorted));
        assert_eq!(judged(&b, &a).1, Some(Withheld::Sorted), "whichever was first");
        let far: Vec<f64> = b.iter().map(|value| value + 30.0).collect();
        assert_eq!(judged(&a, &far).1, None, "sorted, and no line that goes on");
        // Published in order of size: near to each other, and farther than a line would be.
        let hz = [13715.0, 13719.0, 13726.0, 13734.0, 13735.0, 13750.0, 13778.0, 13778.0, 13783.0, 13793.0];
        let vendor =
            [13813.0, 13864.0, 13880.0, 13889.0, 13905.0, 13921.0, 13924.0, 13933.0, 13966.0, 13970.0];
        assert_eq!(judged(&hz, &vendor).1, None);
        b.swap(0, 1);
        let mut a = a;
        a.swap(4, 5);
        assert_eq!(judged(&a, &b).1, Some(Withheld::Drift));
        assert_eq!(judged(&b, &a).1, Some(Withheld::Drift), "whichever was first");
        // Both rise and fall.
        let a = [1.0, 1.2, 1.4, 1.6, 1.7, 1.7, 1.6, 1.4, 1.2, 1.0];
        let b = a.map(|value| value + 0.4);
        let (order, withheld) = judged(&a, &b);
        assert_eq!(withheld, Some(Withheld::Dependence));
        assert!(
            (order.correlation - 0.88171).abs() < 1e-5 && (order.widening - 3.98839).abs() < 1e-5,
            "{order:?}"
        );
    }
}

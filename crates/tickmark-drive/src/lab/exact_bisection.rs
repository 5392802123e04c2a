//! Bisection of a figure that is the same each time: one measurement of a commit is enough.

use std::ops::RangeInclusive;

/// What is known of a commit, or of a configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// Nothing yet.
    Open,
    /// It cannot be measured: why.
    Failed(String),
    /// The figure.
    Value(f64),
}

impl Measured {
    /// The figure.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Open | Self::Failed(_) => None,
        }
    }

    /// Why it has none.
    #[must_use]
    pub fn failed(&self) -> Option<&str> {
        match self {
            Self::Failed(why) => Some(why),
            Self::Open | Self::Value(_) => None,
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Measure this commit.
    Measure(usize),
    /// The figure crosses the middle between both ends with one of these commits: the last one, where it is one.
    Found(RangeInclusive<usize>),
    /// The ends differ by no more than the margin.
    NoChange,
    /// An end has no figure.
    NoEnd(usize),
}

/// The next step of a bisection of commits in their order, of which the first and the last one differ by more than `margin`.
#[must_use]
pub fn next_step(all: &[Measured], margin: f64) -> Next {
    let last = all.len().saturating_sub(1);
    for end in [0, last] {
        match all.get(end) {
            Some(Measured::Value(_)) => {}
            Some(Measured::Open) => return Next::Measure(end),
            Some(Measured::Failed(_)) | None => return Next::NoEnd(end),
        }
    }
    let end = |at: usize| all[at].value().unwrap_or(0.0);
    let (good, bad) = (end(0), end(last));
    if (bad - good).abs() <= margin {
        return Next::NoChange;
    }
    let is_bad =
        |at: &usize| all[*at].value().is_some_and(|value| (value - good).abs() > (value - bad).abs());
    // The first one that is bad, of those that were looked at, and the last one before it that is not.
    let high = (0..=last).find(is_bad).unwrap_or(last);
    let low = (0..high).rev().find(|at| all[*at].value().is_some()).unwrap_or(0);
    let middle = usize::midpoint(low, high);
    let open = (low + 1..high).filter(|at| all[*at] == Measured::Open);
    match open.min_by_key(|at| at.abs_diff(middle)) {
        Some(at) => Next::Measure(at),
        None => Next::Found(low + 1..=high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps, and what is found, where the figures are these and others fail.
    fn bisected(figures: &[Option<f64>]) -> (usize, Next) {
        let mut all = vec![Measured::Open; figures.len()];
        for steps in 0.. {
            match next_step(&all, 0.5) {
                Next::Measure(at) => {
                    assert_eq!(all[at], Measured::Open);
                    all[at] = figures[at].map_or(Measured::Failed("no".to_owned()), Measured::Value);
                }
                other => return (steps, other),
            }
        }
        unreachable!()
    }

    #[test]
    fn a_step_is_found_in_as_many_measurements_as_halving_takes() {
        for step in 1..=16 {
            let figures: Vec<Option<f64>> =
                (0..17).map(|at| Some(if at < step { 200.0 } else { 220.0 })).collect();
            let (steps, found) = bisected(&figures);
            assert_eq!(found, Next::Found(step..=step));
            assert!(steps <= 6, "{steps}");
        }
    }

    #[test]
    fn what_fails_is_gone_round() {
        let mut figures: Vec<Option<f64>> =
            (0..17).map(|at| Some(if at < 9 { 200.0 } else { 220.0 })).collect();
        figures[8] = None;
        assert_eq!(bisected(&figures).1, Next::Found(8..=9));
        figures[8] = Some(200.0);
        figures[7] = None;
        assert_eq!(bisected(&figures).1, Next::Found(9..=9));
        figures[16] = None;
        assert_eq!(bisected(&figures).1, Next::NoEnd(16));
    }

    #[test]
    fn ends_that_are_equal_have_no_step() {
        assert_eq!(bisected(&[Some(200.0), Some(300.0), Some(200.4)]), (2, Next::NoChange));
        // One instruction is a step, and so is one less.
        assert_eq!(bisected(&[Some(200.0), Some(201.0)]).1, Next::Found(1..=1));
        assert_eq!(bisected(&[Some(200.0), Some(199.0), Some(199.0)]).1, Next::Found(1..=1));
    }
}

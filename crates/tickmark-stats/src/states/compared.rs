//! Two sides that are in the same two states: how often each is in the higher one, and whether the states themselves differ.

use super::{MEMBERS, two_states};
use crate::Interval;
use crate::gate::share_interval;
use crate::two::ratio;

/// Intervals of shares and of levels have this confidence.
pub const CONFIDENCE: f64 = 0.95;
/// Fewer values of a side in a state are no level.
const LEVEL: usize = 3;

/// Two states of both sides together.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedStates {
    /// The middles of the lower and the higher state.
    pub centres: [f64; 2],
    /// Of each side, how many values are in the higher state, and of how many.
    pub high: [(usize, usize); 2],
    /// The chance of shares as different where they are the same (Fisher's exact test, two sides).
    pub p: f64,
    /// In the lower and the higher state, the mean of the second side over that of the first, with its interval; none of too few values.
    pub within: [Option<(f64, Interval)>; 2],
}

impl ComparedStates {
    /// The share of each side in the higher state, with its limits (Clopper and Pearson).
    #[must_use]
    pub fn shares(&self) -> [(f64, Interval); 2] {
        self.high.map(|(high, of)| (high as f64 / of as f64, share_interval(high, of, CONFIDENCE)))
    }
}

/// The states of two sides, where both together have two and one side has values in both of them.
#[must_use]
pub fn compare_states(first: &[f64], second: &[f64]) -> Option<ComparedStates> {
    let states = two_states(&[first, second].concat())?;
    let edge = (states.low.centre * states.high.centre).sqrt();
    let sides =
        [first, second].map(|side| side.iter().copied().partition::<Vec<f64>, _>(|value| *value < edge));
    if !sides.iter().any(|(low, high)| low.len().min(high.len()) >= MEMBERS) {
        return None;
    }
    let high = sides.each_ref().map(|(low, high)| (high.len(), low.len() + high.len()));
    let [(low_a, high_a), (low_b, high_b)] = &sides;
    let within = |a: &[f64], b: &[f64]| {
        let confidence = f64::midpoint(1.0, CONFIDENCE);
        (a.len().min(b.len()) >= LEVEL).then(|| ratio(a, b, confidence)).flatten()
    };
    Some(ComparedStates {
        centres: [states.low.centre, states.high.centre],
        high,
        p: fisher(high),
        within: [within(low_a, low_b), within(high_a, high_b)],
    })
}

/// The chance of a table as unlikely as this or more, where both sides have the same share: over all tables with these sums.
fn fisher([(a, m), (b, n)]: [(usize, usize); 2]) -> f64 {
    let found = a + b;
    let mut logarithms = vec![0.0];
    logarithms.extend((1..=m + n).scan(0.0, |sum, number| {
        *sum += (number as f64).ln();
        Some(*sum)
    }));
    let choose = |of: usize, chosen: usize| logarithms[of] - logarithms[chosen] - logarithms[of - chosen];
    let chance = |first: usize| (choose(m, first) + choose(n, found - first) - choose(m + n, found)).exp();
    let observed = chance(a) * (1.0 + 1e-9);
    let all = found.saturating_sub(n)..=found.min(m);
    all.map(chance).filter(|chance| *chance <= observed).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// The quantile function of a distribution.
    type Shape = fn(f64) -> f64;

    fn mixed(random: &mut StdRng, count: usize, share: f64, factor: f64) -> Vec<f64> {
        let mut normal = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
        let spread: Vec<f64> = (0..count).map(|_| 1.0 + 0.01 * normal()).collect();
        let level = |_| if random.random_bool(share) { 14.0 } else { 10.0 };
        spread
            .iter()
            .map(|own| own * factor)
            .zip((0..count).map(level))
            .map(|(own, level)| own * level)
            .collect()
    }

    #[test]
    fn shares_and_levels_are_told_apart() {
        let mut random = StdRng::seed_from_u64(1);
        let (a, b) = (mixed(&mut random, 200, 0.12, 1.0), mixed(&mut random, 200, 0.31, 1.0));
        let found = compare_states(&a, &b).unwrap();
        assert!(
            found.p < 0.01 && found.within.iter().flatten().all(|(_, i)| i.low < 1.0 && i.high > 1.0),
            "{found:?}"
        );
        let [(before, of), (after, _)] = found.shares();
        assert!(
            before > 0.05 && before < 0.2 && after > 0.22 && of.low < before && of.high > before,
            "{found:?}"
        );
        // As often in each state, which is slower.
        let b = mixed(&mut random, 200, 0.12, 1.03);
        let found = compare_states(&a, &b).unwrap();
        assert!(
            found.p > 0.05
                && found.within[0].is_some_and(|(ratio, i)| (ratio - 1.03).abs() < 0.01 && i.low > 1.0),
            "{found:?}"
        );
        // Another level is no state of both.
        assert_eq!(compare_states(&[10.0, 10.1, 10.2, 10.1], &[20.0, 20.1, 20.2, 20.1]), None);
    }

    /// By fisher_exact of SciPy.
    #[test]
    fn the_exact_test_of_shares() {
        assert!((fisher([(3, 10), (8, 10)]) - 0.069_778_5).abs() < 1e-6, "{}", fisher([(3, 10), (8, 10)]));
        assert!((fisher([(5, 10), (5, 10)]) - 1.0).abs() < 1e-9 && fisher([(0, 5), (0, 5)]) == 1.0);
    }

    /// Of 100 pairs of samples of one state at most one is taken for two, also where they are skewed or have long tails.
    #[test]
    fn states_are_rarely_compared_where_there_are_none() {
        let mut random = StdRng::seed_from_u64(2);
        let mut point = move || random.random_range(1e-9..1.0 - 1e-9);
        let shapes: [(&str, Shape); 3] = [
            ("normal", |p| 100.0 + crate::student::normal_point(p)),
            ("log-normal", |p| (0.5 * crate::student::normal_point(p)).exp()),
            ("t, 3 df", |p| 100.0 + crate::student::t_point(p, 3.0)),
        ];
        for (name, shape) in shapes {
            for count in [5, 20, 100] {
                let mut side = || (0..count).map(|_| shape(point())).collect::<Vec<f64>>();
                let found = (0..500).filter(|_| compare_states(&side(), &side()).is_some()).count();
                assert!(found <= 5, "{name}, {count}: {found} of 500");
            }
        }
    }
}

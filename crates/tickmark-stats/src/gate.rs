//! Whether new recordings are of the kind of earlier ones, all figures together: how far each figure of the new is from the others, in
//! units of how far those spread, against what any other choice of as many recordings gives (a permutation test; step by step the
//! greatest over the figures that are left, Westfall and Young, Resampling-based multiple testing, 1993, algorithm 2.8). Where
//! recordings are exchangeable, any figure is claimed with a chance of at most the level; where they drift, more often: that is
//! measured, and not assumed.

mod few;

pub use few::{FEWEST, judge_few, visible_errors};

use crate::Interval;
use crate::rare::upper;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::index::sample;

/// More choices are drawn from, and not all tried.
const MOST: usize = 2_000;
/// A spread below it is none that a measurement has: as a share of the figure.
const FINEST: f64 = 1e-3;
/// 1.4826 times the median absolute deviation is the standard deviation of a normal distribution (Hampel, 1974).
const NORMAL: f64 = 1.4826;
/// The greatest deviation of some forty normal values is some three standard deviations at most: a figure that was once far off is
/// expected to be so again.
const GREATEST: f64 = 3.0;

/// On which side of the earlier ones a figure is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Above them.
    Above,
    /// Below them.
    Below,
    /// On either side.
    Either,
}

impl Side {
    /// The other side.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Above => Self::Below,
            Self::Below => Self::Above,
            Self::Either => Self::Either,
        }
    }

    /// True if a deviation lies on this side.
    fn has(self, deviation: f64) -> bool {
        match self {
            Self::Above => deviation >= 0.0,
            Self::Below => deviation <= 0.0,
            Self::Either => true,
        }
    }
}

/// The judgement of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The new ones over the middle of the earlier ones.
    pub ratio: f64,
    /// How far that is, in standard deviations of one recording, as the earlier ones spread on the side where it lies.
    pub far: f64,
    /// The chance of any figure as far on its side, where nothing changed.
    pub p: f64,
}

/// The least chance that so many recordings can show: with fewer earlier ones than it takes for the level nothing can be claimed.
#[must_use]
pub fn least_chance(earlier: usize, new: usize) -> f64 {
    1.0 / choices(earlier + new, new).min(MOST as f64)
}

/// In how many ways so many can be chosen.
fn choices(of: usize, chosen: usize) -> f64 {
    (0..chosen).map(|at| (of - at) as f64 / (at + 1) as f64).product()
}

/// Logarithms of the figures of each recording, a row each, all as long: of earlier ones and of new ones; `sides` has the side of each
/// figure. None of no new ones, or fewer than three earlier ones.
#[must_use]
pub fn judge(earlier: &[Vec<f64>], new: &[Vec<f64>], sides: &[Side]) -> Option<Vec<Judged>> {
    Distances::from_recordings(earlier, new, sides).map(|distances| distances.judged())
}

/// For each figure, whether it would be claimed at a level if it alone were so much higher in the new ones, and in that direction: its
/// logarithm is `more[figure]` above what it is. A figure that would be claimed with others only counts as not claimed.
#[must_use]
pub fn would_claim(
    earlier: &[Vec<f64>],
    new: &[Vec<f64>],
    more: &[f64],
    sides: &[Side],
    level: f64,
) -> Option<Vec<bool>> {
    let as_it_is = Distances::from_recordings(earlier, new, sides)?;
    // The two greatest of each choice: without one figure the greatest is the other.
    let greatest: Vec<[(usize, f64); 2]> = as_it_is.far.iter().map(|far| two_greatest(far)).collect();
    let claims = |(figure, more): (usize, &f64)| {
        let mut column: Vec<f64> = as_it_is.rows.iter().map(|row| row[figure]).collect();
        as_it_is.own.iter().for_each(|at| column[*at] += more);
        let (by, _, own) = distance(&column, &as_it_is.own, sides[figure]);
        let is_as_far = |(chosen, greatest): (&Vec<usize>, &[(usize, f64); 2])| {
            let other = greatest.iter().find(|(at, _)| *at != figure).map_or(0.0, |(_, far)| *far);
            other.max(distance(&column, chosen, sides[figure]).2) >= own * (1.0 - 1e-12)
        };
        let count = as_it_is.choices.iter().zip(&greatest).filter(|both| is_as_far(*both)).count();
        own > 0.0 && by * more > 0.0 && count as f64 <= level * as_it_is.choices.len() as f64 * (1.0 + 1e-9)
    };
    Some(more.iter().enumerate().map(claims).collect())
}

fn two_greatest(far: &[f64]) -> [(usize, f64); 2] {
    let mut best = [(usize::MAX, 0.0); 2];
    for (at, far) in far.iter().copied().enumerate() {
        if far >= best[0].1 {
            best = [(at, far), best[0]];
        } else if far > best[1].1 {
            best[1] = (at, far);
        }
    }
    best
}

/// How far every figure is, for each choice of as many recordings as are new.
struct Distances {
    rows: Vec<Vec<f64>>,
    /// The places of the new ones.
    own: Vec<usize>,
    /// Their own distances, with by how much they are off and how far on their side.
    observed: Vec<(f64, f64, f64)>,
    /// The choices, that of the new ones among them, and for each how far every figure is.
    choices: Vec<Vec<usize>>,
    far: Vec<Vec<f64>>,
}

impl Distances {
    fn from_recordings(earlier: &[Vec<f64>], new: &[Vec<f64>], sides: &[Side]) -> Option<Self> {
        let (rows, count) = ([earlier, new].concat(), new.len());
        let figures = new.first()?.len();
        if earlier.len() < 3 || sides.len() != figures || rows.iter().any(|row| row.len() != figures) {
            return None;
        }
        let own: Vec<usize> = (earlier.len()..rows.len()).collect();
        let choices = if choices(rows.len(), count) <= MOST as f64 {
            subsets(rows.len(), count)
        } else {
            let mut random = StdRng::seed_from_u64(1);
            let drawn = (1..MOST).map(|_| sample(&mut random, rows.len(), count).into_vec());
            // What was observed is one of them.
            drawn.chain([own.clone()]).collect()
        };
        let columns: Vec<Vec<f64>> =
            (0..figures).map(|figure| rows.iter().map(|row| row[figure]).collect()).collect();
        let of = |chosen: &Vec<usize>| -> Vec<f64> {
            columns.iter().zip(sides).map(|(column, side)| distance(column, chosen, *side).2).collect()
        };
        let far = choices.iter().map(of).collect();
        let observed =
            columns.iter().zip(sides).map(|(column, side)| distance(column, &own, *side)).collect();
        Some(Self { rows, own, observed, choices, far })
    }

    fn judged(&self) -> Vec<Judged> {
        let mut order: Vec<usize> = (0..self.observed.len()).collect();
        order.sort_by(|a, b| self.observed[*b].2.total_cmp(&self.observed[*a].2));
        // From the nearest up: how often the greatest of those that are no farther is as far.
        let mut count = vec![0usize; order.len()];
        for far in &self.far {
            let mut greatest = 0.0f64;
            for (rank, figure) in order.iter().enumerate().rev() {
                greatest = greatest.max(far[*figure]);
                let is_as_far = greatest >= self.observed[*figure].2 * (1.0 - 1e-12);
                count[rank] += usize::from(is_as_far);
            }
        }
        let mut judged = vec![Judged { ratio: 1.0, far: 0.0, p: 1.0 }; order.len()];
        let mut p = 0.0f64;
        for (rank, figure) in order.into_iter().enumerate() {
            // Who is nearer has no smaller chance.
            p = p.max(count[rank] as f64 / self.far.len() as f64);
            let (by, far, _) = self.observed[figure];
            judged[figure] = Judged { ratio: by.exp(), far, p };
        }
        judged
    }
}

/// By how much the mean of the chosen is above the middle of the others; that in their spread on the side where it lies; and the
/// same without a sign where that is the side that is asked for, else 0.
fn distance(column: &[f64], chosen: &[usize], side: Side) -> (f64, f64, f64) {
    let mut rest: Vec<f64> =
        (0..column.len()).filter(|at| !chosen.contains(at)).map(|at| column[at]).collect();
    let middle = middle(&mut rest);
    let mean = chosen.iter().map(|at| column[*at]).sum::<f64>() / chosen.len() as f64;
    let own = if mean < middle { Side::Below } else { Side::Above };
    let mut apart: Vec<f64> =
        rest.iter().map(|value| value - middle).filter(|by| own.has(*by)).map(f64::abs).collect();
    let greatest = apart.iter().copied().fold(0.0, f64::max);
    let spread = (self::middle(&mut apart) * NORMAL).max(greatest / GREATEST).max(FINEST);
    // Of several the mean spreads less.
    let far = (mean - middle) / spread * (chosen.len() as f64).sqrt();
    (mean - middle, far, if side.has(mean - middle) { far.abs() } else { 0.0 })
}

/// The median; 0 of nothing.
fn middle(values: &mut [f64]) -> f64 {
    let Some(half) = values.len().checked_sub(1).map(|last| last / 2) else { return 0.0 };
    let is_odd = values.len() % 2 == 1;
    let (_, low, above) = values.select_nth_unstable_by(half, f64::total_cmp);
    let high = if is_odd { *low } else { above.iter().copied().fold(f64::INFINITY, f64::min) };
    f64::midpoint(*low, high)
}

/// Every choice of so many of the first numbers.
fn subsets(of: usize, chosen: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..chosen {
        let longer = |subset: Vec<usize>| {
            let from = subset.last().map_or(0, |last| last + 1);
            (from..of).map(move |next| [&subset[..], &[next]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Where a share lies of which so many of so many were seen, with this confidence (Clopper and Pearson, Biometrika 26, 1934).
#[must_use]
pub fn share_interval(found: usize, of: usize, confidence: f64) -> Interval {
    let (found, of, side) = (found as f64, of as f64, f64::midpoint(1.0, confidence));
    Interval { low: 1.0 - upper(of - found, of, side), high: upper(found, of, side) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    fn rows(random: &mut StdRng, count: usize, figures: usize, spread: f64) -> Vec<Vec<f64>> {
        let mut normal = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
        (0..count).map(|_| (0..figures).map(|_| spread * normal()).collect()).collect()
    }

    /// How often any of four figures is claimed, of new recordings whose figures all have this much more.
    fn claimed(more: f64, new: usize, trials: u32, seed: u64) -> f64 {
        let mut random = StdRng::seed_from_u64(seed);
        let one = |_| {
            let earlier = rows(&mut random, 24, 4, 0.01);
            let mut own = rows(&mut random, new, 4, 0.01);
            own.iter_mut().flatten().for_each(|value| *value += more);
            judge(&earlier, &own, &[Side::Either; 4]).unwrap().iter().any(|judged| judged.p <= 0.05)
        };
        (0..trials).map(one).filter(|claimed| *claimed).count() as f64 / f64::from(trials)
    }

    #[test]
    fn nothing_is_claimed_as_often_as_the_level_says_and_shifts_are_found() {
        let (one, two) = (claimed(0.0, 1, 1000, 1), claimed(0.0, 2, 300, 2));
        assert!((0.02..0.066).contains(&one) && two <= 0.08, "{one} {two}");
        // Five deviations in all figures; one deviation by one recording is not, by several is.
        assert!(
            claimed(0.05, 1, 300, 3) > 0.95
                && claimed(0.01, 1, 300, 4) < 0.6
                && claimed(0.03, 2, 100, 5) > 0.9
        );
    }

    #[test]
    fn chances_are_those_of_the_choices() {
        assert_eq!(subsets(4, 2).len(), 6);
        assert!((least_chance(19, 1) - 0.05).abs() < 1e-12 && least_chance(60, 3) == 1.0 / 2000.0);
        let earlier: Vec<Vec<f64>> = (0..19).map(|number| vec![f64::from(number % 5) * 0.001]).collect();
        let one = [Side::Either];
        let [judged] = judge(&earlier, &[vec![0.5]], &one).unwrap()[..] else { panic!("one figure") };
        assert!((judged.p - 0.05).abs() < 1e-12 && (judged.ratio / 0.498f64.exp() - 1.0).abs() < 1e-9);
        // What never differs is no division by nothing.
        let same = judge(&vec![vec![1.0]; 20], &[vec![1.0]], &one).unwrap();
        assert_eq!((same[0].p, same[0].far), (1.0, 0.0));
        assert!(judge(&earlier[..2], &[vec![0.0]], &one).is_none() && judge(&earlier, &[], &one).is_none());
    }

    #[test]
    fn a_figure_that_was_off_before_does_not_hide_another() {
        // Forty recordings of two figures; in one of them the first was 50 % off, and in another 30 %.
        let mut random = StdRng::seed_from_u64(7);
        let mut earlier = rows(&mut random, 40, 2, 0.005);
        earlier[3][0] += 0.5;
        earlier[20][0] += 0.3;
        let mut new = rows(&mut random, 1, 2, 0.005);
        assert!(judge(&earlier, &new, &[Side::Either; 2]).unwrap().iter().all(|judged| judged.p > 0.05));
        new[0][1] += 0.05;
        let judged = judge(&earlier, &new, &[Side::Either; 2]).unwrap();
        assert!(judged[1].p <= 0.05 && judged[0].p > 0.05, "{judged:?}");
        // What is as far off as it was before is none of its own.
        new[0][1] -= 0.05;
        new[0][0] += 0.4;
        assert!(judge(&earlier, &new, &[Side::Either; 2]).unwrap()[0].p > 0.05);
    }

    /// Seventy values of operations a second, of which three in ten are twice as high, and then one below them all.
    #[test]
    fn what_is_below_all_that_is_known_is_claimed_whatever_lies_above() {
        let mut random = StdRng::seed_from_u64(5);
        let mut earlier = rows(&mut random, 70, 1, 0.01);
        let high = |at: &usize| at % 10 > 6;
        (0..70).filter(high).for_each(|at| earlier[at][0] += (9130.0f64 / 4480.0).ln());
        let new = |value: f64| vec![vec![(value / 4480.0).ln()]];
        let p = |value: f64, side| judge(&earlier, &new(value), &[side]).unwrap()[0].p;
        assert!((p(3300.0, Side::Below) - 1.0 / 71.0).abs() < 1e-12, "{}", p(3300.0, Side::Below));
        assert!(p(9130.0, Side::Above) > 0.05 && p(9130.0, Side::Below) > 0.99);
        // One that was far off on the good side hides nothing, with as few as can tell.
        let mut few = rows(&mut random, 19, 1, 0.01);
        few[3][0] += 0.7;
        assert_eq!(judge(&few, &new(3300.0), &[Side::Below]).unwrap()[0].p, 0.05);
    }

    #[test]
    fn what_would_be_claimed_is_what_is_claimed_of_such_recordings() {
        let mut random = StdRng::seed_from_u64(11);
        let mut agreed = 0;
        for _ in 0..60 {
            let (earlier, new) = (rows(&mut random, 24, 3, 0.01), rows(&mut random, 1, 3, 0.01));
            let more = [0.03, -0.03, 0.05];
            let would = would_claim(&earlier, &new, &more, &[Side::Either; 3], 0.05).unwrap();
            for figure in 0..3 {
                let mut planted = new.clone();
                planted[0][figure] += more[figure];
                let judged = judge(&earlier, &planted, &[Side::Either; 3]).unwrap()[figure];
                let is = judged.p <= 0.05 && (judged.ratio.ln() * more[figure]) > 0.0;
                // A second figure that is claimed by itself is what step by step leaves room for.
                assert!(is || !would[figure], "{judged:?}");
                agreed += usize::from(is == would[figure]);
            }
        }
        assert!(agreed >= 170, "{agreed} of 180");
    }

    #[test]
    fn shares_have_the_intervals_of_the_tables() {
        // R: binom.test(0, 40), binom.test(3, 20).
        let none = share_interval(0, 40, 0.95);
        assert!(none.low == 0.0 && (none.high - 0.088_097_3).abs() < 1e-6, "{none:?}");
        let some = share_interval(3, 20, 0.95);
        assert!((some.low - 0.032_070_9).abs() < 1e-6 && (some.high - 0.378_927).abs() < 1e-5, "{some:?}");
        assert_eq!(share_interval(5, 5, 0.95).high, 1.0);
    }
}

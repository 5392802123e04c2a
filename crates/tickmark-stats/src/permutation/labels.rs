//! The labels that chance might have given.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Up to so many labellings are counted one by one; of more so many are drawn. That is as exact, and repeats, as the seed is fixed
/// (Phipson and Smyth, Permutation p-values should never be zero, 2010).
const COUNTED: f64 = 10_000.0;
/// Of many figures fewer are drawn, so that this many scores are enough, but never fewer than the least.
const SCORES: f64 = 1_000_000.0;
const LEAST: f64 = 2_500.0;

/// How the labels were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Labels {
    /// In each of so many blocks the two labels could as well have stood the other way round: whether they are turned.
    Blocks(usize),
    /// So many values have the first label and so many the second, in any order: whether it is the second.
    Groups(usize, usize),
}

impl Labels {
    /// The labels that there were.
    pub(super) fn observed(self) -> Vec<bool> {
        match self {
            Self::Blocks(blocks) => vec![false; blocks],
            Self::Groups(first, second) => (0..first + second).map(|at| at >= first).collect(),
        }
    }

    /// How many labellings say different things: turning all of them says the same.
    fn count(self) -> f64 {
        match self {
            Self::Blocks(blocks) => 2f64.powi(blocks as i32 - 1),
            Self::Groups(first, second) => {
                let ways = (1..=first).map(|i| (second + i) as f64 / i as f64).product::<f64>();
                if first == second { ways / 2.0 } else { ways }
            }
        }
    }

    /// How many are drawn for so many figures, where they are not counted.
    fn drawn(figures: usize) -> f64 {
        (SCORES / figures.max(1) as f64).clamp(LEAST, COUNTED).floor()
    }

    fn is_counted(self) -> bool {
        self.count().round() <= COUNTED
    }

    /// The least chance that any values of so many figures can have.
    #[must_use]
    pub fn least(self, figures: usize) -> f64 {
        let labellings = if self.is_counted() { self.count() } else { Self::drawn(figures) };
        labellings.max(1.0).recip()
    }

    /// Each labelling once, or as many as are drawn for so many figures, with those that there were.
    pub(super) fn each(self, figures: usize, mut take: impl FnMut(&[bool])) {
        let mut labels = self.observed();
        if self.is_counted() && labels.len() < 64 {
            // The last label stays as it was where turning all of them says the same.
            let end = 1u64 << (labels.len() - usize::from(self.is_symmetric()));
            let mut bits = match self {
                Self::Blocks(_) => 0,
                Self::Groups(first, _) => (1 << first) - 1,
            };
            while bits < end {
                for (at, label) in labels.iter_mut().enumerate() {
                    *label = (bits >> at & 1 == 1) == matches!(self, Self::Blocks(_));
                }
                take(&labels);
                bits = match self {
                    Self::Blocks(_) => bits + 1,
                    Self::Groups(..) => next_of_as_many(bits),
                };
            }
            return;
        }
        let mut random = StdRng::seed_from_u64(1);
        take(&labels);
        for _ in 1..Self::drawn(figures) as u32 {
            match self {
                Self::Blocks(_) => labels.iter_mut().for_each(|label| *label = random.random()),
                Self::Groups(..) => labels.shuffle(&mut random),
            }
            take(&labels);
        }
    }

    fn is_symmetric(self) -> bool {
        match self {
            Self::Blocks(_) => true,
            Self::Groups(first, second) => first == second,
        }
    }
}

/// The next number with as many bits set: the last run of them moves its first up and the rest to the end (Gosper, HAKMEM, item
/// 175, 1972).
fn next_of_as_many(bits: u64) -> u64 {
    let last = bits & bits.wrapping_neg();
    let up = bits + last;
    up | (((up ^ bits) / last) >> 2)
}

#[cfg(test)]
mod tests {
    use super::Labels;
    use std::collections::BTreeSet;

    #[test]
    fn each_labelling_comes_once() {
        for (labels, count) in [
            (Labels::Blocks(5), 16),
            (Labels::Blocks(10), 512),
            (Labels::Groups(5, 5), 126),
            (Labels::Groups(3, 4), 35),
            (Labels::Groups(1, 3), 4),
            (Labels::Groups(3, 30), 5456),
            (Labels::Groups(60, 2), 1891),
        ] {
            let mut all = BTreeSet::new();
            labels.each(1, |labels| assert!(all.insert(labels.to_vec()), "{labels:?} twice"));
            assert_eq!(
                (all.len(), (labels.least(1) * count as f64 * 1e9).round()),
                (count, 1e9),
                "{labels:?}"
            );
            let found = labels.observed();
            assert!(all.contains(&found), "{labels:?}: the labels that there were");
        }
    }

    #[test]
    fn of_many_some_are_drawn_and_the_same_ones_each_time() {
        for labels in [Labels::Blocks(40), Labels::Groups(100, 90)] {
            let drawn = || {
                let mut all = Vec::new();
                labels.each(1, |labels| all.push(labels.to_vec()));
                all
            };
            assert_eq!((drawn().len(), drawn() == drawn(), labels.least(1)), (10_000, true, 1e-4));
            assert_eq!(drawn()[0], labels.observed());
        }
        let mut second = BTreeSet::new();
        Labels::Groups(100, 90).each(1000, |labels| _ = second.insert(labels.iter().filter(|l| **l).count()));
        assert_eq!(second, BTreeSet::from([90]));
    }
}

//! Permutation tests: how often would chance, which gave the labels, have shown this much if the labels meant nothing? They hold
//! for any distribution and need no variance (Fisher, The design of experiments, 1935). All figures of a page are relabelled
//! together, so that what they share is not corrected for twice: the step-down test of the greatest score of Westfall and
//! Young, Resampling-based multiple testing, 1993, section 2.6.

mod groups;
mod labels;
mod pairs;

pub use groups::Groups;
pub use labels::Labels;
pub use pairs::Pairs;

/// Scores that differ by less are the same: sums of the same numbers in another order.
const ROUNDING: f64 = 1e-9;

/// Weight of the score of the middle relative to that of the mean: where values are normal the mean alone tells as much, and
/// whatever counts more beside it costs some of that (.7 costs one experiment in a hundred; 1 costs five).
const MIDDLE: f64 = 0.7;

/// Fewer are taken off at an end.
const MOST: usize = crate::trimmed::MOST + 1;

/// Data that a test judges by relabelling.
pub trait Relabelled {
    /// How far from no difference it is under these labels: more is farther.
    fn score(&self, labels: &[bool]) -> f64;
}

/// The chances of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// Of a score this far, where its labels mean nothing.
    pub p: f64,
    /// Of any score this far among all figures that were judged together, where nobody's labels mean anything.
    pub adjusted: f64,
}

/// Judges figures that have the same labels, together.
#[must_use]
pub fn judge<R: Relabelled>(figures: &[R], labels: Labels) -> Vec<Chance> {
    let found = labels.observed();
    let observed: Vec<f64> = figures.iter().map(|figure| figure.score(&found)).collect();
    let mut rising: Vec<usize> = (0..figures.len()).collect();
    rising.sort_by(|a, b| observed[*a].total_cmp(&observed[*b]));
    let (mut alone, mut among) = (vec![0u32; figures.len()], vec![0u32; figures.len()]);
    let mut all = 0u32;
    labels.each(figures.len(), |labels| {
        all += 1;
        let mut most: f64 = 0.0;
        for at in &rising {
            let score = figures[*at].score(labels);
            let reach = observed[*at] * (1.0 - ROUNDING);
            most = most.max(score);
            alone[*at] += u32::from(score >= reach);
            among[*at] += u32::from(most >= reach);
        }
    });
    let share = |count: u32| f64::from(count) / f64::from(all);
    let mut chances: Vec<Chance> =
        alone.iter().zip(&among).map(|(a, b)| Chance { p: share(*a), adjusted: share(*b) }).collect();
    // Nothing is claimed more surely than what is farther.
    let mut least: f64 = 0.0;
    for at in rising.into_iter().rev() {
        least = least.max(chances[at].adjusted);
        chances[at].adjusted = least;
    }
    chances
}

/// Student's t as a score that is alike for all degrees of freedom: the square of the normal deviate of the same chance, to a
/// few per cent (Wallace, Bounds on normal approximations to Student's and the chi-square distributions, 1959).
pub(crate) fn deviate(square: f64, df: f64) -> f64 {
    let narrow = (8.0 * df + 1.0) / (8.0 * df + 3.0);
    df * (square / df).ln_1p() * narrow * narrow
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A score for each labelling, by the bits of the first two labels.
    struct Scores([f64; 4]);

    impl Relabelled for Scores {
        fn score(&self, labels: &[bool]) -> f64 {
            self.0[usize::from(labels[0]) + 2 * usize::from(labels[1])]
        }
    }

    #[test]
    fn the_greatest_score_steps_down_by_hand() {
        // Three blocks: four labellings that say different things, the first is what was seen.
        let figures =
            [Scores([5.0, 1.0, 2.0, 3.0]), Scores([2.0, 6.0, 1.0, 4.0]), Scores([9.0, 0.0, 0.0, 0.0])];
        let chances = judge(&figures, Labels::Blocks(3));
        let adjusted = |chances: &[Chance]| -> Vec<f64> { chances.iter().map(|c| c.adjusted).collect() };
        assert_eq!(chances.iter().map(|c| c.p).collect::<Vec<f64>>(), [0.25, 0.75, 0.25]);
        // Of the greatest of all three 9 6 2 4 one reaches 9; of the first two 5 6 2 4 two reach 5; of the second three reach 2.
        assert_eq!(adjusted(&chances), [0.5, 0.75, 0.25]);
        // What is nearer is not claimed more surely: alone it would be 1 of 4.
        let chances = judge(&[Scores([5.0, 6.0, 7.0, 0.0]), Scores([4.0, 0.0, 0.0, 0.0])], Labels::Blocks(3));
        assert_eq!(adjusted(&chances), [0.75, 0.75]);
    }
}

//! How far recordings of a machine were from each other before: what a difference between two of them is worth.
//!
//! Disturbances of a machine are not normal: now and then a figure is far off, and of a hundred figures one often is. So what a
//! pair of recordings shows in any figure is compared with what pairs of earlier ones show in any.

use crate::permutation::deviate;

/// Fewer pairs of earlier recordings cannot show 5 %: ten recordings of one configuration have 45.
pub const PAIRS: usize = 40;

/// Factor of the share of pairs: one recording that is far off is in many of them.
const SHARED: f64 = 2.0;

/// A figure of the earlier recordings of each configuration: the logarithm of its value, none where a recording has none.
pub type Series = Vec<Vec<Option<f64>>>;

/// The score of each pair of earlier recordings, in the figure that is farthest: their difference by the deviation between all
/// others, as Student's t has it, as the square of a normal deviate. All figures are of the same recordings; those of two
/// configurations are no pair, nor are two of which no figure can be compared.
#[must_use]
pub fn greatest(figures: &[Series]) -> Vec<f64> {
    let counts: Vec<usize> = figures.first().into_iter().flatten().map(Vec::len).collect();
    let mut scores = Vec::new();
    for (own, count) in counts.into_iter().enumerate() {
        for second in 1..count {
            for first in 0..second {
                let of = |figure| score(figure, own, [first, second]);
                scores.extend(figures.iter().filter_map(of).reduce(f64::max));
            }
        }
    }
    scores
}

/// Of one pair in one figure; none where it is missing, or nothing varies without the pair.
fn score(figure: &Series, own: usize, [first, second]: [usize; 2]) -> Option<f64> {
    let difference = figure[own][first]? - figure[own][second]?;
    let (mut squares, mut df) = (0.0, 0.0);
    for (at, values) in figure.iter().enumerate() {
        let is_other = |number: &usize| at != own || (*number != first && *number != second);
        let others: Vec<f64> =
            (0..values.len()).filter(is_other).filter_map(|number| values[number]).collect();
        if let Some(s) = crate::spread(&others).filter(|_| others.len() > 1) {
            let more = others.len() as f64 - 1.0;
            (squares, df) = (squares + s.deviation.powi(2) * more, df + more);
        }
    }
    (squares > 0.0).then(|| deviate(difference.powi(2) / (2.0 * squares / df), df))
}

/// The chance of a score this far in any figure, by the greatest scores of earlier pairs. What is off in a new recording may be farther
/// than what was seen in so few: with n of them a deviate counts for n in n + 1 of itself. Both rules were set with recordings of a
/// noisy machine in random order, of which 3 to 6 % then claim something.
pub(crate) fn among(earlier: &[f64], score: f64) -> f64 {
    let pairs = earlier.len() as f64;
    let recordings = (1.0 + (1.0 + 8.0 * pairs).sqrt()) / 2.0;
    let score = score * (recordings / (recordings + 1.0)).powi(2);
    let as_far = earlier.iter().filter(|other| **other >= score).count();
    (SHARED * (1 + as_far) as f64 / (1.0 + pairs)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_by_hand() {
        // The last two: 2 apart; the others 0, 1, 2 have the variance 1 with two degrees of freedom. t^2 = 4 / 2.
        let values = [0.0, 1.0, 2.0, 5.0, 7.0].map(Some).to_vec();
        let scores = greatest(&[vec![values.clone()]]);
        assert_eq!(scores.len(), 10);
        assert_eq!(scores[9], deviate(2.0, 2.0));
        // A figure that differs more in the same pair is what counts, and one that is missing there or never varies does not.
        let still = vec![[3.0, 3.0, 3.0, 3.0, 4.0].map(Some).to_vec()];
        let missing = vec![vec![Some(0.0), Some(0.1), Some(0.0), Some(9.0), None]];
        let larger = vec![[0.0, 1.0, 2.0, 5.0, 9.0].map(Some).to_vec()];
        assert_eq!(greatest(&[vec![values.clone()], larger, still, missing])[9], deviate(8.0, 2.0));
        // Recordings without any figure of the group are in no pair.
        let absent = vec![vec![Some(0.0), Some(1.0), Some(2.0), Some(5.0), None]];
        assert_eq!(greatest(&[absent]).len(), 6);
        // Another configuration has its own middle: 2 more squares and 2 more degrees of freedom.
        let other = [100.0, 101.0, 102.0].map(Some).to_vec();
        let scores = greatest(&[vec![values, other]]);
        assert_eq!((scores.len(), scores[9]), (13, deviate(2.0, 4.0)));
    }

    #[test]
    fn the_share_of_pairs_counts_twice_and_a_score_for_less() {
        // Nine recordings have 36 pairs, ten 45.
        let earlier: Vec<f64> = (1..=45).map(f64::from).collect();
        let chance = |rank: f64| 2.0 * rank / 46.0;
        assert_eq!(among(&earlier, 54.5), chance(1.0));
        assert_eq!(among(&earlier, 54.4), chance(2.0), "the square of ten elevenths of it is 44.96");
        assert_eq!(among(&earlier, 1.0), 1.0);
        assert!(among(&[1.0; PAIRS], 2.0) < 0.05 && among(&[1.0; PAIRS - 2], 2.0) > 0.05);
    }
}

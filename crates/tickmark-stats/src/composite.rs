//! Related figures as one: the mean of their standardised values, as O'Brien, Procedures for comparing samples with multiple
//! endpoints, 1984, has it. Many small changes in one direction are seen in it where none is seen alone.

/// The mean over figures of each replicate's value, in the deviation of that figure around `middle` of its values. What
/// the labels are changes neither middle nor deviation. `figures` has a column of values for each, all of one length; a figure
/// that does not vary says nothing. None where none does.
#[must_use]
pub fn composite(figures: &[Vec<f64>], middle: impl Fn(&[f64]) -> f64) -> Option<Vec<f64>> {
    let count = figures.first()?.len();
    let scaled = |values: &Vec<f64>| {
        let middle = middle(values);
        let square = values.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / count as f64;
        (square > 0.0).then(|| values.iter().map(|v| (v - middle) / square.sqrt()).collect::<Vec<f64>>())
    };
    let scaled: Vec<Vec<f64>> = figures.iter().filter_map(scaled).collect();
    let mean = |at: usize| scaled.iter().map(|values| values[at]).sum::<f64>() / scaled.len() as f64;
    (!scaled.is_empty()).then(|| (0..count).map(mean).collect())
}

/// The squares of the composites of earlier replicates around their mean, each figure in its `deviations`. Divided by two degrees of
/// freedom fewer than there are, it is the variance of one replicate's composite: the deviations come from the same replicates,
/// and a figure that varied little in them by chance weighs too much in the next one, by df / (df - 2) where figures share nothing.
/// None of fewer than two replicates, or without a figure that varies.
#[must_use]
pub fn squares(figures: &[Vec<f64>], deviations: &[f64]) -> Option<f64> {
    let count = figures.first().filter(|values| values.len() > 1)?.len();
    let scaled = |(values, deviation): (&Vec<f64>, &f64)| {
        let mean = values.iter().sum::<f64>() / count as f64;
        (*deviation > 0.0).then(|| values.iter().map(|v| (v - mean) / deviation).collect::<Vec<f64>>())
    };
    let scaled: Vec<Vec<f64>> = figures.iter().zip(deviations).filter_map(scaled).collect();
    let mean = |at: usize| scaled.iter().map(|values| values[at]).sum::<f64>() / scaled.len() as f64;
    (!scaled.is_empty()).then(|| (0..count).map(|at| mean(at).powi(2)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_figures_share_stays_and_the_rest_evens_out() {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let rises: Vec<f64> = (0..8).map(f64::from).collect();
        let other: Vec<f64> = rises.iter().map(|v| v * 1000.0 + 5.0).collect();
        let one = composite(std::slice::from_ref(&rises), mean).unwrap();
        let both = composite(&[rises.clone(), other, vec![3.0; 8]], mean).unwrap();
        assert!(one.iter().zip(&both).all(|(a, b)| (a - b).abs() < 1e-12), "{one:?} {both:?}");
        let falls: Vec<f64> = rises.iter().rev().copied().collect();
        assert!(composite(&[rises, falls], mean).unwrap().iter().all(|v| v.abs() < 1e-12));
        assert!(composite(&[vec![1.0; 4]], mean).is_none() && composite(&[], mean).is_none());
    }

    #[test]
    fn earlier_replicates_by_hand() {
        // Around 1.5: -1.5, -.5, .5, 1.5, in deviations of 2; a figure that goes the other way evens it out.
        let rises = vec![0.0, 1.0, 2.0, 3.0];
        assert_eq!(squares(std::slice::from_ref(&rises), &[2.0]), Some(5.0 / 4.0));
        let falls: Vec<f64> = rises.iter().rev().map(|v| 10.0 * v).collect();
        assert_eq!(squares(&[rises.clone(), falls], &[2.0, 20.0]), Some(0.0));
        assert_eq!(squares(&[vec![1.0], vec![2.0]], &[1.0, 1.0]), None);
        assert_eq!(squares(&[rises], &[0.0]), None);
    }
}

//! Many tests at once: what the chances of each are worth together.

/// Holm's adjusted chances: a claim below the level is wrong anywhere among all with at most that chance. Holm, A simple
/// sequentially rejective multiple test procedure, 1979.
#[must_use]
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let count = chances.len();
    let mut most: f64 = 0.0;
    adjusted(chances, order(chances), |rank, p| {
        most = most.max((count - rank) as f64 * p).min(1.0);
        most
    })
}

/// Benjamini's and Hochberg's adjusted chances: of those below the level at most that share is wrong. Controlling the
/// false discovery rate, 1995.
#[must_use]
pub fn benjamini_hochberg(chances: &[f64]) -> Vec<f64> {
    let count = chances.len() as f64;
    let mut least: f64 = 1.0;
    let order = order(chances).into_iter().rev().collect();
    adjusted(chances, order, |rank, p| {
        least = least.min(count / (count - rank as f64) * p);
        least
    })
}

/// Indices from the least chance to the greatest.
fn order(chances: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|a, b| chances[*a].total_cmp(&chances[*b]));
    order
}

fn adjusted(chances: &[f64], order: Vec<usize>, mut of: impl FnMut(usize, f64) -> f64) -> Vec<f64> {
    let mut adjusted = vec![0.0; chances.len()];
    for (rank, index) in order.into_iter().enumerate() {
        adjusted[index] = of(rank, chances[index]);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANCES: [f64; 25] = [
        0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251, 0.269, 0.275,
        0.34, 0.341, 0.384, 0.569, 0.594, 0.696, 0.762, 0.94, 0.942, 0.975, 0.986,
    ];

    #[test]
    fn golden_values() {
        let near = |observed: &[f64], expected: &[f64]| {
            for (s, e) in observed.iter().zip(expected) {
                assert!((s - e).abs() < 1e-6, "{observed:?}");
            }
        };
        near(&benjamini_hochberg(&CHANCES), &[0.025, 0.1, 0.21, 0.21, 0.21, 0.25, 0.264_286, 0.491_071]);
        near(&holm(&CHANCES), &[0.025, 0.192, 0.897, 0.902, 0.902]);
    }

    #[test]
    fn the_order_in_which_they_come_is_nothing() {
        let mut turned = CHANCES;
        turned.reverse();
        let mut back = holm(&turned);
        back.reverse();
        assert_eq!(back, holm(&CHANCES));
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[0.2]) == [0.2]);
    }
}

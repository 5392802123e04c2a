//! Quantiles.

/// Numbers in ascending order, without NaN.
#[derive(Debug, Clone, PartialEq)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// Sorts; leaves out what is not a number.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|v| !v.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// The values.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// The quantile at `q` from 0 to 1, with linear interpolation between neighbours: definition 7 of
    /// Hyndman and Fan, Sample quantiles in statistical packages, 1996. None of an empty sample.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let (below, part) = place(self.0.len(), q)?;
        let above = (below + 1).min(self.0.len() - 1);
        Some(self.0[below] + (self.0[above] - self.0[below]) * part)
    }
}

/// Behind which of so many sorted values a quantile lies, and how far on the way to the next.
fn place(count: usize, q: f64) -> Option<(usize, f64)> {
    let at = q.clamp(0.0, 1.0) * count.checked_sub(1)? as f64;
    Some((at.floor() as usize, at.fract()))
}

/// One quantile of values in any order, as [`Sorted::quantile`] has it: without sorting them all. None of an empty sample.
#[must_use]
pub fn quantile(values: impl IntoIterator<Item = f64>, q: f64) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|v| !v.is_nan()).collect();
    let (below, part) = place(values.len(), q)?;
    let (_, low, others) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = others.iter().copied().min_by(f64::total_cmp).unwrap_or(*low);
    Some(*low + (high - *low) * part)
}

/// The median; none of an empty sample.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn type_7_as_published_software_has_it() {
        // R: quantile(c(1, 2, 4, 8, 16), c(.1, .25, .5, .9)) gives 1.4 2 4 12.8
        let sample = Sorted::new([16.0, 1.0, 8.0, 2.0, 4.0]);
        for (q, value) in [(0.1, 1.4), (0.25, 2.0), (0.5, 4.0), (0.9, 12.8), (0.0, 1.0), (1.0, 16.0)] {
            assert!((sample.quantile(q).unwrap() - value).abs() < 1e-12, "{q}");
        }
        assert_eq!(Sorted::new([]).quantile(0.5), None);
        assert_eq!(median([f64::NAN, 3.0]), Some(3.0));
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_inside(values in prop::collection::vec(-1e9f64..1e9, 1..50), a in 0.0f64..1.0, b in 0.0f64..1.0) {
            let sample = Sorted::new(values.clone());
            let (low, high) = (sample.quantile(a.min(b)).unwrap(), sample.quantile(a.max(b)).unwrap());
            prop_assert!(low <= high);
            prop_assert_eq!(quantile(values.clone(), a), sample.quantile(a));
            prop_assert!(low >= sample.as_slice()[0] && high <= sample.as_slice()[values.len() - 1]);
        }
    }
}

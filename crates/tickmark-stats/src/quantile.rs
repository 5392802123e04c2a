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
        let last = self.0.len().checked_sub(1)?;
        let at = q.clamp(0.0, 1.0) * last as f64;
        let below = at.floor() as usize;
        let above = (below + 1).min(last);
        let part = at - below as f64;
        Some(self.0[below] + (self.0[above] - self.0[below]) * part)
    }
}

/// The median; none of an empty sample.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Sorted::new(values).quantile(0.5)
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
            prop_assert!(low >= sample.as_slice()[0] && high <= sample.as_slice()[values.len() - 1]);
        }
    }
}

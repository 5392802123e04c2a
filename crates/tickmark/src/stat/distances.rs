//! Integers that an f64 does not hold, as distances from one of them.

use super::column::Numbers;

impl Numbers {
    /// The values as distances from an integer, which are exact where the values themselves are not; none where all are exact.
    pub(crate) fn distances(&self) -> Option<Distances> {
        let (_, origin) = *self.large.first()?;
        let mut integers = Vec::with_capacity(self.values.len());
        for value in &self.values {
            // A fraction beside them, or a number that no integer of this size holds.
            if value.fract() != 0.0 || value.abs() > 1e30 {
                return None;
            }
            integers.push(*value as i128);
        }
        for (place, integer) in &self.large {
            integers[*place] = *integer;
        }
        let distance = |integer: i128| {
            let distance = integer.checked_sub(origin)?;
            (distance.unsigned_abs() < 1 << 53).then_some(distance as f64)
        };
        let all = integers.into_iter().map(distance).collect::<Option<Vec<f64>>>()?;
        Some(Distances { origin, all })
    }
}

/// Values as distances from an integer.
#[derive(Debug, Clone)]
pub(crate) struct Distances {
    pub(crate) origin: i128,
    pub(crate) all: Vec<f64>,
}

impl Distances {
    /// The value at a distance, with all of its digits.
    pub(crate) fn text(origin: i128, distance: f64) -> String {
        let distance = (distance * 1000.0).round() / 1000.0;
        let whole = origin + distance.floor() as i128;
        let part = format!("{:.3}", distance - distance.floor());
        let part = part.trim_start_matches('0').trim_end_matches('0').trim_end_matches('.');
        format!("{whole}{part}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::column::tests::FIRST;
    use super::Distances;

    #[test]
    fn integers_are_counted_from_the_first_large_one() {
        let distances =
            FIRST.read(&b"9007199254740993\n9007199254740994\n"[..]).unwrap().distances().unwrap();
        assert_eq!((distances.origin, &distances.all[..]), (9_007_199_254_740_993, &[0.0, 1.0][..]));
        assert_eq!(Distances::text(distances.origin, 0.5), "9007199254740993.5");
        assert_eq!(Distances::text(distances.origin, 0.9996), "9007199254740994");
        // Beside fractions, and as far from each other as that, they are no distances.
        for text in ["0.25\n9007199254740993\n", "1\n9007199254740993\n90071992547409931\n"] {
            assert!(FIRST.read(text.as_bytes()).unwrap().distances().is_none());
        }
        assert!(FIRST.read(&b"1\n2\n"[..]).unwrap().distances().is_none());
    }
}

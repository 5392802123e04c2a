//! How often each of very many values was seen, in little room: a log-linear histogram.
//!
//! Every power of two is cut into the same number of equal buckets, so that a value is known to a bounded share of itself,
//! whatever its size (the layout of HdrHistogram, Gil Tene). Nothing lies beyond its end.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// A histogram of times in ns; columns `bucket` and `count` have one entry for each bucket that was hit, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Each power of two above is cut into 2^`bits` buckets: a value is known to a share of 2^-`bits` of itself, and exactly
    /// below 2^(`bits` + 1). From 1 to 16.
    pub bits: u8,
    /// Numbers of buckets; of a negative value that of its amount, negated, less one.
    pub bucket: Vec<i32>,
    /// How many values each of them holds.
    pub count: Vec<u64>,
    /// The least value, exactly.
    pub least: Nanos,
    /// The greatest value, exactly.
    pub most: Nanos,
}

impl Histogram {
    /// One that is empty.
    #[must_use]
    pub fn new(bits: u8) -> Self {
        let (bucket, count) = (Vec::new(), Vec::new());
        Self {
            bits: bits.clamp(1, 16),
            bucket,
            count,
            least: Nanos::new(i64::MAX),
            most: Nanos::new(i64::MIN),
        }
    }

    /// Of counters, one for each bucket of what is not negative. The least and the greatest value are known to their buckets alone.
    #[must_use]
    pub fn of_counts(bits: u8, counts: impl IntoIterator<Item = u64>) -> Self {
        let mut all = Self::new(bits);
        for (bucket, count) in (0..).zip(counts).filter(|(_, count)| *count > 0) {
            all.bucket.push(bucket);
            all.count.push(count);
        }
        let ends = |bucket: Option<&i32>| bucket.and_then(|bucket| all.ends(*bucket));
        if let (Some((least, _)), Some((_, most))) = (ends(all.bucket.first()), ends(all.bucket.last())) {
            (all.least, all.most) = (Nanos::new(least), Nanos::new(most));
        }
        all
    }

    /// The bucket of an amount in ns, where each power of two is cut into 2^`bits`.
    #[must_use]
    #[inline]
    pub const fn place(bits: u8, amount: u64) -> usize {
        // How far the highest bit stands above those that are kept.
        let shift = (u64::BITS - amount.leading_zeros()).saturating_sub(bits as u32 + 1);
        ((shift as usize) << bits) + (amount >> shift) as usize
    }

    /// Counts a value.
    pub fn record(&mut self, value: Nanos) {
        // The one value whose amount is no i64.
        let value = value.max(Nanos::new(-i64::MAX));
        let bucket = self.bucket_of(value);
        match self.bucket.binary_search(&bucket) {
            Ok(at) => self.count[at] += 1,
            Err(at) => {
                self.bucket.insert(at, bucket);
                self.count.insert(at, 1);
            }
        }
        (self.least, self.most) = (self.least.min(value), self.most.max(value));
    }

    /// How many values there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.count.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The ends of each bucket that was hit, ascending, both inclusive, in ns, with its count. None where it is damaged: columns of
    /// two lengths or out of order, a bucket without a value, bits beyond 16, ends that lie in other buckets.
    #[must_use]
    pub fn buckets(&self) -> Option<Vec<(Nanos, Nanos, u64)>> {
        let (first, last) = (self.bucket.first(), self.bucket.last());
        let sound = self.bucket.len() == self.count.len()
            && (1..=16).contains(&self.bits)
            && self.bucket.is_sorted_by(|a, b| a < b)
            && !self.count.contains(&0)
            && first.is_none_or(|first| *first == self.bucket_of(self.least))
            && last.is_none_or(|last| *last == self.bucket_of(self.most));
        let ends = |(bucket, count): (&i32, &u64)| {
            let (low, high) = self.ends(*bucket)?;
            Some((Nanos::new(low), Nanos::new(high), *count))
        };
        sound.then(|| self.bucket.iter().zip(&self.count).map(ends).collect()).flatten()
    }

    fn bucket_of(&self, value: Nanos) -> i32 {
        let of = |amount: u64| Self::place(self.bits, amount) as i32;
        let value = value.get();
        if value < 0 { -of(value.unsigned_abs()) - 1 } else { of(value.unsigned_abs()) }
    }

    fn ends(&self, bucket: i32) -> Option<(i64, i64)> {
        let bits = u32::from(self.bits);
        let of = |number: u32| {
            let shift = (number >> bits).saturating_sub(1);
            let part = u64::from(number - (shift << bits));
            let low = part.checked_shl(shift).filter(|low| low >> shift == part)?;
            let high = low.checked_add((1u64 << shift) - 1)?;
            Some((i64::try_from(low).ok()?, i64::try_from(high).unwrap_or(i64::MAX)))
        };
        if bucket >= 0 {
            return of(bucket.unsigned_abs());
        }
        of(bucket.unsigned_abs() - 1).map(|(low, high)| (-high, -low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_values(values: &[i64]) -> Histogram {
        let mut all = Histogram::new(7);
        values.iter().for_each(|value| all.record(Nanos::new(*value)));
        all
    }

    #[test]
    fn a_value_is_known_to_a_share_of_itself_whatever_its_size() {
        for power in 0..63 {
            for value in [1i64 << power, (1i64 << power) + (1i64 << power) / 3, (1i64 << power) - 1] {
                for value in [value, -value] {
                    let (low, high) =
                        from_values(&[]).ends(from_values(&[]).bucket_of(Nanos::new(value))).unwrap();
                    assert!((low..=high).contains(&value), "{value}: {low} {high}");
                    assert!(
                        (high - low) as f64 <= value.unsigned_abs() as f64 / 128.0,
                        "{value}: {low} {high}"
                    );
                }
            }
        }
        let end = from_values(&[i64::MAX, i64::MIN]);
        assert_eq!((end.total(), end.buckets().unwrap().len()), (2, 2), "nothing lies beyond the end");
    }

    #[test]
    fn buckets_ascend() {
        let all = from_values(&[1_000_000, 7, -300, 1_000_001, 7]);
        let ends = |(low, high, count): &(Nanos, Nanos, u64)| (low.get(), high.get(), *count);
        let buckets: Vec<_> = all.buckets().unwrap().iter().map(ends).collect();
        assert_eq!(buckets, [(-301, -300, 1), (7, 7, 2), (999_424, 1_003_519, 2)]);
        let back: Histogram = serde_json::from_str(&serde_json::to_string(&all).unwrap()).unwrap();
        assert_eq!(back, all);
    }

    #[test]
    fn counters_become_the_same() {
        let mut counts = vec![0; Histogram::place(7, 1_000_001) + 1];
        for amount in [1_000_000, 7, 300, 1_000_001, 7] {
            counts[Histogram::place(7, amount)] += 1;
        }
        let (all, exact) = (Histogram::of_counts(7, counts), from_values(&[1_000_000, 7, 300, 1_000_001, 7]));
        assert_eq!((&all.bucket, &all.count, all.buckets()), (&exact.bucket, &exact.count, exact.buckets()));
        assert!(Histogram::of_counts(7, []).buckets().unwrap().is_empty());
    }

    #[test]
    fn what_is_damaged_has_no_buckets() {
        let sound = from_values(&[1, 2, 3]);
        let damage = |change: fn(&mut Histogram)| {
            let mut bad = sound.clone();
            change(&mut bad);
            bad.buckets()
        };
        assert!(sound.buckets().is_some());
        assert!(damage(|bad| bad.bits = 60).is_none());
        assert!(damage(|bad| bad.count[1] = 0).is_none());
        assert!(damage(|bad| bad.most = Nanos::new(1_000)).is_none());
        assert!(damage(|bad| bad.least = Nanos::new(2)).is_none());
        assert!(damage(|bad| bad.bucket.reverse()).is_none());
        assert!(damage(|bad| bad.count.truncate(1)).is_none());
        assert!(damage(|bad| bad.bucket[2] = i32::MAX).is_none());
    }
}

//! Durations as integers, so that a recording gives back exactly what was stamped.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A span or a point of time in nanoseconds. Negative where something was early or went backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(i64);

impl Nanos {
    /// Zero nanoseconds.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds.
    #[must_use]
    pub const fn new(nanos: i64) -> Self {
        Self(nanos)
    }

    /// `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i32) -> Self {
        Self(millis as i64 * 1_000_000)
    }

    /// The number of nanoseconds.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The number of nanoseconds, for statistics; exact below 2^53 ns (104 days).
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Sum, or `None` past 292 years.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Difference, or `None` past 292 years.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(difference) => Some(Self(difference)),
            None => None,
        }
    }

    /// As a standard duration; a negative one is zero.
    #[must_use]
    pub fn to_duration(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// A cost in picoseconds: for what takes less than a nanosecond, and for physical limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Picos(u64);

impl Picos {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// `picos` picoseconds.
    #[must_use]
    pub const fn new(picos: u64) -> Self {
        Self(picos)
    }

    /// The number of picoseconds.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The cost of one of `count` operations that took `elapsed` together, rounded down, at
    /// most 213 days; zero where nothing was counted.
    #[must_use]
    pub const fn per(elapsed: Nanos, count: u64) -> Self {
        if count == 0 || elapsed.0 <= 0 {
            return Self(0);
        }
        let picos = elapsed.0 as u128 * 1000 / count as u128;
        Self(if picos > u64::MAX as u128 { u64::MAX } else { picos as u64 })
    }

    /// In nanoseconds, for statistics.
    #[must_use]
    pub const fn as_nanos_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_checked() {
        assert_eq!(Nanos::new(i64::MAX).checked_add(Nanos::new(1)), None);
        assert_eq!(Nanos::new(3).checked_sub(Nanos::new(5)), Some(Nanos::new(-2)));
        assert_eq!(Nanos::new(-1).to_duration(), Duration::ZERO);
    }

    #[test]
    fn a_cost_keeps_what_is_below_a_nanosecond() {
        assert_eq!(Picos::per(Nanos::new(100), 400), Picos::new(250));
        assert_eq!(Picos::per(Nanos::new(100), 0), Picos::ZERO);
        assert_eq!(Picos::per(Nanos::new(i64::MAX), 1), Picos::new(u64::MAX));
    }
}

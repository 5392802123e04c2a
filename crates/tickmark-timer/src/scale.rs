//! From ticks to nanoseconds, by a line through two anchors.

use crate::{fenced_counter, monotonic_ns};

/// One moment on two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    /// Ticks of the counter.
    pub ticks: u64,
    /// CLOCK_MONOTONIC, ns.
    pub nanos: u64,
}

impl Anchor {
    /// Reads CLOCK_MONOTONIC between two readings of the counter, several times, and keeps the reading
    /// whose brackets lie closest: an interruption only widens a bracket.
    #[must_use]
    pub fn take() -> Self {
        (0..32)
            .map(|_| {
                let before = fenced_counter();
                let nanos = monotonic_ns();
                let width = fenced_counter().wrapping_sub(before);
                (width, Self { ticks: before.wrapping_add(width / 2), nanos })
            })
            .min_by_key(|(width, _)| *width)
            .map_or(Self { ticks: 0, nanos: 0 }, |(_, anchor)| anchor)
    }
}

/// Nanoseconds per tick as a multiplication and a shift, as kernels do it (Linux's
/// clocks_calc_mult_shift): ns = ticks * mult >> 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    mult: u64,
}

const SHIFT: u32 = 32;

impl Scale {
    /// Ticks that are nanoseconds already.
    pub const NANOS: Self = Self { mult: 1 << SHIFT };

    /// The line through two anchors; none where the counter stood still or ran slower than 1 Hz.
    #[must_use]
    pub fn between(first: Anchor, last: Anchor) -> Option<Self> {
        let ticks = u128::from(last.ticks.checked_sub(first.ticks)?);
        let nanos = u128::from(last.nanos.checked_sub(first.nanos)?);
        let mult = (nanos << SHIFT).checked_div(ticks)?;
        (mult > 0).then_some(Self { mult: u64::try_from(mult).ok()? })
    }

    /// Nanoseconds in `ticks`, rounded down.
    #[must_use]
    #[inline]
    pub fn nanos(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.mult)) >> SHIFT) as u64
    }

    /// The factor of the multiplication; the shift is 32.
    #[must_use]
    pub fn mult(self) -> u64 {
        self.mult
    }

    /// Ticks a second.
    #[must_use]
    pub fn frequency(self) -> f64 {
        1e9 * (1u64 << SHIFT) as f64 / self.mult as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_counter_that_stands_still_has_no_scale() {
        let anchor = Anchor { ticks: 7, nanos: 9 };
        assert_eq!(Scale::between(anchor, Anchor { ticks: 7, nanos: 20 }), None);
        assert_eq!(Scale::between(Anchor { ticks: 8, nanos: 9 }, anchor), None);
    }

    proptest! {
        #[test]
        fn a_scale_gives_back_its_anchors(hz in 1_000_000u64..6_000_000_000, seconds in 1u64..1000) {
            let last = Anchor { ticks: hz * seconds, nanos: seconds * 1_000_000_000 };
            let scale = Scale::between(Anchor { ticks: 0, nanos: 0 }, last).unwrap();
            let error = last.nanos as f64 - scale.nanos(last.ticks) as f64;
            prop_assert!(error >= 0.0 && error <= 1.0 + last.nanos as f64 * 1e-6, "{error}");
            prop_assert!((scale.frequency() / hz as f64 - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn anchors_of_this_machine_agree_with_its_clock() {
        let first = Anchor::take();
        let start = monotonic_ns();
        while monotonic_ns() - start < 2_000_000 {}
        let last = Anchor::take();
        let scale = Scale::between(first, last).unwrap();
        assert_eq!(scale.nanos(last.ticks - first.ticks).abs_diff(last.nanos - first.nanos) / 1000, 0);
    }
}

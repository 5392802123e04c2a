//! Arithmetic on time stamps of seconds and a fraction: timespec and timeval. The open question of
//! whether that costs as much as reading the clock.

use super::integer::{UNROLLED, unrolled};
use crate::batch::{self, Shape};
use crate::sys::chain::opaque;
use crate::{Probe, Spec};
use tickmark_wire::{Group, Picos};

const NANOSECONDS: u64 = 1_000_000_000;
const MICROSECONDS: u64 = 1_000_000;

/// Seconds and a fraction in units of `1 / UNIT` seconds, the fraction below `UNIT` when normalised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp<const UNIT: u64> {
    seconds: u64,
    fraction: u64,
}

impl<const UNIT: u64> Stamp<UNIT> {
    #[inline(always)]
    fn opaque(self) -> Self {
        Self { seconds: opaque(self.seconds), fraction: opaque(self.fraction) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let fraction = self.fraction + other.fraction;
        let carry = u64::from(fraction >= UNIT);
        Self {
            seconds: self.seconds.wrapping_add(other.seconds).wrapping_add(carry),
            fraction: fraction - carry * UNIT,
        }
    }

    #[inline(always)]
    fn subtract(self, other: Self) -> Self {
        let borrow = u64::from(self.fraction < other.fraction);
        Self {
            seconds: self.seconds.wrapping_sub(other.seconds).wrapping_sub(borrow),
            fraction: (self.fraction + borrow * UNIT).wrapping_sub(other.fraction),
        }
    }

    /// Takes whole seconds out of the fraction one by one, as kernels do.
    #[inline(always)]
    fn normalise(mut self) -> Self {
        while self.fraction >= UNIT {
            self.fraction = opaque(self.fraction - UNIT);
            self.seconds = self.seconds.wrapping_add(1);
        }
        self
    }
}

/// The operations of one kind of stamp; `$unit` is the number of its fractions in a second.
macro_rules! operation {
    ($name:literal, $title:literal, $timed:literal, $unit:ident, |$x:ident, $y:ident| $step:expr) => {
        Probe {
            spec: Spec {
                timed: $timed,
                source: "timespecadd(3), timespeccmp(3) of the BSDs; set_normalized_timespec64 of Linux",
                physical_floor: Picos::new(150),
                ..Spec::cost(Group::Timestamp, $name, $title)
            },
            prepare: |spec, _| {
                let start: Stamp<$unit> = Stamp { seconds: 1 << 30, fraction: 17 };
                // Six tenths of a second: the carry comes in a pattern of five.
                let step: Stamp<$unit> = Stamp { seconds: 0, fraction: $unit / 10 * 6 + 1 };
                let (mut $x, $y) = (start.opaque(), step.opaque());
                Ok(batch::routine(Shape::from_spec(spec).times(UNROLLED), move || {
                    unrolled!($x = $step.opaque());
                })
                .boxed())
            },
        }
    };
}

pub(super) static PROBES: &[Probe] = &[
    operation!("stamp.timespec.add", "timespec, add", "addition with carry", NANOSECONDS, |x, y| x.add(y)),
    operation!(
        "stamp.timespec.subtract",
        "timespec, subtract",
        "subtraction with borrow",
        NANOSECONDS,
        |x, y| x.subtract(y)
    ),
    operation!(
        "stamp.timespec.compare",
        "timespec, compare",
        "comparison, its outcome put into the next one's operand",
        NANOSECONDS,
        |x, y| Stamp { seconds: x.seconds ^ u64::from(x < y), ..x }
    ),
    operation!(
        "stamp.timespec.normalise",
        "timespec, normalise",
        "adding 1.7 s to the fraction, then taking whole seconds out of it",
        NANOSECONDS,
        |x, y| Stamp::<NANOSECONDS> { fraction: x.fraction + y.fraction + 1_100_000_000, ..x }.normalise()
    ),
    operation!("stamp.timeval.add", "timeval, add", "addition with carry", MICROSECONDS, |x, y| x.add(y)),
    operation!(
        "stamp.timeval.subtract",
        "timeval, subtract",
        "subtraction with borrow",
        MICROSECONDS,
        |x, y| x.subtract(y)
    ),
    operation!(
        "stamp.timeval.compare",
        "timeval, compare",
        "comparison, its outcome put into the next one's operand",
        MICROSECONDS,
        |x, y| Stamp { seconds: x.seconds ^ u64::from(x < y), ..x }
    ),
    operation!(
        "stamp.timeval.normalise",
        "timeval, normalise",
        "adding 1.7 s to the fraction, then taking whole seconds out of it",
        MICROSECONDS,
        |x, y| Stamp::<MICROSECONDS> { fraction: x.fraction + y.fraction + 1_100_000, ..x }.normalise()
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    type Timespec = Stamp<NANOSECONDS>;

    #[test]
    fn sums_carry_and_differences_borrow() {
        let (a, b) =
            (Timespec { seconds: 5, fraction: 700_000_000 }, Timespec { seconds: 1, fraction: 800_000_000 });
        assert_eq!(a.add(b), Timespec { seconds: 7, fraction: 500_000_000 });
        assert_eq!(a.add(b).subtract(b), a);
        assert_eq!(
            Timespec { seconds: 1, fraction: 3_500_000_000 }.normalise(),
            Timespec { seconds: 4, fraction: 500_000_000 }
        );
        assert!(b < a);
    }
}

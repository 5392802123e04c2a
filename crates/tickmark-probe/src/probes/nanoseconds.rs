//! Time as one number: 64.64 binary fractions, nanoseconds, and cycles turned into nanoseconds.

use super::integer::{UNROLLED, unrolled};
use crate::batch::{self, Shape};
use crate::sys::chain::opaque;
use crate::{Probe, Spec};
use tickmark_timer::{Anchor, Scale};
use tickmark_wire::{Group, Picos};

const SECOND: u64 = 1_000_000_000;
/// A counter's rate, for conversions: 2.596 GHz.
const RATE: u64 = 2_596_000_000;

macro_rules! chain {
    ($name:literal, $title:literal, $timed:literal, $source:literal, |$x:ident, $y:ident| $step:expr) => {
        Probe {
            spec: Spec {
                timed: $timed,
                source: $source,
                physical_floor: Picos::new(100),
                ..Spec::cost(Group::Timestamp, $name, $title)
            },
            prepare: |spec, _| {
                let (mut $x, $y) = (opaque(1 << 61), opaque(12_345));
                Ok(batch::routine(Shape::from_spec(spec).times(UNROLLED), move || {
                    unrolled!($x = opaque($step));
                })
                .boxed())
            },
        }
    };
}

/// Nanoseconds in a 64-bit binary fraction of a second.
#[inline(always)]
fn fraction_to_nanos(fraction: u64) -> u64 {
    ((u128::from(fraction) * u128::from(SECOND)) >> 64) as u64
}

/// Cycles to nanoseconds without a prepared factor: whole seconds apart, so that nothing overflows.
#[inline(always)]
fn divide(cycles: u64, rate: u64) -> u64 {
    let rate = rate | 1;
    cycles / rate * SECOND + cycles % rate * SECOND / rate
}

fn scale() -> Scale {
    let (first, last) = (Anchor { ticks: 0, nanos: 0 }, Anchor { ticks: RATE, nanos: SECOND });
    Scale::between(first, last).unwrap_or(Scale::NANOS)
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            timed: "addition of two 64.64 binary fractions, with carry",
            source: "bintime_add of FreeBSD",
            physical_floor: Picos::new(100),
            ..Spec::cost(Group::Timestamp, "stamp.bintime.add", "64.64 fraction, add")
        },
        prepare: |spec, _| {
            let (mut seconds, mut fraction) = (opaque(1 << 30), opaque(3));
            let step = opaque(0x9999_9999_9999_9999);
            Ok(batch::routine(Shape::from_spec(spec).times(UNROLLED), move || {
                unrolled!({
                    let (sum, carry) = fraction.overflowing_add(step);
                    fraction = opaque(sum);
                    seconds = opaque(seconds + u64::from(carry));
                });
            })
            .boxed())
        },
    },
    chain!(
        "stamp.bintime.to_nanoseconds",
        "64.64 fraction, to nanoseconds",
        "multiplication of the fraction by 1e9, the upper half kept, seconds added; its outcome put into the next",
        "bintime2timespec of FreeBSD",
        |x, y| (1 << 61) | (y.wrapping_mul(SECOND) + fraction_to_nanos(x))
    ),
    chain!("stamp.nanoseconds.add", "nanoseconds, add", "64-bit addition", "ktime_add of Linux", |x, y| x
        .wrapping_add(y)),
    chain!(
        "stamp.nanoseconds.subtract",
        "nanoseconds, subtract",
        "64-bit subtraction",
        "ktime_sub of Linux",
        |x, y| x.wrapping_sub(y)
    ),
    chain!(
        "stamp.nanoseconds.compare",
        "nanoseconds, compare",
        "comparison, its outcome put into the next one's operand",
        "ktime_compare of Linux",
        |x, y| x ^ u64::from(x < y)
    ),
    chain!(
        "stamp.nanoseconds.split",
        "nanoseconds, to timespec",
        "division by 1e9 with remainder, its outcome put into the next",
        "ktime_to_timespec64 of Linux",
        |x, y| ((x / SECOND) ^ (x % SECOND)).wrapping_add(y) | (1 << 61)
    ),
    Probe {
        spec: Spec {
            timed: "a 64 by 64 bit multiplication and a shift, its outcome put into the next",
            source: "clocks_calc_mult_shift of Linux",
            physical_floor: Picos::new(200),
            ..Spec::cost(Group::Timestamp, "stamp.cycles.multiply_shift", "cycles to ns, multiply and shift")
        },
        prepare: |spec, _| {
            let (mut cycles, scale) = (opaque(1 << 50), scale());
            Ok(batch::routine(Shape::from_spec(spec).times(UNROLLED), move || {
                unrolled!(cycles = opaque((1 << 50) | scale.nanos(cycles)));
            })
            .boxed())
        },
    },
    Probe {
        spec: Spec {
            timed: "two divisions of 64 bits by a rate that the compiler does not know, its outcome put into the next",
            source: "the definition: cycles / rate",
            physical_floor: Picos::new(500),
            ..Spec::cost(Group::Timestamp, "stamp.cycles.divide", "cycles to ns, division")
        },
        prepare: |spec, _| {
            let (mut cycles, rate) = (opaque(1 << 50), opaque(RATE));
            Ok(batch::routine(Shape::from_spec(spec).times(UNROLLED), move || {
                unrolled!(cycles = opaque((1 << 50) | divide(cycles, rate)));
            })
            .boxed())
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_are_right() {
        assert_eq!(fraction_to_nanos(1 << 63), 500_000_000);
        assert_eq!(divide(RATE * 3 + 3, RATE), 3_000_000_000);
        assert!(scale().nanos(RATE).abs_diff(SECOND) <= 1);
    }
}

//! Integer operations, each waiting for the one before it.

use crate::Probe;
use crate::sys::chain::{opaque, opaque_u32};
use std::num::{NonZeroU32, NonZeroU64};

/// Operations in one call: the loop around them costs less than one of them.
pub(super) const UNROLLED: u64 = 64;

/// `$step` 64 times.
macro_rules! unrolled {
    ($step:expr) => {
        for _ in 0..8 {
            $step;
            $step;
            $step;
            $step;
            $step;
            $step;
            $step;
            $step;
        }
    };
}
pub(super) use unrolled;

/// A probe of one operation: each of 64 waits for the one before it.
macro_rules! chain {
    ($name:literal, $title:literal, $timed:literal, $floor:literal, $opaque:ident, $start:expr, $other:expr,
     |$x:ident, $y:ident| $step:expr) => {
        $crate::Probe {
            spec: $crate::Spec {
                timed: $timed,
                source: "Staelin, lmbench3 (lat_ops); every operation waits for the one before it",
                physical_floor: tickmark_wire::Picos::new($floor),
                ..$crate::Spec::cost(tickmark_wire::Group::Arithmetic, $name, $title)
            },
            prepare: |spec, _| {
                let ($y, mut $x) = ($other, $opaque($start));
                let shape = $crate::batch::Shape::from_spec(spec).times($crate::probes::integer::UNROLLED);
                let step = move || {
                    $crate::probes::integer::unrolled!($x = $opaque($step));
                };
                Ok($crate::batch::routine(shape, step).boxed())
            },
        }
    };
}
pub(super) use chain;

/// A divisor that the compiler does not know.
fn divisor32(value: u32) -> NonZeroU32 {
    NonZeroU32::new(opaque_u32(value)).unwrap_or(NonZeroU32::MIN)
}

fn divisor64(value: u64) -> NonZeroU64 {
    NonZeroU64::new(opaque(value)).unwrap_or(NonZeroU64::MIN)
}

pub(super) static PROBES: &[Probe] = &[
    chain!(
        "op.int32.bit",
        "int 32, bit (xor)",
        "exclusive or",
        100,
        opaque_u32,
        0x5555,
        opaque_u32(0x1234),
        |x, y| x ^ y
    ),
    chain!("op.int32.add", "int 32, add", "addition", 100, opaque_u32, 1, opaque_u32(3), |x, y| x
        .wrapping_add(y)),
    chain!(
        "op.int32.mul",
        "int 32, multiply",
        "multiplication",
        200,
        opaque_u32,
        3,
        opaque_u32(5),
        |x, y| x.wrapping_mul(y)
    ),
    chain!(
        "op.int32.div",
        "int 32, divide",
        "an or, and a division of 31 bits by 10 bits",
        400,
        opaque_u32,
        7,
        divisor32(1_000),
        |x, y| (x | 0x4000_0000) / y
    ),
    chain!(
        "op.int32.mod",
        "int 32, modulo",
        "an or, and the remainder of 31 bits by 10 bits",
        400,
        opaque_u32,
        7,
        divisor32(1_000),
        |x, y| (x | 0x4000_0000) % y
    ),
    chain!(
        "op.int64.bit",
        "int 64, bit (xor)",
        "exclusive or",
        100,
        opaque,
        0x5555,
        opaque(0x1234),
        |x, y| x ^ y
    ),
    chain!("op.int64.add", "int 64, add", "addition", 100, opaque, 1, opaque(3), |x, y| x.wrapping_add(y)),
    chain!("op.int64.mul", "int 64, multiply", "multiplication", 200, opaque, 3, opaque(5), |x, y| x
        .wrapping_mul(y)),
    chain!(
        "op.int64.div",
        "int 64, divide",
        "an or, and a division of 63 bits by 35 bits",
        400,
        opaque,
        7,
        divisor64(30_000_000_001),
        |x, y| (x | 1 << 62) / y
    ),
    chain!(
        "op.int64.mod",
        "int 64, modulo",
        "an or, and the remainder of 63 bits by 35 bits",
        400,
        opaque,
        7,
        divisor64(30_000_000_001),
        |x, y| (x | 1 << 62) % y
    ),
];

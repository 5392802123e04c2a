//! Floating-point operations, each waiting for the one before it.

use super::integer::chain;
use crate::Probe;
use crate::sys::chain::{opaque_f32, opaque_f64};

/// (1 + x)(1.5 - x)/x, then back to x by way of a sum with nothing, so that every turn has the same
/// operands and waits for the turn before.
macro_rules! bogo {
    ($opaque:ident, $x:ident, $zero:ident) => {{
        let turn = (1.0 + $x) * (1.5 - $x) / $x;
        0.75 + $opaque(turn * $zero)
    }};
}

pub(super) static PROBES: &[Probe] = &[
    chain!("op.float.add", "float, add", "addition", 150, opaque_f32, 1.5, opaque_f32(0.000_001), |x, y| x
        + y),
    chain!(
        "op.float.mul",
        "float, multiply",
        "multiplication",
        200,
        opaque_f32,
        1.5,
        opaque_f32(1.0),
        |x, y| x * y
    ),
    chain!("op.float.div", "float, divide", "division", 400, opaque_f32, 1.5, opaque_f32(1.0), |x, y| x / y),
    chain!(
        "op.float.bogo",
        "float, bogo",
        "(1 + x)(1.5 - x)/x, times zero and plus x: five operations in a row and a sum beside them",
        1_000,
        opaque_f32,
        0.75,
        opaque_f32(0.0),
        |x, y| bogo!(opaque_f32, x, y)
    ),
    chain!(
        "op.double.add",
        "double, add",
        "addition",
        150,
        opaque_f64,
        1.5,
        opaque_f64(0.000_001),
        |x, y| x + y
    ),
    chain!(
        "op.double.mul",
        "double, multiply",
        "multiplication",
        200,
        opaque_f64,
        1.5,
        opaque_f64(1.0),
        |x, y| x * y
    ),
    chain!("op.double.div", "double, divide", "division", 400, opaque_f64, 1.5, opaque_f64(1.0), |x, y| x
        / y),
    chain!(
        "op.double.bogo",
        "double, bogo",
        "(1 + x)(1.5 - x)/x, times zero and plus x: five operations in a row and a sum beside them",
        1_000,
        opaque_f64,
        0.75,
        opaque_f64(0.0),
        |x, y| bogo!(opaque_f64, x, y)
    ),
];

//! Floating-point operations, each waiting for the one before it; and lmbench's bogo, of which many are under way at once.

use super::integer::chain;
use crate::batch::{self, Shape};
use crate::sys::chain::{opaque_f32, opaque_f64};
use crate::{Probe, Spec};
use tickmark_wire::{Group, Picos};

/// Elements of the array that a bogo goes over: they stay in the first-level cache.
const ELEMENTS: usize = 1024;

/// (1 + x)(1.5 - x)/x of each element of an array, which is 1 and stays so: no element waits for another.
macro_rules! array {
    ($name:literal, $title:literal, $opaque:ident) => {
        Probe {
            spec: Spec {
                timed: "(1 + x)(1.5 - x)/x of each of 1024 elements of an array, one after the other: none waits for another, so this is \
                        throughput where the other operations are chains",
                source: "Staelin, lmbench3 (lat_ops, bogomflops)",
                physical_floor: Picos::new(150),
                ..Spec::cost(Group::Arithmetic, $name, $title)
            },
            prepare: |spec, _| {
                let mut array = vec![$opaque(1.0); ELEMENTS];
                let over = move || array.iter_mut().for_each(|x| *x = $opaque((1.0 + *x) * (1.5 - *x) / *x));
                Ok(batch::routine(Shape::from_spec(spec).times(ELEMENTS as u64), over).boxed())
            },
        }
    };
}

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
        "float, bogo in a chain",
        "(1 + x)(1.5 - x)/x, times zero and plus x: five operations in a row and a sum beside them",
        1_000,
        opaque_f32,
        0.75,
        opaque_f32(0.0),
        |x, y| bogo!(opaque_f32, x, y)
    ),
    array!("op.float.bogo_array", "float, bogo over an array", opaque_f32),
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
        "double, bogo in a chain",
        "(1 + x)(1.5 - x)/x, times zero and plus x: five operations in a row and a sum beside them",
        1_000,
        opaque_f64,
        0.75,
        opaque_f64(0.0),
        |x, y| bogo!(opaque_f64, x, y)
    ),
    array!("op.double.bogo_array", "double, bogo over an array", opaque_f64),
];

//! Probes that misbehave on purpose, to prove that nothing can hang a run or pass for a number.

use crate::batch::{self, Shape};
use crate::routine::routine;
use crate::sys::CallError;
use crate::sys::chain::opaque;
use crate::{Probe, ProbeError, Spec, Unavailable};
use tickmark_wire::{Group, Picos};

const fn spec(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec {
        timed,
        source: "tickmark's own tests",
        physical_floor: Picos::new(1_000),
        ..Spec::cost(Group::Selftest, name, title)
    }
}

/// A slowdown of a known size: so many multiplications, each waiting for the one before it.
macro_rules! work {
    ($name:literal, $times:literal) => {
        Probe {
            spec: spec($name, concat!(stringify!($times), " multiplications"), "a chain of multiplications"),
            prepare: |spec, _| {
                let (mut value, factor) = (opaque(3), opaque(5));
                let step = move || {
                    for _ in 0..$times {
                        value = opaque(value.wrapping_mul(factor));
                    }
                };
                Ok(batch::routine(Shape::of(spec), step).boxed())
            },
        }
    };
}

pub(super) static PROBES: &[Probe] = &[
    work!("selftest.work.1000", 1000),
    work!("selftest.work.1010", 1010),
    work!("selftest.work.1020", 1020),
    work!("selftest.work.1050", 1050),
    Probe {
        spec: spec("selftest.hang", "never ends", "a loop without an end, reached by the hard limit"),
        prepare: |_, _| {
            Ok(routine(|_, _| {
                loop {
                    std::hint::spin_loop();
                }
            }))
        },
    },
    Probe {
        spec: spec("selftest.fold", "does nothing", "work that a compiler folded away: below its floor"),
        prepare: |spec, _| Ok(batch::routine(Shape::of(spec).times(1_000), || {}).boxed()),
    },
    Probe {
        spec: spec("selftest.fail", "fails", "a system call that fails while it is timed"),
        prepare: |_, _| {
            Ok(routine(|_, _| Err(ProbeError::Call(CallError { call: "read", errno: libc::EIO }))))
        },
    },
];

/// Proves in the set-up that what is to be timed happens.
pub(super) fn happened(times: u64, what: &str) -> Result<(), Unavailable> {
    if times == 1 { Ok(()) } else { Err(Unavailable::Missing(format!("{what} ran {times} times, not once"))) }
}

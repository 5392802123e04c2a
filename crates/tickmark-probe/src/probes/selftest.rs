//! Probes that misbehave on purpose, to prove that nothing can hang a run or pass for a number.

use crate::batch::{self, Shape};
use crate::routine::routine;
use crate::sys::CallError;
use crate::sys::chain::opaque;
use crate::{Also, Budget, Parameter, Probe, ProbeError, Sink, Spec, Unavailable, Value};
use tickmark_wire::{Better, Group, Headline, Histogram, Nanos, Observations, Part, Picos, Unit, Windows};

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
                Ok(batch::routine(Shape::from_spec(spec), step).boxed())
            },
        }
    };
}

pub(super) static PROBES: &[Probe] = &[
    work!("selftest.work.1000", 1000),
    work!("selftest.work.1010", 1010),
    work!("selftest.work.1020", 1020),
    work!("selftest.work.1050", 1050),
    work!("selftest.work.1100", 1100),
    // Everything that the contract allows at once: an argument, a histogram, counts in windows.
    Probe {
        spec: Spec {
            metric: "selftest.spread.{multiplications}",
            headline: Headline::Median,
            parameters: &[Parameter::choice(
                "multiplications",
                "multiplications in a step",
                &[Value::plain("100"), Value::plain("1000")],
            )
            .or_numbers(1, 10_000)],
            also: &[Also {
                metric: "selftest.rate.{multiplications}",
                title: "steps of {multiplications} multiplications, rate",
                unit: Unit::Frequency,
                better: Better::Higher,
                headline: Headline::Median,
            }],
            ..spec(
                "selftest.spread",
                "a step of {multiplications} multiplications",
                "each step of {multiplications} multiplications by itself, and how many fall into windows of 5 ms",
            )
        },
        prepare: |_, params| {
            let multiplications = params.number("multiplications");
            Ok(routine(move |budget, sink| {
                spread(multiplications, budget, sink);
                Ok(())
            }))
        },
    },
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
        prepare: |spec, _| Ok(batch::routine(Shape::from_spec(spec).times(1_000), || {}).boxed()),
    },
    Probe {
        spec: spec("selftest.fail", "fails", "a system call that fails while it is timed"),
        prepare: |_, _| {
            Ok(routine(|_, _| Err(ProbeError::Call(CallError { call: "read", errno: libc::EIO }))))
        },
    },
];

/// How long a window is, in ns.
const WINDOW: u64 = 5_000_000;

fn spread(multiplications: usize, budget: &Budget, sink: &mut dyn Sink) {
    let (mut value, factor) = (opaque(3), opaque(5));
    let mut all = Histogram::new(7);
    let mut windows = Windows { start: Vec::new(), length: Vec::new(), count: Vec::new() };
    let begun = tickmark_timer::monotonic_ns();
    let (mut last, mut opened, mut count) = (begun, begun, 0);
    while last - begun < budget.time.get() as u64 {
        let from = tickmark_timer::monotonic_ns();
        for _ in 0..multiplications {
            value = opaque(value.wrapping_mul(factor));
        }
        let now = tickmark_timer::monotonic_ns();
        // Keeping it is in the rate, and not in the step.
        all.record(Nanos::new((now - from) as i64));
        (last, count) = (now, count + 1);
        if now - opened >= WINDOW || now - begun >= budget.time.get() as u64 {
            windows.start.push(Nanos::new((opened - begun) as i64));
            windows.length.push(Nanos::new((now - opened) as i64));
            windows.count.push(count);
            (opened, count) = (now, 0);
        }
    }
    sink.observe(Part::Whole, Observations::Histogram(all), Vec::new());
    sink.take(1, Part::Whole, Observations::Windows(windows), Vec::new());
}

/// Proves in the set-up that what is to be timed happens.
pub(super) fn happened(times: u64, what: &str) -> Result<(), Unavailable> {
    if times == 1 { Ok(()) } else { Err(Unavailable::Missing(format!("{what} ran {times} times, not once"))) }
}

//! Rows of timers that are due one soon after the other: the three scenarios of the APIC timer module (Oberle, Performances of the APIC timer module), in
//! user space by four strategies, and by the kernel module; and rows of the user's own. No suite has them: `tickmark timers simple` asks.

use crate::case::{Parameter, Value};
use crate::routine::{Budget, Routine, Sink, routine};
use crate::sys::clock;
use crate::sys::timer_module::{Due, Module};
use crate::{Expected, Meter, Params, Probe, ProbeError, Spec, SystemMeter, Unavailable};
use tickmark_timer::{Anchor, Options, Scale, Sleeper, counter_is_trusted, monotonic_ns};
use tickmark_wire::{Group, Headline, Nanos, Observations, Part, Point, Segment, names};

/// The document's machine ran at 450 MHz: what its cycles took there.
const DOCUMENT_MHZ: f64 = 450.0;
/// Repetitions at most; the first few of them let the sleeper learn.
const MOST: usize = 300;
/// From one repetition to the next, in ns.
const PAUSE: u64 = 1_500_000;
/// The first deadline is so far ahead of the moment in which the row is begun, in ns: what beginning it takes.
const BEGIN: u64 = 2_000;

const STRATEGY: Parameter = Parameter::choice(
    "strategy",
    "how they are waited for",
    &[
        named("one-shot", "one_shot", "each is slept for"),
        named("last-error", "last_error", "each is slept for, earlier by how late the one before was"),
        named("hybrid", "hybrid", "slept for up to a learned margin, then spun for (Sleeper)"),
        named("spin", "spin", "spun for"),
        named("kernel-none", "kernel_none", "by the module tickmark_timer, without correction"),
        named(
            "kernel-last",
            "kernel_last",
            "by the module tickmark_timer, each earlier by how late the interrupt before was",
        ),
        named(
            "kernel-quantile",
            "kernel_quantile",
            "by the module tickmark_timer, each earlier by a learned margin",
        ),
    ],
);
const UNIT: Parameter = Parameter::choice(
    "unit",
    "whether a cycle is this machine's, or as long as on the document's 450 MHz",
    &[CYCLES, TIME],
);
const CYCLES: Value = Value { value: "cycles", name: "cycles", title: "", timed: "" };
const TIME: Value = Value { value: "time", name: "time", title: ", stretched", timed: ", cycles of 450 MHz" };
/// None of its values is for suites.
const REPEATS: Parameter = Parameter::number("repeats", "how often at most", 1, MOST as u32);
const SPEC: Spec = Spec {
    headline: Headline::Median,
    sleeps: true,
    expected: Expected::UNKNOWN,
    ..Spec::cost(Group::Timer, names::SCENARIO, "{row}{unit}: {strategy}")
};

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            metric: "timer.scenario.{row}.{unit}.{strategy}",
            timed: "a row of timers, {row}{unit}; {strategy}; how late each is, again and again",
            source: "apic-timer-module, test_apic_timer.c: simple, many, too many",
            parameters: &[
                Parameter::choice(
                    "row",
                    "which timers",
                    &[
                        named("simple", "simple", "ten timers from 100 to 600000 cycles ahead"),
                        named("many", "many", "29 timers 10000 cycles apart"),
                        named("too-many", "too_many", "29 timers 1000 cycles apart"),
                    ],
                ),
                STRATEGY,
                UNIT,
                REPEATS,
            ],
            ..SPEC
        },
        prepare: |_, params| ready(cycles_of(params.argument("row")), params),
    },
    Probe {
        spec: Spec {
            name: names::OWN_ROW,
            metric: "timer.scenario.own.{name}.{unit}.{strategy}",
            title: "{name}{unit}: {strategy}",
            timed: "a row of timers of the user's, {name}{unit}; {strategy}; how late each is, again and again",
            source: "the file that is given",
            parameters: &[
                Parameter::text("name", "what the row is called"),
                Parameter::text(
                    "at",
                    "when each is due from the row's beginning, ascending, with spaces between",
                ),
                STRATEGY,
                Parameter {
                    about: "whether they are in cycles of this machine, in those of the document's 450 MHz, or in ns",
                    values: &[CYCLES, TIME, Value { value: "ns", name: "ns", title: "", timed: ", in ns" }],
                    ..UNIT
                },
                REPEATS,
            ],
            ..SPEC
        },
        prepare: |_, params| {
            let all: Result<Vec<u64>, _> = params.argument("at").split_whitespace().map(str::parse).collect();
            let all = all.ok().filter(|all| !all.is_empty() && all.is_sorted());
            let none = || Unavailable::Missing(format!("at={:?} is no row of times", params.argument("at")));
            ready(all.ok_or_else(none)?, params)
        },
    },
];

/// Waits for timers that are due at these, in the unit that is asked for.
fn ready(at: Vec<u64>, params: &Params) -> Result<Box<dyn Routine>, Unavailable> {
    let strategy = params.argument("strategy").to_owned();
    let repeats = params.number("repeats");
    clock::sleep_until(Nanos::ZERO)?;
    let due = match params.argument("unit") {
        "time" => Due::Nanos(in_nanos(&at, DOCUMENT_MHZ)),
        "ns" => Due::Nanos(at),
        _ => Due::Cycles(at),
    };
    if let Some(correction) = strategy.strip_prefix("kernel-") {
        let module = Module::opened(correction)?;
        return Ok(routine(move |budget: &Budget, sink| in_kernel(&due, &module, repeats, budget, sink)));
    }
    let row = in_user_space(due)?;
    Ok(routine(move |budget: &Budget, sink| measure(&row, &strategy, repeats, budget, sink)))
}

const fn named(value: &'static str, name: &'static str, timed: &'static str) -> Value {
    Value { value, name, title: value, timed }
}

/// When each timer of the row is due, in cycles from its beginning.
fn cycles_of(row: &str) -> Vec<u64> {
    match row {
        // Some from 100 to 600000, as the document has it: evenly.
        "simple" => (0..10).map(|number| 100 + number * 599_900 / 9).collect(),
        "many" => (1..30).map(|number| number * 10_000).collect(),
        _ => (1..30).map(|number| number * 1_000).collect(),
    }
}

fn in_nanos(cycles: &[u64], mhz: f64) -> Vec<u64> {
    cycles.iter().map(|cycles| (*cycles as f64 * 1e3 / mhz) as u64).collect()
}

/// The same in ns.
fn in_user_space(due: Due) -> Result<Vec<u64>, Unavailable> {
    let cycles = match due {
        Due::Nanos(nanos) => return Ok(nanos),
        Due::Cycles(cycles) => cycles,
    };
    if !counter_is_trusted() {
        return Err(no_cycles());
    }
    let first = Anchor::take();
    while monotonic_ns() - first.nanos < 5_000_000 {}
    let scale = Scale::between(first, Anchor::take()).ok_or_else(no_cycles)?;
    Ok(in_nanos(&cycles, scale.frequency() / 1e6))
}

fn no_cycles() -> Unavailable {
    Unavailable::Missing("no counter of cycles to rely on; give unit=time, or times in ns".to_owned())
}

fn measure(
    row: &[u64],
    strategy: &str,
    repeats: usize,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let mut late = vec![Vec::with_capacity(repeats); row.len()];
    // It sets the thread's timer slack: the others have the plan's.
    let mut sleeper = (strategy == "hybrid").then(|| Sleeper::new(Options::default()));
    let mut meter = SystemMeter::new(&[]);
    let before = meter.reading();
    let origin = monotonic_ns();
    while late[0].len() < repeats
        && (late[0].is_empty() || monotonic_ns() - origin < budget.time.get() as u64)
    {
        pause(sleeper.as_mut())?;
        let begun = monotonic_ns() + BEGIN;
        let mut correction = 0;
        for (due, late) in row.iter().zip(&mut late) {
            let deadline = begun + due;
            let error = match strategy {
                "one-shot" => slept(deadline, deadline)?,
                "last-error" => {
                    let wake_at = deadline.saturating_sub(correction).max(monotonic_ns());
                    let error = slept(wake_at, deadline)?;
                    // How late it was woken; what it was behind already is none of that.
                    correction = (error + deadline as i64 - wake_at as i64).max(0) as u64;
                    error
                }
                "hybrid" => {
                    by_sleeper(sleeper.as_mut(), deadline)?;
                    error(deadline)
                }
                _ => {
                    while monotonic_ns() < deadline {}
                    error(deadline)
                }
            };
            late.push(Nanos::new(error));
        }
    }
    let wall = Nanos::new((monotonic_ns() - origin) as i64);
    observed(late, meter.reading().since(&before, Nanos::ZERO, wall), sink);
    Ok(())
}

/// Repeated results of the module for a row.
fn in_kernel(
    row: &Due,
    module: &Module,
    repeats: usize,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let mut late = vec![Vec::with_capacity(repeats); row.count()];
    let mut meter = SystemMeter::new(&[]);
    let before = meter.reading();
    let origin = monotonic_ns();
    while late[0].len() < repeats
        && (late[0].is_empty() || monotonic_ns() - origin < budget.time.get() as u64)
    {
        clock::sleep_until(Nanos::new((monotonic_ns() + PAUSE) as i64))?;
        for (number, error) in module.row(row)? {
            late[number - 1].push(Nanos::new(error));
        }
    }
    let wall = Nanos::new((monotonic_ns() - origin) as i64);
    module.agrees()?;
    observed(late, meter.reading().since(&before, Nanos::ZERO, wall), sink);
    Ok(())
}

/// How late each timer of the row was, in the order of the repetitions.
fn observed(late: Vec<Vec<Nanos>>, segment: Segment, sink: &mut dyn Sink) {
    let point = |(at, late)| Point { at, observations: Observations::Latencies(late) };
    let curve = (1..).zip(late).map(point).collect();
    sink.observe(Part::Whole, Observations::Curve(curve), vec![segment]);
}

/// Between two rows: where there is a sleeper it goes on learning.
fn pause(sleeper: Option<&mut Sleeper>) -> Result<(), ProbeError> {
    let until = monotonic_ns() + PAUSE;
    if sleeper.is_some() {
        by_sleeper(sleeper, until)
    } else {
        Ok(clock::sleep_until(Nanos::new(until as i64))?)
    }
}

fn by_sleeper(sleeper: Option<&mut Sleeper>, deadline: u64) -> Result<(), ProbeError> {
    let slept = sleeper.map_or(Ok(()), |sleeper| sleeper.sleep_until(deadline).map(drop));
    Ok(slept.map_err(|e| crate::sys::CallError::from_io("clock_nanosleep", &e))?)
}

/// Sleeps until `asked`; how late that is for the deadline.
fn slept(deadline_requested: u64, deadline: u64) -> Result<i64, ProbeError> {
    clock::sleep_until(Nanos::new(deadline_requested as i64))?;
    Ok(error(deadline))
}

fn error(deadline: u64) -> i64 {
    monotonic_ns() as i64 - deadline as i64
}

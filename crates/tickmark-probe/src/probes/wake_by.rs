//! How late programs are woken: by each way to wait, each kind of scheduling, with deep idle states or without. No suite has it, as it is
//! told how far ahead its times are: `tickmark timers` asks.

mod late;
#[cfg(feature = "whole")]
mod recorded;

use crate::case::{Parameter, Value};
use crate::routine::{Budget, routine};
use crate::spec::Also;
use crate::sys::waiting::WaitMethod;
use crate::sys::{idle, limits, signal};
use crate::wake_up_table::WakeUpTable;
use crate::{Expected, Meter, Params, Probe, ProbeError, Spec, Syscall, SystemMeter, Unavailable};
use late::Watch;
use std::fs::File;
use tickmark_timer::monotonic_ns;
use tickmark_wire::{
    Arguments, Better, Group, Headline, Nanos, Observations, Part, Priority, Segment, Unit, Values, names,
};

/// Ways to wait.
pub(crate) const WAYS: &[Value] = &[
    wait_method("nanosleep", "nanosleep", "clock_nanosleep"),
    wait_method("nanosleep-relative", "nanosleep_relative", "nanosleep, relative"),
    wait_method("timerfd", "timerfd", "timerfd"),
    wait_method("ppoll", "ppoll", "ppoll"),
    wait_method("epoll_pwait2", "epoll_pwait2", "epoll_pwait2"),
    wait_method("futex", "futex", "futex"),
    wait_method("posix-signal", "posix_signal", "POSIX timer, signal"),
    wait_method("posix-thread", "posix_thread", "POSIX timer, thread"),
    wait_method("io_uring", "io_uring", "io_uring"),
    wait_method("sleeper", "sleeper", "Sleeper"),
    wait_method("std", "std", "std sleep"),
    wait_method("tokio", "tokio", "tokio sleep"),
    wait_method("spin", "spin", "spinning"),
];

const fn wait_method(value: &'static str, name: &'static str, title: &'static str) -> Value {
    Value { value, name, title, timed: title }
}

#[cfg(test)]
#[test]
fn the_host_knows_every_way() {
    assert!(WAYS.iter().map(|way| way.value).eq(names::WAYS));
}

/// Kinds of scheduling.
const CLASSES: &[Value] = &[
    Value { value: "plan", name: "", title: "", timed: "scheduled as everything else" },
    class("other", ".other", ", ordinary priority"),
    class("fifo", ".fifo", ", fifo priority"),
    class("deadline", ".deadline", ", SCHED_DEADLINE"),
    class("slice", ".slice", ", slice of .1 ms"),
];

const fn class(value: &'static str, name: &'static str, title: &'static str) -> Value {
    Value { value, name, title, timed: title }
}

/// The priority of `fifo`.
const FIFO: u8 = 50;
/// The slice that is asked for, in ns: the least that EEVDF takes.
const SLICE: Nanos = Nanos::new(100_000);
/// Of each period this part is reserved by `deadline`.
const RESERVED: i64 = 2;

/// Whether idle states are held.
const IDLE: &[Value] = &[
    Value { value: "free", name: "", title: "", timed: "" },
    Value { value: "held", name: ".held", title: ", idle states held", timed: ", idle states held" },
];

/// Whether one that is too late ends it.
const LATE: &[Value] = &[
    Value { value: "kept", name: "", title: "", timed: "" },
    Value { value: "ends", name: "", title: "", timed: "; one that is too late ends it" },
];

pub(super) static PROBES: &[Probe] = &[
    WAKE,
    #[cfg(feature = "whole")]
    recorded::RECORDED,
];

const METHOD: Parameter = Parameter::choice("method", "how it waits", WAYS);
const CLASS: Parameter = Parameter::choice("class", "how it is scheduled", CLASSES);
const HELD: Parameter =
    Parameter::choice("idle", "whether /dev/cpu_dma_latency keeps the processor from deep idle states", IDLE);
// None of its values is for suites.
const AHEAD: Parameter = Parameter::number("ahead", "how far ahead the times are, in us", 20, 10_000_000);

const WAKE: Probe = Probe {
    spec: Spec {
        metric: "timer.wake.{ahead}.{method}{class}{idle}",
        headline: Headline::Median,
        sleeps: true,
        timed: "wait until a time of CLOCK_MONOTONIC, .4 to 1.6 times {ahead} us ahead, by {method}{class}{idle}; how late the next \
                reading of the clock is; every wake-up is kept",
        source: "cyclictest of rt-tests; the manual page of each call",
        expected: Expected::UNKNOWN,
        parameters: &[
            METHOD,
            CLASS,
            HELD,
            Parameter::choice(
                "late",
                "whether a wake-up later than the plan's threshold ends it, and what ran meanwhile is asked",
                LATE,
            ),
            AHEAD,
        ],
        tune: |spec, arguments| {
            tune(spec, arguments);
            if argument(arguments, "late") != "ends" {
                spec.also = &ALSO[..1];
            }
        },
        also: ALSO,
        ..Spec::cost(Group::Timer, names::WAKE, "wake-up, {ahead} us ahead: {method}{class}{idle}")
    },
    prepare: |_, params| {
        let mut waiting = Waiting::new(params)?;
        let (cpu, ends) = (params.cpu, params.argument("late") == "ends");
        Ok(routine(move |budget: &Budget, sink| {
            let mut watch = if ends { Watch::new(cpu, budget) } else { None };
            let observer = watch.as_mut().map(|watch| watch as &mut dyn Observer);
            let WakeUps { late, cpu, segment } = waiting.wake_ups(observer, budget)?;
            sink.observe(Part::Whole, Observations::Latencies(late), vec![segment]);
            let cpu = Observations::Values(Values { values: vec![cpu], step: 1.0, over: 0 });
            sink.take(1, Part::Whole, cpu, vec![segment]);
            if let Some(met) = watch.and_then(|watch| watch.met) {
                sink.take(2, Part::Whole, Observations::Gaps(met), Vec::new());
            }
            Ok(())
        }))
    },
};

/// What its arguments say about a probe of wake-ups.
fn tune(spec: &mut Spec, arguments: &Arguments) {
    spec.needs = needs(argument(arguments, "method"), argument(arguments, "class"));
    spec.roams = argument(arguments, "class") == "deadline";
}

const ALSO: &[Also] = &[
    Also {
        metric: "timer.wake.{ahead}.{method}{class}{idle}.cpu",
        title: "wake-up, {ahead} us ahead: {method}{class}{idle}, CPU time",
        unit: Unit::Time,
        better: Better::Lower,
        headline: Headline::Median,
    },
    // Observed by the run that met one.
    Also {
        metric: "timer.wake.{ahead}.{method}{class}{idle}.met",
        title: "wake-up, {ahead} us ahead: {method}{class}{idle}, the one that was too late",
        unit: Unit::Time,
        better: Better::Neither,
        headline: Headline::Median,
    },
];

fn argument<'a>(arguments: &'a Arguments, name: &str) -> &'a str {
    arguments.get(name).map_or("", String::as_str)
}

/// System calls of each method under the ordinary scheduler; nothing is claimed of the others.
fn needs(method: &str, class: &str) -> &'static [Syscall] {
    match method {
        _ if class != "plan" => &[],
        "nanosleep" | "nanosleep-relative" | "std" | "sleeper" => &[Syscall::ClockNanosleep],
        "timerfd" => &[Syscall::TimerfdCreate, Syscall::TimerfdSettime],
        "ppoll" => &[Syscall::Ppoll],
        "epoll_pwait2" => &[Syscall::EpollCreate, Syscall::EpollPwait2],
        "futex" => &[Syscall::Futex],
        "posix-signal" => &[Syscall::TimerCreate, Syscall::TimerSettime, Syscall::RtSigtimedwait],
        "posix-thread" => &[
            Syscall::TimerCreate,
            Syscall::TimerSettime,
            Syscall::Futex,
            Syscall::Clone3,
            Syscall::RtSigtimedwait,
        ],
        "io_uring" => &[Syscall::IoUringSetup, Syscall::IoUringEnter],
        _ => &[],
    }
}

/// The scheduling that is asked for.
fn take_place(params: &Params) -> Result<(), Unavailable> {
    let period = Nanos::new(params.number("ahead") as i64 * 400).max(SLICE);
    match params.argument("class") {
        "other" => limits::set_priority(Priority::Other)?,
        "fifo" => limits::set_priority(Priority::Fifo(FIFO))?,
        "deadline" if ["posix-thread", "spin"].contains(&params.argument("method")) => {
            let why = "under SCHED_DEADLINE a thread starts no other, and is stopped where it computes all the time";
            return Err(Unavailable::Missing(why.to_owned()));
        }
        "deadline" => {
            // Only who may run everywhere is admitted.
            limits::pin(&params.allowed)?;
            limits::set_deadline(Nanos::new(period.get() / RESERVED), period)?;
        }
        "slice" if !limits::set_slice(SLICE)? => {
            return Err(Unavailable::Missing("this kernel has no slices (Linux 6.12)".to_owned()));
        }
        _ => {}
    }
    Ok(())
}

/// A way to wait, in its place.
struct Waiting {
    way: WaitMethod,
    /// How far ahead the times are on average, ns.
    ahead: u64,
    /// Keeps the processor from deep idle states while it is there.
    _held: Option<File>,
}

/// Looks at each wait.
trait Observer {
    /// Before it; times are of CLOCK_MONOTONIC, ns.
    fn begin(&mut self, _origin: u64) {}

    /// After it: whether it was the last one.
    fn end(&mut self, target: u64, woke: u64) -> bool;
}

/// Wake-ups of one run.
struct WakeUps {
    late: Vec<Nanos>,
    /// CPU time of one, ns.
    cpu: f64,
    segment: Segment,
}

impl Waiting {
    fn new(params: &Params) -> Result<Self, Unavailable> {
        take_place(params)?;
        let held = if params.argument("idle") == "held" { Some(idle::hold()?) } else { None };
        let mut way = WaitMethod::from_name(params.argument("method"))?;
        way.until(0)?;
        Ok(Self { way, ahead: params.number("ahead") as u64 * 1_000, _held: held })
    }

    fn wake_ups(
        &mut self,
        mut observer: Option<&mut dyn Observer>,
        budget: &Budget,
    ) -> Result<WakeUps, ProbeError> {
        let ahead = self.ahead;
        let expected = budget.time.get() as u64 / ahead.max(1);
        let mut late = Vec::with_capacity(expected as usize + 16);
        let mut meter = SystemMeter::new(&[]);
        let (mut is_last, observed) = (false, WakeUpTable::inherited());
        budget.align();
        let (before, cpu) = (meter.reading(), meter.cpu());
        let origin = monotonic_ns();
        let mut seed = origin;
        let mut next = || {
            // A step of Knuth's generator (MMIX): the times must not beat with the tick.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ahead * 2 / 5 + (seed >> 33) % (ahead * 6 / 5 + 1)
        };
        while !is_last && (monotonic_ns() - origin < budget.time.get() as u64 || late.is_empty()) {
            if let Some(observer) = &mut observer {
                observer.begin(origin);
            }
            let target = monotonic_ns() + next();
            let woke = self.way.until(target);
            let is_interrupted = signal::termination_requested() && !late.is_empty();
            let woke = match woke {
                Err(_) if is_interrupted => break,
                woke => woke?,
            };
            let error = woke as i64 - target as i64;
            // The wait in which the signal came is partly the signal's own: it is kept only where it is what was waited for.
            if is_interrupted && budget.stop.is_none_or(|stop| error <= stop.above.get()) {
                break;
            }
            late.push(Nanos::new(error));
            if let Some(observed) = &observed {
                observed.count(error);
            }
            is_last = observer.as_mut().is_some_and(|observer| observer.end(target, woke));
        }
        let cpu = (meter.cpu().get() - cpu.get()) as f64 / late.len() as f64;
        let wall = Nanos::new((monotonic_ns() - origin) as i64);
        let segment = meter.reading().since(&before, Nanos::ZERO, wall);
        Ok(WakeUps { late, cpu, segment })
    }
}

//! Resolution of a clock as the kernel states it, and the smallest step that was observed.

use crate::routine::{Budget, Sink, routine};
use crate::sys::{CallError, clock};
use crate::{Meter, Probe, Spec, Syscall, SystemMeter};
use tickmark_wire::{Group, Headline, Nanos, Observations, Part};

/// Steps kept of one run; a coarse clock makes far fewer.
const STEPS: usize = 1000;

const fn spec(name: &'static str, title: &'static str, timed: &'static str, weight: u32) -> Spec {
    Spec {
        headline: Headline::Minimum,
        timed,
        weight,
        needs: &[Syscall::ClockGetres, Syscall::ClockGettime],
        source: "clock_getres(2)",
        ..Spec::cost(Group::Clock, name, title)
    }
}

const fn resolution<const ID: i32>(name: &'static str, title: &'static str) -> Probe {
    let spec = spec(name, title, "nothing: the value that clock_getres gives", 1);
    Probe {
        spec,
        prepare: |_, _| {
            let step = clock::resolution(ID)?;
            Ok(routine(move |_, sink| {
                sink.observe(Part::Whole, Observations::Latencies(vec![step]), Vec::new());
                Ok(())
            }))
        },
    }
}

const fn step<const ID: i32>(name: &'static str, title: &'static str) -> Probe {
    let timed = "differences other than zero between readings in a tight loop; the smallest counts";
    Probe {
        spec: spec(name, title, timed, 3),
        prepare: |_, _| {
            clock::read(ID)?;
            Ok(routine(|budget, sink| Ok(steps(ID, budget, sink)?)))
        },
    }
}

fn steps(id: i32, budget: &Budget, sink: &mut dyn Sink) -> Result<(), CallError> {
    // A coarse clock steps once a tick: 50 ms hold several of the slowest, and are a whole segment.
    let until = Nanos::new(tickmark_timer::monotonic_ns() as i64 + budget.time.get().max(50_000_000));
    let mut observed = Vec::with_capacity(STEPS);
    let mut meter = SystemMeter::new(&[]);
    let (before, origin) = (meter.reading(), tickmark_timer::monotonic_ns());
    let mut last = clock::read(id)?;
    while observed.len() < STEPS && (tickmark_timer::monotonic_ns() as i64) < until.get() {
        for _ in 0..64 {
            let now = clock::read(id)?;
            if now != last && observed.len() < STEPS {
                observed.push(Nanos::new(now.get() - last.get()));
            }
            last = now;
        }
    }
    let wall = Nanos::new((tickmark_timer::monotonic_ns() - origin) as i64);
    let segment = meter.reading().since(&before, Nanos::ZERO, wall);
    sink.observe(Part::Whole, Observations::Latencies(observed), vec![segment]);
    Ok(())
}

pub(super) static PROBES: &[Probe] = &[
    resolution::<0>("clock.realtime.resolution", "REALTIME, resolution"),
    step::<0>("clock.realtime.step", "REALTIME, smallest step"),
    resolution::<1>("clock.monotonic.resolution", "MONOTONIC, resolution"),
    step::<1>("clock.monotonic.step", "MONOTONIC, smallest step"),
    resolution::<4>("clock.monotonic_raw.resolution", "MONOTONIC_RAW, resolution"),
    step::<4>("clock.monotonic_raw.step", "MONOTONIC_RAW, smallest step"),
    resolution::<7>("clock.boottime.resolution", "BOOTTIME, resolution"),
    step::<7>("clock.boottime.step", "BOOTTIME, smallest step"),
    resolution::<11>("clock.tai.resolution", "TAI, resolution"),
    step::<11>("clock.tai.step", "TAI, smallest step"),
    resolution::<5>("clock.realtime_coarse.resolution", "REALTIME_COARSE, resolution"),
    step::<5>("clock.realtime_coarse.step", "REALTIME_COARSE, smallest step"),
    resolution::<6>("clock.monotonic_coarse.resolution", "MONOTONIC_COARSE, resolution"),
    step::<6>("clock.monotonic_coarse.step", "MONOTONIC_COARSE, smallest step"),
    resolution::<2>("clock.process_cpu.resolution", "PROCESS_CPUTIME_ID, resolution"),
    step::<2>("clock.process_cpu.step", "PROCESS_CPUTIME_ID, smallest step"),
    resolution::<3>("clock.thread_cpu.resolution", "THREAD_CPUTIME_ID, resolution"),
    step::<3>("clock.thread_cpu.step", "THREAD_CPUTIME_ID, smallest step"),
];

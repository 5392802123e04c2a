//! How late clock_nanosleep wakes.

use crate::routine::{Budget, Sink, routine};
use crate::sys::clock;
use crate::{Meter, Probe, ProbeError, Spec, Syscall, SystemMeter};
use tickmark_wire::{Group, Headline, Nanos, Observations, Part, names};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        headline: Headline::Median,
        sleeps: true,
        timed: "sleep until a time of CLOCK_MONOTONIC 200 to 800 us ahead; how late the next reading \
                of the clock is; every wake-up is kept",
        needs: &[Syscall::ClockNanosleep, Syscall::ClockGettime],
        source: "clock_nanosleep(2); cyclictest of rt-tests",
        weight: 50,
        ..Spec::cost(Group::Timer, names::SLEEP, "clock_nanosleep, wake-up latency")
    },
    prepare: |_, _| {
        clock::sleep_until(Nanos::ZERO)?;
        Ok(routine(wake_ups))
    },
}];

fn wake_ups(budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError> {
    let now = || Nanos::new(tickmark_timer::monotonic_ns() as i64);
    let mut late = Vec::with_capacity(budget.time.get() as usize / 200_000 + 1);
    let mut meter = SystemMeter::new(&[]);
    budget.align();
    let before = meter.reading();
    let origin = now();
    let mut seed = origin.get() as u64;
    let mut ahead = || {
        // A step of Knuth's generator (MMIX): the sleeps must not beat with the tick.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        200_000 + (seed >> 33) as i64 % 600_001
    };
    while now().get() - origin.get() < budget.time.get() {
        let target = Nanos::new(now().get() + ahead());
        clock::sleep_until(target)?;
        late.push(Nanos::new(now().get() - target.get()));
    }
    let wall = Nanos::new(now().get() - origin.get());
    let segment = meter.reading().since(&before, Nanos::ZERO, wall);
    sink.observe(Part::Whole, Observations::Latencies(late), vec![segment]);
    Ok(())
}

//! The tick's loop while the kernel's tracepoints say what it runs on the CPU. No suite has it, as it has to be told for how long.

use super::{Spun, spin};
use crate::case::Parameter;
use crate::clock::{Clock, Counter, Monotonic};
use crate::routine::{Budget, Sink, routine};
use crate::sys::tracepoints::{SWITCH, Tracepoints, available};
use crate::{Expected, Meter, Probe, ProbeError, Spec, SystemMeter, Unavailable};
use std::fs::File;
use std::os::unix::fs::FileExt;
use tickmark_wire::{GapTrace, Group, Headline, KernelEvents, Nanos, Observations, Part, names};

/// MSR_SMI_COUNT.
const SMI_COUNT: u64 = 0x34;
const TIME: Parameter = Parameter::number("ms", "how long it watches", 100, 10_000);

pub(super) const WITNESS: Probe = Probe {
    spec: Spec {
        headline: Headline::TickTrain,
        timed: "the tick's loop, with the kernel's tracepoints of interrupts, soft interrupts, timers, tasks and work recorded on its CPU",
        source: "Documentation/trace/tracepoints.rst, perf_event_open(2)",
        expected: Expected::UNKNOWN,
        // Its time is told, and is none of the others'.
        weight: 0,
        parameters: &[TIME],
        ..Spec::cost(Group::Tick, names::WITNESS, "the tick, with the kernel's events recorded")
    },
    prepare: |_, params| {
        let (cpu, time) = (params.cpu, Nanos::from_millis(params.number("ms") as i32));
        available("tick").map_err(Unavailable::Missing)?;
        Ok(routine(move |budget, sink| {
            let budget = Budget { time, ..*budget };
            if budget.gauge.counts() {
                watch(Counter, libc::CLOCK_MONOTONIC_RAW, &budget, cpu, sink)
            } else {
                watch(Monotonic, libc::CLOCK_MONOTONIC, &budget, cpu, sink)
            }
        }))
    },
};

/// A clock whose loop asks the kernel nothing between two readings: events tell what ran, and what runs meanwhile would be missed.
#[derive(Clone, Copy)]
struct Silent<C>(C);

impl<C: Clock> Clock for Silent<C> {
    const ASKS: bool = false;

    #[inline(always)]
    fn now(self) -> u64 {
        self.0.now()
    }
}

fn watch<C: Clock>(
    clock: C,
    stamps: libc::clockid_t,
    budget: &Budget,
    cpu: u32,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let mut events = Tracepoints::open(cpu, budget.time, stamps)?;
    let scale = budget.gauge.scale;
    let cost = events.cost(|| Nanos::new(scale.nanos(clock.now()) as i64))?;
    let mut meter = SystemMeter::new(&[]);
    let before = meter.reading();
    let first = pair(clock, &events);
    let mut switched = Ok(());
    let managed = management_interrupts(cpu);
    let Spun { mut trace, origin, scale } =
        spin(Silent(clock), budget, (cpu, super::MOST), false, &mut |begins| {
            let done = if begins { events.begin() } else { events.end() };
            switched = switched.and(done);
        });
    let last = pair(clock, &events);
    let management =
        management_interrupts(cpu).zip(managed).map(|(after, before)| u64::from(after.wrapping_sub(before)));
    switched?;
    let segment = meter.reading().since(&before, Nanos::ZERO, trace.span);
    let rate = (last.1 - first.1) as f64 / (last.0 - first.0).max(1) as f64;
    let axis = |stamp: i64| {
        let ticks = (first.1 as i64 - origin as i64) as f64 + (stamp - first.0) as f64 * rate;
        Nanos::new((ticks * 1e9 / scale.frequency()).round() as i64)
    };
    let clock = if stamps == libc::CLOCK_MONOTONIC_RAW { "CLOCK_MONOTONIC_RAW" } else { "CLOCK_MONOTONIC" }
        .to_owned();
    let origin = Nanos::new(first.0 + ((origin as i64 - first.1 as i64) as f64 / rate).round() as i64);
    let events = KernelEvents { cost: Some(cost), clock, origin, management, ..events.take(axis)? };
    trace.preempted = preempted(&trace, &events);
    trace.events = Some(Box::new(events));
    sink.observe(Part::Whole, Observations::Gaps(trace), vec![segment]);
    Ok(())
}

/// Gaps in which the kernel switched tasks, or may have as events were dropped; none where it refused to say.
fn preempted(trace: &GapTrace, events: &KernelEvents) -> Option<Vec<u32>> {
    let switch = events.tracepoints.iter().position(|name| name == SWITCH)? as u32;
    let all = events.time.iter().zip(&events.tracepoint);
    let switches: Vec<Nanos> =
        all.filter(|(_, tracepoint)| **tracepoint == switch).map(|(time, _)| *time).collect();
    let known = events.time.last().filter(|_| events.dropped > 0);
    let has_switch = |start: Nanos, length: Nanos| {
        if known.is_some_and(|known| start > *known) {
            return true;
        }
        let first = switches.partition_point(|time| *time < start);
        switches.get(first).is_some_and(|time| time.get() <= start.get().saturating_add(length.get()))
    };
    let gaps = trace.start.iter().zip(&trace.length).zip(0..);
    Some(gaps.filter(|((start, length), _)| has_switch(**start, **length)).map(|(_, gap)| gap).collect())
}

/// System management interrupts of a CPU so far: MSR_SMI_COUNT (Intel's manual, volume 4, register 34h), through msr(4).
fn management_interrupts(cpu: u32) -> Option<u32> {
    let file = File::open(format!("/dev/cpu/{cpu}/msr")).ok()?;
    let mut count = [0u8; 8];
    file.read_exact_at(&mut count, SMI_COUNT).ok()?;
    Some(u64::from_le_bytes(count) as u32)
}

/// The same moment on the clock of the events and on that of the loop: of several tries the one between whose readings least time passed.
fn pair<C: Clock>(clock: C, events: &Tracepoints) -> (i64, u64) {
    let once = |_| {
        let before = clock.now();
        let stamp = events.now();
        let width = clock.now() - before;
        (width, (stamp, before + width / 2))
    };
    (0..64).map(once).min_by_key(|(width, _)| *width).map_or((0, 0), |(_, pair)| pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_task_had_a_gap_in_which_the_kernel_switched() {
        let nanos = |all: &[i64]| all.iter().copied().map(Nanos::new).collect::<Vec<_>>();
        let trace =
            GapTrace { start: nanos(&[100, 300, 500]), length: nanos(&[50, 50, 50]), ..GapTrace::default() };
        // A switch before all, an interrupt in the first gap, two switches in the second, one at the end of the third.
        let events = KernelEvents {
            tracepoints: vec!["irq_vectors/local_timer_entry".to_owned(), SWITCH.to_owned()],
            time: nanos(&[10, 120, 310, 340, 550]),
            tracepoint: vec![1, 0, 1, 1, 1],
            ..KernelEvents::default()
        };
        assert_eq!(preempted(&trace, &events), Some(vec![1, 2]));
        let dropped =
            KernelEvents { time: nanos(&[10, 120, 310]), tracepoint: vec![0; 3], dropped: 2, ..events };
        assert_eq!(preempted(&trace, &dropped), Some(vec![2]));
        // A kernel that does not say is not known to have switched none.
        assert_eq!(preempted(&trace, &KernelEvents::default()), None);
    }
}

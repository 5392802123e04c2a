//! Whether CLOCK_MONOTONIC is the same clock on two CPUs: a reading is passed to a thread on another
//! CPU and one is passed back.

use crate::routine::{Budget, routine};
use crate::sys::{CallError, clock, limits};
use crate::{Meter, Probe, ProbeError, Spec, Syscall, SystemMeter, Unavailable};
use std::sync::atomic::{AtomicI64, Ordering};
use tickmark_wire::{Exchange, Group, Headline, Nanos, Observations, Part, Segment, names};

/// Other CPUs that are visited, spread over those allowed.
const PARTNERS: usize = 8;
/// Exchanges kept with each.
const EXCHANGES: usize = 2000;
/// A message that no reading is.
const NOTHING: i64 = i64::MIN;
const STOP: i64 = i64::MIN + 1;

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        headline: Headline::Offset,
        // It waits for its partner to start and to end.
        sleeps: true,
        timed: "read on this CPU, pass through memory, read on another CPU, pass back, read here; \
                the offset is half the difference of the fastest ways there and back",
        needs: &[Syscall::ClockGettime, Syscall::SchedSetaffinity, Syscall::Clone3, Syscall::Futex],
        source: "Cristian, Probabilistic clock synchronization, 1989",
        ..Spec::cost(Group::Clock, names::BETWEEN_CPUS, "MONOTONIC between CPUs")
    },
    prepare: |_, params| {
        let here = params.cpu;
        let others: Vec<u32> = params.allowed.iter().copied().filter(|cpu| *cpu != here).collect();
        if others.is_empty() {
            return Err(Unavailable::Missing("only one CPU is allowed".to_owned()));
        }
        let stride = others.len().div_ceil(PARTNERS);
        let partners: Vec<u32> = others.into_iter().step_by(stride).collect();
        Ok(routine(move |budget, sink| {
            let share = budget.share(1, partners.len() as i64);
            let mut meter = SystemMeter::new(&[]);
            let (before, origin) = (meter.reading(), tickmark_timer::monotonic_ns());
            // A partner that other tasks keep from its CPU gets some slices of time to come back, all of them together less than the
            // run's limit, which is 3 s at least.
            let deadline = origin as i64 + 4 * budget.time.get() + 2_000_000_000;
            let observed: Result<Vec<_>, _> =
                partners.iter().map(|cpu| exchange(*cpu, &share, deadline)).collect();
            let wall = Nanos::new((tickmark_timer::monotonic_ns() - origin) as i64);
            let segment = meter.reading().since(&before, Nanos::ZERO, wall);
            // The partner's time was spent on another CPU: it says nothing of this one.
            let segment = Segment { others_cpu: Nanos::ZERO, ..segment };
            sink.observe(Part::Whole, Observations::Exchanges(observed?), vec![segment]);
            Ok(())
        }))
    },
}];

/// One word each way, each on a cache line of its own.
#[repr(align(128))]
struct Mailbox(AtomicI64);

impl Mailbox {
    /// Waits for a message and takes it out; none at the deadline.
    fn take(&self, deadline: i64) -> Option<i64> {
        for spins in 1u64.. {
            let message = self.0.load(Ordering::Acquire);
            if message != NOTHING {
                self.0.store(NOTHING, Ordering::Relaxed);
                return Some(message);
            }
            if spins.is_multiple_of(4096) && tickmark_timer::monotonic_ns() as i64 > deadline {
                return None;
            }
            std::hint::spin_loop();
        }
        None
    }

    fn put(&self, message: i64) {
        self.0.store(message, Ordering::Release);
    }
}

fn exchange(cpu: u32, budget: &Budget, deadline: i64) -> Result<Exchange, ProbeError> {
    let now = tickmark_timer::monotonic_ns() as i64;
    let until = now + budget.time.get();
    let (there, back) = (Mailbox(AtomicI64::new(NOTHING)), Mailbox(AtomicI64::new(NOTHING)));
    let mut observed = Exchange { cpu, out: Vec::new(), back: Vec::new() };
    std::thread::scope(|scope| -> Result<(), CallError> {
        let (there, back) = (&there, &back);
        let answers = move || -> Result<(), CallError> {
            limits::pin(&[cpu])?;
            while there.take(deadline).is_some_and(|message| message != STOP) {
                back.put(clock::read(libc::CLOCK_MONOTONIC)?.get());
            }
            Ok(())
        };
        let partner = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Nobody waits for a partner that has ended.
            answers().inspect_err(|_| back.put(STOP))
        });
        let partner =
            partner.map_err(|e| CallError::from_io("pthread_create (mmap, mprotect or clone3)", &e))?;
        // One at least: on a busy machine the time may be over before the partner is there.
        while observed.out.len() < EXCHANGES
            && (observed.out.is_empty() || (tickmark_timer::monotonic_ns() as i64) < until)
        {
            let before = clock::read(libc::CLOCK_MONOTONIC)?.get();
            there.put(before);
            let Some(theirs) = back.take(deadline).filter(|message| *message != STOP) else { break };
            let after = clock::read(libc::CLOCK_MONOTONIC)?.get();
            observed.out.push(Nanos::new(theirs - before));
            observed.back.push(Nanos::new(after - theirs));
        }
        there.put(STOP);
        partner.join().unwrap_or(Ok(()))
    })?;
    if observed.out.is_empty() {
        return Err(ProbeError::Other(format!("CPU {cpu} did not answer in time")));
    }
    Ok(observed)
}

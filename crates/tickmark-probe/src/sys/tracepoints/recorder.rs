//! What had several CPUs while something else was done: their tracepoints, without a loop on them.

use super::Tracepoints;
use crate::sys::{CallError, clock, limits};
use tickmark_wire::{EventCost, GapTrace, KernelEvents, Nanos};

/// Records of some CPUs at the same time.
#[derive(Debug)]
pub struct Recorder {
    all: Vec<(u32, Tracepoints)>,
    cost: EventCost,
    origin: Nanos,
    span: Nanos,
}

/// CPUs that have room for as much as the time asks for, together: of more each has less.
const ROOM: i64 = 4;

impl Recorder {
    /// Opens the tracepoints of these CPUs, for events of so long a time. This thread is on each of them for a moment, and may run on any
    /// of them afterwards.
    ///
    /// # Errors
    /// Those of [`Tracepoints::open`], and of sched_setaffinity(2).
    pub fn open(cpus: &[u32], time: Nanos) -> Result<Self, CallError> {
        limits::many_files();
        let time = Nanos::new(time.get() * ROOM / ROOM.max(cpus.len() as i64));
        let open = |cpu: &u32| {
            limits::pin(&[*cpu])?;
            Ok((*cpu, Tracepoints::open_for(*cpu, time, libc::CLOCK_MONOTONIC, false)?))
        };
        let opened: Result<Vec<_>, CallError> = cpus.iter().map(open).collect();
        // On the last of them.
        let measured = opened.and_then(|mut all| {
            let now = || clock::read(libc::CLOCK_MONOTONIC).unwrap_or_default();
            let cost = all.last_mut().map(|(_, events)| events.cost(now)).transpose()?.unwrap_or_default();
            Ok(Self { all, cost, origin: Nanos::ZERO, span: Nanos::ZERO })
        });
        limits::pin(cpus)?;
        measured
    }

    /// From now on events are kept.
    ///
    /// # Errors
    /// Those of ioctl(2) and clock_gettime(2).
    pub fn begin(&mut self) -> Result<(), CallError> {
        // Each is switched on by an interrupt of its CPU: that is none of what is looked at, and comes before it.
        self.all.iter().try_for_each(|(_, events)| events.begin())?;
        self.origin = clock::read(libc::CLOCK_MONOTONIC)?;
        Ok(())
    }

    /// And no more.
    ///
    /// # Errors
    /// Those of ioctl(2) and clock_gettime(2).
    pub fn end(&mut self) -> Result<(), CallError> {
        self.span = Nanos::new(clock::read(libc::CLOCK_MONOTONIC)?.get() - self.origin.get());
        self.all.iter().try_for_each(|(_, events)| events.end())
    }

    /// A trace without gaps for each CPU. That takes time: nothing is to be measured meanwhile.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn traces(self) -> Result<Vec<GapTrace>, CallError> {
        let (origin, span, cost) = (self.origin.get(), self.span, self.cost);
        let one = |(cpu, events): (u32, Tracepoints)| {
            let events = events.take(|stamp| Nanos::new(stamp - origin))?;
            let clock = "CLOCK_MONOTONIC".to_owned();
            let (origin, cost) = (Nanos::new(origin), Some(cost.clone()));
            let events = KernelEvents { cpu: Some(cpu), clock, origin, cost, ..events };
            Ok(GapTrace { span, events: Some(Box::new(events)), ..GapTrace::default() })
        };
        self.all.into_iter().map(one).collect()
    }
}

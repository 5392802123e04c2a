//! A wake-up that is later than a threshold: the kernel's tracer is stopped, and what ran meanwhile is asked for.

use super::Observer;
use crate::routine::Budget;
use crate::sys::counters::Counters;
use crate::sys::{running, signal};
use std::fs::File;
use std::io::Write;
use tickmark_wire::shared::TRACING;
use tickmark_wire::{Counted, GapTrace, Nanos};

/// Counters that are read before each sleep, and again after the one that is too late.
pub(super) struct Watch {
    cpu: u32,
    above: i64,
    tracer: Option<File>,
    counters: Option<Counters>,
    /// When the run began, ns of CLOCK_MONOTONIC.
    origin: u64,
    /// The one that was too late.
    pub(super) met: Option<GapTrace>,
}

impl Watch {
    /// For wake-ups of this CPU; none where the plan has no threshold.
    pub(super) fn new(cpu: u32, budget: &Budget) -> Option<Self> {
        let stop = budget.stop?;
        // What was seen until then is kept; where the handler is refused, it is lost.
        let _ = signal::handle_termination();
        let tracer = stop.tracing.then(|| File::options().write(true).open(TRACING).ok()).flatten();
        let counters = Counters::open(cpu);
        Some(Self { cpu, above: stop.above.get(), tracer, counters, origin: 0, met: None })
    }

    /// After a sleep whose time was `target`, in ns from the beginning, and that ended `late`: where that is too late, what ran and was
    /// counted meanwhile. Tasks are those that ran since the time; the kernel's counters have moved since the sleep began.
    fn look(&mut self, target: u64, late: i64) -> Option<GapTrace> {
        if late <= self.above {
            return None;
        }
        // First of all: what comes after pushes what came before out of the trace.
        if let Some(tracer) = &mut self.tracer {
            let _ = tracer.write_all(b"0");
        }
        let moment = running::moment();
        let mut moved = Vec::new();
        let known = |counters: &mut Counters| {
            counters.read(|counter, more| moved.push((counter, more))).then(|| counters.names().to_vec())
        };
        let mut names = self.counters.as_mut().and_then(known).unwrap_or_default();
        let counted = moved.iter().filter(|(counter, _)| *counter < names.len());
        let mut counted: Vec<(u32, u32)> = counted
            .map(|(counter, more)| (*counter as u32, u32::try_from(*more).unwrap_or(u32::MAX)))
            .collect();
        for task in
            moment.map(|moment| running::ran_before(moment, self.cpu, late as u64)).into_iter().flatten()
        {
            counted.push((names.len() as u32, 1));
            let again = if task.again { ", and after it" } else { "" };
            names.push(format!("{}{} ({}){again}", Counted::TASK, task.name, task.id));
        }
        Some(GapTrace {
            threshold: Nanos::new(self.above),
            span: Nanos::new(target as i64 + late),
            timer_interrupts: None,
            start: vec![Nanos::new(target as i64)],
            length: vec![Nanos::new(late)],
            preempted: None,
            counted: Some(Box::new(Counted {
                names,
                gap: vec![0],
                took: vec![Nanos::ZERO],
                away: Vec::new(),
                absent: vec![Nanos::ZERO],
                reading: vec![0; counted.len()],
                counter: counted.iter().map(|(counter, _)| *counter).collect(),
                more: counted.iter().map(|(_, more)| *more).collect(),
            })),
            events: None,
        })
    }
}

impl Observer for Watch {
    fn begin(&mut self, origin: u64) {
        self.origin = origin;
        // What was counted so far is none of its.
        if let Some(counters) = &mut self.counters {
            counters.read(|_, _| ());
        }
    }

    fn end(&mut self, target: u64, woke: u64) -> bool {
        self.met = self.look(target - self.origin, woke as i64 - target as i64);
        self.met.is_some()
    }
}

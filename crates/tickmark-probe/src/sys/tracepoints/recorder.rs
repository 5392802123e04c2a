//! What had several CPUs while something else was done: their tracepoints, without a loop on them.

use super::Tracepoints;
use crate::sys::{CallError, clock, limits};
use std::collections::BTreeMap;
use tickmark_wire::{EventCost, EventSubject, GapTrace, KernelEvents, Nanos};

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
        let mut traces: Vec<GapTrace> = self.all.into_iter().map(one).collect::<Result<_, CallError>>()?;
        name_alike(traces.iter_mut().filter_map(|trace| trace.events.as_deref_mut()).collect());
        Ok(traces)
    }
}

/// Gives a task the same name on each CPU, the last one: it may have left one before it executed a program on another.
fn name_alike(mut all: Vec<&mut KernelEvents>) {
    let mut latest: BTreeMap<u32, (Nanos, String)> = BTreeMap::new();
    for events in &all {
        for (subject, time) in tasks(events) {
            let Some(EventSubject { id: Some(id), name, .. }) = events.subjects.get(subject as usize) else {
                continue;
            };
            let known = latest.entry(*id).or_insert_with(|| (time, name.clone()));
            if known.0 <= time && !name.is_empty() {
                *known = (time, name.clone());
            }
        }
    }
    for events in &mut all {
        let own: Vec<u32> = tasks(events).into_keys().collect();
        for subject in own {
            let subject = &mut events.subjects[subject as usize];
            if let Some((_, name)) = subject.id.and_then(|id| latest.get(&id)) {
                subject.name.clone_from(name);
            }
        }
    }
}

/// Subjects that are tasks, and when each was switched to or named for the last time.
fn tasks(events: &KernelEvents) -> BTreeMap<u32, Nanos> {
    let is_task = |tracepoint: u32| {
        let name = events.tracepoints.get(tracepoint as usize).map(String::as_str);
        matches!(name, Some("sched/sched_switch" | "task/task_rename"))
    };
    let columns = events.tracepoint.iter().zip(&events.subject).zip(&events.time);
    columns
        .filter(|((tracepoint, _), _)| is_task(**tracepoint))
        .map(|((_, subject), time)| (*subject, *time))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_its_last_name_on_every_cpu() {
        let on = |name: &str, time: i64| KernelEvents {
            tracepoints: vec!["sched/sched_switch".to_owned(), "irq/irq_handler_entry".to_owned()],
            subjects: vec![
                EventSubject { name: name.to_owned(), id: Some(7), ..EventSubject::default() },
                EventSubject { name: "disk".to_owned(), id: Some(7), ..EventSubject::default() },
            ],
            time: vec![Nanos::new(time); 2],
            tracepoint: vec![0, 1],
            subject: vec![0, 1],
            ..KernelEvents::default()
        };
        let (mut first, mut second) = (on("sh", 10), on("tar", 20));
        name_alike(vec![&mut first, &mut second]);
        let names =
            |events: &KernelEvents| events.subjects.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&first), names(&second)), (names(&on("tar", 0)), names(&on("tar", 0))));
    }
}

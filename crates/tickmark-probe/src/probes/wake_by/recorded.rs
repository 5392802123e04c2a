//! Wake-ups while the kernel's tracepoints say what their CPU does: the latest are kept, each with the events of its wait.

use super::{AHEAD, CLASS, HELD, METHOD, Observer, Waiting, WakeUps, tune};
use crate::case::Parameter;
use crate::routine::{Budget, routine};
use crate::sys::tracepoints::{Batch, Subjects, Tracepoints, available};
use crate::sys::{CallError, host, limits};
use crate::{Expected, Params, Probe, ProbeError, Spec, Unavailable};
use std::collections::BTreeMap;
use tickmark_wire::{
    Better, GapTrace, Group, Headline, KernelEvents, Nanos, Observations, Part, Unit, names,
};

/// Late wake-ups that are kept.
const KEPT: usize = 200;
const TIME: Parameter = Parameter::number("ms", "how long it watches", 100, 60_000);
/// Calls whose timers the kernel may let expire later, by the slack of the thread (prctl(2), PR_SET_TIMERSLACK).
const SLACK: [&str; 6] = ["nanosleep", "nanosleep-relative", "ppoll", "epoll_pwait2", "futex", "std"];

pub(super) const RECORDED: Probe = Probe {
    spec: Spec {
        headline: Headline::Median,
        sleeps: true,
        timed: "wait as the probe of wake-ups does, with the kernel's tracepoints of interrupts, timers, tasks and work recorded on its \
                CPU; the 200 latest are kept with the events of their waits",
        source: "Documentation/trace/tracepoints.rst, perf_event_open(2); the automatic analysis of rtla-timerlat(1)",
        expected: Expected::UNKNOWN,
        // Its time is told, and is none of the others'.
        weight: 0,
        parameters: &[METHOD, CLASS, HELD, AHEAD, TIME],
        tune,
        also: &[crate::spec::Also {
            metric: names::LATE_WAKE,
            title: "the latest of them, with the kernel's events",
            unit: Unit::Time,
            better: Better::Neither,
            headline: Headline::Median,
        }],
        ..Spec::cost(
            Group::Timer,
            names::RECORDED_WAKE,
            "wake-up recorded, {ahead} us ahead: {method}{class}{idle}",
        )
    },
    prepare: |_, params| {
        let cpu = params.cpu;
        available("timers").map_err(Unavailable::Missing)?;
        let mut waiting = Waiting::new(params)?;
        let (time, slack) = (Nanos::from_millis(params.number("ms") as i32), slack(params));
        Ok(routine(move |budget, sink| {
            let budget = Budget { time, ..*budget };
            let mut recorder = Recorder::new(cpu, waiting.ahead)?;
            let made = waiting.wake_ups(Some(&mut recorder), &budget);
            recorder.events.end()?;
            recorder.begun?;
            let WakeUps { late, segment, .. } = made?;
            sink.observe(Part::Whole, Observations::Latencies(late), vec![segment]);
            sink.take(1, Part::Whole, Observations::Gaps(recorder.finish(slack)), vec![segment]);
            Ok(())
        }))
    },
};

/// How much later the kernel may end each wait.
fn slack(params: &Params) -> Nanos {
    let has_slack = SLACK.contains(&params.argument("method")) && !limits::is_real_time();
    Nanos::new(if has_slack { i64::from(host::slack()).max(0) } else { 0 })
}

/// The latest waits so far.
struct Recorder {
    events: Tracepoints,
    subjects: Subjects,
    /// When the run began, ns of CLOCK_MONOTONIC; none before it.
    origin: Option<u64>,
    begun: Result<(), CallError>,
    /// By how late it was and by its number: when its time was, in ns from the beginning, and the events.
    kept: BTreeMap<(i64, usize), (Nanos, Batch)>,
    number: usize,
    /// Events that the kernel could not write.
    lost: u64,
}

impl Recorder {
    /// For waits of `ahead` ns on average, after each of which the records are taken.
    fn new(cpu: u32, ahead: u64) -> Result<Self, ProbeError> {
        let time = Nanos::new(2 * ahead as i64);
        let events = Tracepoints::open(cpu, time, libc::CLOCK_MONOTONIC)?;
        let (subjects, kept) = (Subjects::default(), BTreeMap::new());
        Ok(Self { events, subjects, origin: None, begun: Ok(()), kept, number: 0, lost: 0 })
    }

    fn finish(self, slack: Nanos) -> GapTrace {
        let origin = Nanos::new(self.origin.unwrap_or(0) as i64);
        let span = Nanos::new(tickmark_timer::monotonic_ns() as i64 - origin.get());
        let threshold = self.kept.keys().next().map_or(0, |(late, _)| *late);
        let mut kept: Vec<_> = self
            .kept
            .into_iter()
            .map(|((late, _), (target, batch))| (target, Nanos::new(late), batch))
            .collect();
        kept.sort_by_key(|(target, ..)| *target);
        let (start, length) = kept.iter().map(|(target, late, _)| (*target, *late)).collect();
        let events = self.events.columns(self.subjects, kept.into_iter().map(|(.., batch)| batch));
        let (slack, armed, dropped) = (Some(slack), Vec::new(), self.lost);
        let clock = "CLOCK_MONOTONIC".to_owned();
        GapTrace {
            threshold: Nanos::new(threshold),
            span,
            start,
            length,
            events: Some(Box::new(KernelEvents { clock, origin, slack, armed, dropped, ..events })),
            ..GapTrace::default()
        }
    }
}

impl Observer for Recorder {
    fn begin(&mut self, origin: u64) {
        if self.origin.is_none() {
            self.origin = Some(origin);
            self.begun = self.events.begin();
        }
    }

    fn end(&mut self, target: u64, woke: u64) -> bool {
        let origin = self.origin.unwrap_or(0);
        let late = woke as i64 - target as i64;
        self.number += 1;
        let is_late =
            self.kept.len() < KEPT || self.kept.keys().next().is_some_and(|(least, _)| late > *least);
        let lost = if late > 0 && is_late {
            let mut batch = self.events.drain(&mut self.subjects, |stamp| Nanos::new(stamp - origin as i64));
            batch.cut(Nanos::new((target - origin) as i64), Nanos::new((woke - origin) as i64));
            let lost = batch.lost();
            self.kept.insert((late, self.number), (Nanos::new((target - origin) as i64), batch));
            if self.kept.len() > KEPT {
                self.kept.pop_first();
            }
            lost
        } else {
            self.events.discard()
        };
        self.lost += lost;
        if lost > 0 {
            // The kernel says so with the first record that it can write again: the wait before may be the one that has lost some.
            let both = [self.number - 1, self.number];
            let damaged = self.kept.iter_mut().filter(|((_, number), _)| both.contains(number));
            damaged.for_each(|(_, (_, batch))| batch.forget());
        }
        false
    }
}

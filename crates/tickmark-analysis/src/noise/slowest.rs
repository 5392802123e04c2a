//! What had the server's CPU while the slowest requests waited for their answers, and what the tail would be without it.

use super::cause::Cause;
use super::late::{Quantile, WITHOUT, quantile};
use super::occupancy::{is_nobodys, is_whole};
use super::slices::{Walk, known_until};
use std::collections::{BTreeMap, BTreeSet};
use tickmark_store::{Recording, Status};
use tickmark_wire::{GapTrace, Histogram, Metric, Observations};

const CONFIDENCE: f64 = 0.95;
/// A request waited for a cause if that had so much of its time.
const PART: f64 = 0.1;
/// Causes without which the tail is told.
const CAUSES: usize = 8;

/// The slowest requests of a load; times in ns.
#[derive(Debug)]
pub struct Slowest {
    /// Requests in all, and of them the slowest that were kept.
    pub requests: usize,
    /// Those that were kept.
    pub kept: usize,
    /// How long the others took at most.
    pub above: f64,
    /// [`WITHOUT`] of all requests, with the events recorded.
    pub quantiles: [Option<Quantile>; WITHOUT.len()],
    /// By what had the CPU of the server meanwhile, the most frequent first.
    pub groups: Vec<SlowestGroup>,
    /// Of those that were kept, how many waited for none of them.
    pub unexplained: usize,
    /// And of how many that is not known, as events were dropped before they ended: what the tail would be is not told then.
    pub unknown: usize,
    /// Events that are missing.
    pub dropped: u64,
}

/// Requests during which a cause had the CPU of the server.
#[derive(Debug)]
pub struct SlowestGroup {
    /// The cause, of the slowest of them.
    pub cause: Cause,
    /// How many tasks of that name, for tasks.
    pub tasks: usize,
    /// How many requests lost more to it than to any other, and a tenth of their time at least.
    pub count: usize,
    /// The longest time that it had in one of them.
    pub longest: f64,
    /// [`WITHOUT`] of all requests, each less its time of this cause.
    pub without: [Option<Quantile>; WITHOUT.len()],
}

/// A request: how long it took, and what of that each cause had, by its label; none where that is not known.
struct SlowRequest {
    length: f64,
    lost: Option<Vec<(String, f64)>>,
}

/// When a cause had the CPU: its parts in the order of time, with how much it had before each.
#[derive(Default)]
struct Had {
    cause: Option<Cause>,
    tasks: BTreeSet<Cause>,
    parts: Vec<(f64, f64, f64)>,
    total: f64,
}

impl Had {
    fn add(&mut self, cause: Cause, from: f64, length: f64) {
        self.cause.get_or_insert_with(|| cause.clone());
        self.tasks.insert(cause);
        self.parts.push((from, length, self.total));
        self.total += length;
    }

    /// How much it had until a time.
    fn until(&self, time: f64) -> f64 {
        let next = self.parts.partition_point(|(from, ..)| *from < time);
        let last = next.checked_sub(1).map(|at| self.parts[at]);
        last.map_or(0.0, |(from, length, before)| before + length.min(time - from))
    }
}

/// Of the load whose recorded runs have a metric; none where none was planned, else the reason why there is nothing.
#[must_use]
pub fn summarize_slowest(recording: &Recording, metric: &str) -> Option<Result<Slowest, String>> {
    let find = |end: &str| {
        let name = format!("{metric}.recorded{end}");
        recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name)
    };
    let (times, slowest) = (find(".latency")?, find(".slowest")?);
    let (mut read, mut why) = (Vec::new(), None);
    for run in recording.runs.iter().filter(|run| run.planned.gives(&slowest.name)) {
        let first = |metric: &Metric| {
            recording.observed(run, &metric.name).into_iter().flatten().next().map(|one| one.observations)
        };
        match (&run.status, first(times), first(slowest)) {
            (Status::Ok, Some(Observations::Histogram(times)), Some(Observations::Gaps(trace))) => {
                read.extend(SlowRun::from_trace(&times, &trace));
            }
            (status, ..) => why = why.or_else(|| status.reason().map(ToString::to_string)),
        }
    }
    let none = || why.unwrap_or_else(|| "no run of it was made, or its recording is damaged".to_owned());
    Some(if read.is_empty() { Err(none()) } else { Ok(joined(read)) })
}

struct SlowRun {
    requests: usize,
    above: f64,
    slow: Vec<SlowRequest>,
    causes: BTreeMap<String, (Option<Cause>, BTreeSet<Cause>)>,
    dropped: u64,
}

impl SlowRun {
    /// None where it is damaged.
    fn from_trace(times: &Histogram, trace: &GapTrace) -> Option<Self> {
        let events = trace.events.as_deref()?;
        if !is_whole(events) || trace.start.len() != trace.length.len() || trace.span.get() <= 0 {
            return None;
        }
        let mut had: BTreeMap<String, Had> = BTreeMap::new();
        for (cause, from, length) in Walk::parts(events, events.cpu?, trace.span.as_f64()) {
            if !is_nobodys(&cause) {
                had.entry(label(&cause)).or_default().add(cause, from, length);
            }
        }
        let known = known_until(events);
        let request = |(start, length): (f64, f64)| {
            let lost = had.iter().map(|(label, own)| (label, own.until(start + length) - own.until(start)));
            let lost =
                lost.filter(|(_, lost)| *lost > 0.0).map(|(label, lost)| (label.clone(), lost)).collect();
            SlowRequest { length, lost: (start + length <= known).then_some(lost) }
        };
        let columns = trace.start.iter().zip(&trace.length);
        let slow: Vec<SlowRequest> =
            columns.map(|(start, length)| (start.as_f64(), length.as_f64())).map(request).collect();
        let (above, requests) = (trace.threshold.as_f64(), (times.total() as usize).max(slow.len()));
        let causes = had.into_iter().map(|(label, own)| (label, (own.cause, own.tasks))).collect();
        Some(Self { requests, above, slow, causes, dropped: events.dropped })
    }
}

/// Tasks of one name are one.
fn label(cause: &Cause) -> String {
    match cause {
        Cause::Task { name, .. } => name.clone(),
        other => other.words(),
    }
}

fn joined(runs: Vec<SlowRun>) -> Slowest {
    let above = runs.iter().map(|run| run.above).fold(0.0, f64::max);
    let (requests, dropped) =
        runs.iter().fold((0, 0), |sum, run| (sum.0 + run.requests, run.dropped.saturating_add(sum.1)));
    let (mut slow, mut causes) = (Vec::new(), BTreeMap::new());
    for run in runs {
        slow.extend(run.slow.into_iter().filter(|request| request.length >= above));
        causes.extend(run.causes);
    }
    let tail = |length: &dyn Fn(&SlowRequest) -> f64| {
        let mut all: Vec<f64> = slow.iter().map(length).collect();
        all.sort_unstable_by(f64::total_cmp);
        WITHOUT.map(|q| quantile(&all, requests, above, q, CONFIDENCE))
    };
    let reason = |request: &SlowRequest| {
        let most = request.lost.iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (most.1 > PART * request.length).then(|| most.0.clone())
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for label in slow.iter().filter_map(reason) {
        *counts.entry(label).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let unknown = slow.iter().filter(|request| request.lost.is_none()).count();
    let explained: usize = counts.iter().map(|(_, count)| count).sum();
    let group = |(number, (label, count)): (usize, (String, usize))| {
        let own = |request: &SlowRequest| {
            request.lost.iter().flatten().find(|(own, _)| *own == label).map_or(0.0, |(_, lost)| *lost)
        };
        let (cause, tasks) = causes.get(&label)?;
        Some(SlowestGroup {
            cause: cause.clone()?,
            tasks: tasks.len(),
            count,
            longest: slow.iter().map(own).fold(0.0, f64::max),
            without: if number < CAUSES && unknown == 0 {
                tail(&|request| request.length - own(request))
            } else {
                [None; WITHOUT.len()]
            },
        })
    };
    Slowest {
        requests,
        kept: slow.len(),
        above,
        quantiles: tail(&|request| request.length),
        groups: counts.into_iter().enumerate().filter_map(group).collect(),
        unexplained: slow.len() - explained - unknown,
        unknown,
        dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::names::INSTRUMENT;
    use tickmark_wire::{EventSubject, KernelEvents, Nanos};

    #[test]
    fn what_had_the_servers_cpu_is_subtracted_from_each_request() {
        // A task has the CPU from 1 to 3 ms, else the server.
        let task =
            |name: &str, id| EventSubject { name: name.to_owned(), id: Some(id), ..EventSubject::default() };
        let nanos = |all: &[i64]| all.iter().map(|ns| Nanos::new(*ns)).collect::<Vec<_>>();
        let events = KernelEvents {
            tracepoints: vec!["sched/sched_switch".to_owned()],
            cpu: Some(0),
            subjects: vec![task(INSTRUMENT, 5), task("tar", 9)],
            time: nanos(&[0, 1_000_000, 3_000_000]),
            tracepoint: vec![0; 3],
            subject: vec![0, 1, 0],
            ..KernelEvents::default()
        };
        // 1000 requests: one of 2.5 ms of which it had 2 ms, one of 1 ms of which it had half, and others of .2 ms.
        let mut start = vec![800_000, 2_500_000];
        let mut length = vec![2_500_000, 1_000_000];
        for at in 0..998 {
            start.push(4_000_000 + at * 5_000);
            length.push(200_000);
        }
        let trace = GapTrace {
            span: Nanos::new(10_000_000),
            threshold: Nanos::new(200_000),
            start: nanos(&start),
            length: nanos(&length),
            events: Some(Box::new(events)),
            ..GapTrace::default()
        };
        let mut counts = vec![0; 3000];
        counts[Histogram::place(7, 200_000)] = 998;
        counts[Histogram::place(7, 1_000_000)] = 1;
        counts[Histogram::place(7, 2_500_000)] = 1;
        let times = Histogram::of_counts(7, counts);
        let slowest = joined(vec![SlowRun::from_trace(&times, &trace).unwrap()]);
        assert_eq!((slowest.requests, slowest.kept, slowest.unexplained), (1000, 1000, 998));
        let [group] = &slowest.groups[..] else { panic!("{slowest:?}") };
        assert_eq!((label(&group.cause).as_str(), group.count, group.longest), ("tar", 2, 2e6));
        let value = |quantile: Option<Quantile>| quantile.map(|known| known.value);
        assert_eq!(value(slowest.quantiles[1]), Some(1_000_000.0));
        // 2.5 ms less 2 ms, and 1 ms less .5 ms.
        assert_eq!(value(group.without[1]), Some(500_000.0));
        // Where events were dropped, the last one is the end of what is known.
        let mut full = trace.clone();
        full.events.as_mut().unwrap().dropped = 7;
        let slowest = joined(vec![SlowRun::from_trace(&times, &full).unwrap()]);
        assert_eq!((slowest.unexplained, slowest.unknown), (0, 1000));
        assert!(slowest.groups.is_empty());
        full.events.as_mut().unwrap().time.push(Nanos::new(3_600_000));
        full.events.as_mut().unwrap().tracepoint.push(0);
        full.events.as_mut().unwrap().subject.push(1);
        let slowest = joined(vec![SlowRun::from_trace(&times, &full).unwrap()]);
        assert_eq!((slowest.groups[0].count, slowest.unexplained, slowest.unknown), (2, 0, 998));
        assert_eq!(value(slowest.groups[0].without[1]), None);
        // Fewer than one request beyond it are none.
        let of =
            |requests| quantile(&[1e6, 2.5e6], requests, 2e5, 0.999, CONFIDENCE).map(|known| known.value);
        assert_eq!((of(1000), of(999)), (Some(1e6), None));
        let damaged = GapTrace { length: Vec::new(), ..trace };
        assert!(SlowRun::from_trace(&times, &damaged).is_none());
    }
}

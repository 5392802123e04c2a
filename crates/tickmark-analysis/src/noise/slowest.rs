//! What had the server's CPU while the slowest requests waited for their answers, and what the tail would be without it.

use super::cause::Cause;
use super::late::{Quantile, WITHOUT, quantile};
use super::occupancy::is_nobodys;
use super::slices::Walk;
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

/// A request: how long it took, and what of that each cause had.
struct SlowRequest {
    length: f64,
    lost: BTreeMap<String, f64>,
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
    causes: BTreeMap<String, (Cause, BTreeSet<Cause>)>,
    dropped: u64,
}

impl SlowRun {
    /// None where it is damaged.
    fn from_trace(times: &Histogram, trace: &GapTrace) -> Option<Self> {
        let events = trace.events.as_deref()?;
        let count = events.time.len();
        let is_whole = count == events.tracepoint.len()
            && count == events.subject.len()
            && events.time.is_sorted()
            && trace.start.len() == trace.length.len()
            && trace.span.get() > 0
            && times.total() as usize >= trace.start.len();
        if !is_whole {
            return None;
        }
        let parts = Walk::parts(events, events.cpu?, trace.span.as_f64());
        let mut causes: BTreeMap<String, (Cause, BTreeSet<Cause>)> = BTreeMap::new();
        let request = |(start, length): (f64, f64)| {
            let mut lost: BTreeMap<String, f64> = BTreeMap::new();
            let first = parts.partition_point(|(_, from, own)| from + own <= start);
            for (cause, from, own) in parts[first..].iter().take_while(|(_, from, _)| *from < start + length)
            {
                let overlap = (from + own).min(start + length) - from.max(start);
                if !is_nobodys(cause) && overlap > 0.0 {
                    let label = label(cause);
                    let known =
                        causes.entry(label.clone()).or_insert_with(|| (cause.clone(), BTreeSet::new()));
                    known.1.insert(cause.clone());
                    *lost.entry(label).or_default() += overlap;
                }
            }
            SlowRequest { length, lost }
        };
        let columns = trace.start.iter().zip(&trace.length);
        let slow = columns.map(|(start, length)| (start.as_f64(), length.as_f64())).map(request).collect();
        let above = trace.threshold.as_f64();
        Some(Self { requests: times.total() as usize, above, slow, causes, dropped: events.dropped })
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
        runs.iter().fold((0, 0), |sum, run| (sum.0 + run.requests, sum.1 + run.dropped));
    let (mut slow, mut causes) = (Vec::new(), BTreeMap::new());
    for run in runs {
        slow.extend(run.slow.into_iter().filter(|request| request.length >= above));
        causes.extend(run.causes);
    }
    let tail = |length: &dyn Fn(&SlowRequest) -> f64| {
        let mut all: Vec<f64> = slow.iter().map(length).collect();
        all.sort_by(f64::total_cmp);
        WITHOUT.map(|q| quantile(&all, requests, above, q, CONFIDENCE))
    };
    let reason = |request: &SlowRequest| {
        let most = request.lost.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        (*most.1 > PART * request.length).then(|| most.0.clone())
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for label in slow.iter().filter_map(reason) {
        *counts.entry(label).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let explained: usize = counts.iter().map(|(_, count)| count).sum();
    let group = |(number, (label, count)): (usize, (String, usize))| {
        let own = |request: &SlowRequest| request.lost.get(&label).copied().unwrap_or(0.0);
        let (cause, tasks) = causes.get(&label)?;
        Some(SlowestGroup {
            cause: cause.clone(),
            tasks: tasks.len(),
            count,
            longest: slow.iter().map(own).fold(0.0, f64::max),
            without: if number < CAUSES {
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
        unexplained: slow.len() - explained,
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
        // 300 requests: one of 2.5 ms of which it had 2 ms, one of 1 ms of which it had half, and others of .2 ms.
        let mut start = vec![800_000, 2_500_000];
        let mut length = vec![2_500_000, 1_000_000];
        for at in 0..298 {
            start.push(4_000_000 + at * 10_000);
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
        counts[Histogram::place(7, 200_000)] = 298;
        counts[Histogram::place(7, 1_000_000)] = 1;
        counts[Histogram::place(7, 2_500_000)] = 1;
        let times = Histogram::of_counts(7, counts.into_iter());
        let slowest = joined(vec![SlowRun::from_trace(&times, &trace).unwrap()]);
        assert_eq!((slowest.requests, slowest.kept, slowest.unexplained), (300, 300, 298));
        let [group] = &slowest.groups[..] else { panic!("{slowest:?}") };
        assert_eq!((label(&group.cause).as_str(), group.count, group.longest), ("tar", 2, 2e6));
        let value = |quantile: Option<Quantile>| quantile.map(|known| known.value);
        assert_eq!(value(slowest.quantiles[1]), Some(1_000_000.0));
        // 2.5 ms less 2 ms, and 1 ms less .5 ms.
        assert_eq!(value(group.without[1]), Some(500_000.0));
        let damaged = GapTrace { length: Vec::new(), ..trace };
        assert!(SlowRun::from_trace(&times, &damaged).is_none());
    }
}

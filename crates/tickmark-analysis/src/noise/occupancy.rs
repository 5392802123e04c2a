//! Who had some CPUs, by the kernel's events alone: no loop looked for gaps on them.

use super::cause::Cause;
use super::slices::{Walk, known_until};
use super::witness::{EventCounts, RecordingCost, Taker, takers};
use tickmark_stats::order::largest_first;
use tickmark_store::{Recording, Status};
use tickmark_wire::names::INSTRUMENT;
use tickmark_wire::{GapTrace, KernelEvents, Observations};

/// Time of some CPUs by who had it. Times in ns, of all CPUs together.
#[derive(Debug)]
pub struct Occupancy {
    /// How long all of them were recorded, and how many traces that were: one for each CPU and run.
    pub span: f64,
    /// Those traces.
    pub traces: usize,
    /// What nobody wanted: threads of the instrument had it, or none.
    pub left: f64,
    /// Time of which it is not known who had all of them, as events of one were dropped.
    pub unknown: f64,
    /// Every cause but those, the one that had most first.
    pub takers: Vec<Taker>,
    /// How many events it has.
    pub events: EventCounts,
    /// Tracepoints that the kernel refused.
    pub refused: Vec<String>,
    /// What recording an event costs.
    pub event_cost: Option<RecordingCost>,
}

/// True if the columns of events belong together.
pub(super) fn is_whole(events: &KernelEvents) -> bool {
    let count = events.time.len();
    count == events.tracepoint.len() && count == events.subject.len() && events.time.is_sorted()
}

/// True if it takes the CPU from nobody: no task, a thread of the instrument, or what is not known.
pub(super) fn is_nobodys(cause: &Cause) -> bool {
    match cause {
        Cause::Idle | Cause::Outside | Cause::Unknown => true,
        Cause::Task { name, .. } => name == INSTRUMENT,
        _ => false,
    }
}

impl Occupancy {
    /// How long it is known who had each CPU, on average.
    #[must_use]
    pub fn known(&self) -> f64 {
        (self.span - self.unknown) / self.traces as f64
    }

    /// Of one trace for each CPU in each run; none where one is damaged, or there is none. A run counts until the first CPU of which nothing is
    /// known any more: the busiest has most events, and would have too small a share of a longer time.
    #[must_use]
    pub fn from_runs(runs: &[&[GapTrace]]) -> Option<Self> {
        let (mut occurrences, mut span, mut unknown, mut events) =
            (Vec::new(), 0.0, 0.0, EventCounts::default());
        for run in runs {
            let known = run.iter().filter_map(|trace| trace.events.as_deref()).map(known_until);
            let known = known.fold(f64::MAX, f64::min).max(0.0);
            for trace in *run {
                let own = trace.events.as_deref()?;
                if !is_whole(own) || trace.span.get() <= 0 {
                    return None;
                }
                let whole = trace.span.as_f64();
                occurrences.extend(Walk::whole(own, own.cpu?, whole.min(known)));
                span += whole;
                unknown += (whole - known).max(0.0);
                events.add(own);
            }
        }
        let traces = || runs.iter().flat_map(|run| run.iter());
        let all = || traces().filter_map(|trace| trace.events.as_deref());
        // Each trace has the same.
        let first = all().find_map(|events| events.cost.as_ref());
        let event_cost = RecordingCost::new(first.as_slice());
        let mut takers = takers(&occurrences, span, event_cost);
        let is_unknown = |taker: &Taker| taker.cause == Cause::Unknown;
        let total = |is: &dyn Fn(&Taker) -> bool| {
            takers.iter().filter(|taker| is(taker)).map(|taker| taker.total).sum()
        };
        unknown += total(&is_unknown);
        let left = total(&|taker| is_nobodys(&taker.cause) && !is_unknown(taker));
        takers.retain(|taker| !is_nobodys(&taker.cause));
        let refused = all().next()?.refused.clone();
        Some(Self { span, traces: traces().count(), left, unknown, takers, events, refused, event_cost })
    }
}

impl Occupancy {
    /// Causes, tasks of one name together, those that had most first, with their time in ns, less what recording took.
    #[must_use]
    pub fn groups(&self) -> Vec<(f64, Vec<&Taker>)> {
        let is_same = |one: &Cause, other: &Cause| matches!((one, other), (Cause::Task { name: a, .. }, Cause::Task { name: b, .. }) if a == b);
        let mut groups: Vec<(f64, Vec<&Taker>)> = Vec::new();
        for taker in &self.takers {
            let own = taker.net(self.event_cost);
            match groups.iter_mut().find(|(_, group)| is_same(&group[0].cause, &taker.cause)) {
                Some((time, group)) => {
                    *time += own;
                    group.push(taker);
                }
                None => groups.push((own, vec![taker])),
            }
        }
        largest_first(&mut groups, |one| one.0);
        groups
    }
}

/// By the runs that give a metric of events; none where none was planned, else the reason why nothing is known.
#[must_use]
pub fn summarize_occupancy(recording: &Recording, metric: &str) -> Option<Result<Occupancy, String>> {
    let metric = recording.meta.plan.metrics.iter().find(|known| known.name.as_str() == metric)?;
    let (mut traces, mut why): (Vec<Vec<GapTrace>>, _) = (Vec::new(), None);
    for run in recording.runs.iter().filter(|run| run.planned.gives(&metric.name)) {
        match &run.status {
            Status::Ok => {
                let observed = recording.observed(run, &metric.name).into_iter().flatten();
                let own = observed.filter_map(|observed| match observed.observations {
                    Observations::Gaps(trace) => Some(trace),
                    _ => None,
                });
                traces.push(own.collect());
            }
            status => why = why.or_else(|| status.reason().map(ToString::to_string)),
        }
    }
    let none = || why.unwrap_or_else(|| "no run of it was made, or its recording is damaged".to_owned());
    let runs: Vec<&[GapTrace]> = traces.iter().map(Vec::as_slice).collect();
    Some(Occupancy::from_runs(&runs).ok_or_else(none))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::{EventSubject, Nanos};

    #[test]
    fn a_busy_cpu_that_is_full_first_keeps_its_share() {
        let task =
            |name: &str, id| EventSubject { name: name.to_owned(), id: Some(id), ..EventSubject::default() };
        // A task has CPU 1 for 9 of 10 ms, of which 3 are known; nobody wants CPU 0.
        let trace = |cpu, times: &[i64], subject: &[u32], dropped| GapTrace {
            span: Nanos::from_millis(10),
            events: Some(Box::new(KernelEvents {
                tracepoints: vec!["sched/sched_switch".to_owned()],
                cpu: Some(cpu),
                subjects: vec![task(INSTRUMENT, 5), task("tar", 9)],
                time: times.iter().map(|ns| Nanos::new(*ns)).collect(),
                tracepoint: vec![0; times.len()],
                subject: subject.to_vec(),
                dropped,
                ..KernelEvents::default()
            })),
            ..GapTrace::default()
        };
        let busy = trace(1, &[0, 300_000, 3_000_000], &[0, 1, 0], 7);
        let run = [trace(0, &[0], &[0], 0), busy];
        let occupancy = Occupancy::from_runs(&[&run]).unwrap();
        assert_eq!((occupancy.known(), occupancy.unknown), (3e6, 14e6));
        let [tar] = &occupancy.takers[..] else { panic!("{occupancy:?}") };
        assert!((tar.total / occupancy.known() - 0.9).abs() < 1e-6, "{tar:?}");
        assert!((occupancy.left - 3.3e6).abs() < 1.0, "{}", occupancy.left);
    }
}

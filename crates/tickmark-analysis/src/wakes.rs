//! How late programs were woken, by each way to wait: distributions, and what can be said of the tail.

use crate::noise::{LateWakes, summarize_late};
use crate::sample::Sample;
pub use tickmark_stats::extreme::{Extreme, Refused};
use tickmark_stats::order::smallest_first;
use tickmark_stats::{Sorted, extreme, median, rare};
use tickmark_store::{Recording, Run, Status};
use tickmark_wire::{Counted, GapTrace, Metric, Nanos, Observations, RunPlan, names};

/// Latencies of which a limit is always given, in ns.
const LIMITS: [f64; 2] = [100_000.0, 1_000_000.0];

/// How much longer a time is spoken of than was measured.
pub const LONGER: f64 = 10.0;
/// Wake-ups beyond this quantile tell how late ones come together, and what lies beyond the latest.
const RARE: f64 = 0.99;

/// Request for limits of the tails.
#[derive(Debug, Clone, Copy)]
pub struct TailRequest<'a> {
    /// Lengths in ns of which a limit is wanted, beside the usual ones.
    pub lengths: &'a [f64],
    /// Of the limits.
    pub confidence: f64,
    /// A share that is wanted as a limit.
    pub bound: Option<f64>,
}

/// Every way that a recording has.
#[derive(Debug)]
pub struct Wakes {
    /// In the order of their medians; those without a figure last.
    pub ways: Vec<WaitMethodRow>,
    /// Of the limits.
    pub confidence: f64,
    /// The share that is wanted as a limit, if any.
    pub bound: Option<f64>,
    /// How many ways share the duration: those of one CPU, of which others have theirs at the same time.
    pub in_turns: usize,
    /// How far ahead the times were on average, in ns; none where they differ, and then the titles say it.
    pub interval: Option<f64>,
    /// Why the latest were late, by the kernel's events, for each CPU; the reason where those could not be recorded.
    pub late: Vec<Result<LateWakes, String>>,
}

/// One way to wait.
#[derive(Debug)]
pub struct WaitMethodRow {
    /// Its metric.
    pub metric: String,
    /// In words.
    pub title: String,
    /// Summary of its runs, or the reason why there is none.
    pub summary: Result<WakeUpSummary, String>,
}

/// Wake-ups of one way. Times in ns.
#[derive(Debug)]
pub struct WakeUpSummary {
    /// How late each was, ascending; early is negative.
    pub late: Sorted,
    /// How late the last one was.
    pub last: f64,
    /// The share that came before its time.
    pub early: f64,
    /// CPU time of one, the median of the runs.
    pub cpu: Option<f64>,
    /// How many runs.
    pub runs: usize,
    /// Upper limits of later wake-ups, in the order of their lengths.
    pub limits: Vec<Limit>,
    /// Length that one in [`LONGER`] times as many wake-ups exceeds, or the reason why it is unknown.
    pub beyond: Result<Extreme, Refused>,
}

/// How many wake-ups are later than a length, at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// The length, in ns.
    pub length: f64,
    /// Number of wake-ups later than `length`.
    pub count: usize,
    /// The upper limit of their share, at the confidence asked for.
    pub share: f64,
    /// How many wake-ups it takes until the limit is the one that is wanted, if as many go on to be late; none where none is wanted, or
    /// they are too many for it.
    pub needs: Option<f64>,
}

impl Wakes {
    /// Those of several CPUs at the same time as one, each way with its CPU; of one alone as they are.
    #[must_use]
    pub fn together(mut all: Vec<(Option<u32>, Self)>) -> Option<Self> {
        if all.len() > 1 {
            for (cpu, wakes) in &mut all {
                let place = cpu.map_or_else(|| "CPU ?".to_owned(), |cpu| format!("CPU {cpu}"));
                let own = wakes.late.iter_mut().flatten().map(|late| &mut late.title);
                let titles = wakes.ways.iter_mut().map(|way| &mut way.title).chain(own);
                titles.for_each(|title| *title = format!("{place}: {title}"));
            }
        }
        all.into_iter().map(|(_, wakes)| wakes).reduce(|mut first, other| {
            first.ways.extend(other.ways);
            first.late.extend(other.late);
            first.in_turns = first.in_turns.max(other.in_turns);
            first.interval = first.interval.filter(|interval| other.interval == Some(*interval));
            first
        })
    }
}

/// A wake-up that was later than the threshold that was to end the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Met {
    /// The CPU.
    pub cpu: Option<u32>,
    /// How late it was, in ns.
    pub late: f64,
    /// Its time, from the run's beginning, in ns.
    pub at: f64,
    /// The tasks that ran on its CPU since that time, with their numbers.
    pub tasks: Vec<String>,
    /// Kernel counters of the CPU that moved since the wait began, with their counts.
    pub counted: Vec<(String, u32)>,
}

/// The wake-up that ended a recording.
#[must_use]
pub fn met(recording: &Recording) -> Option<Met> {
    let prefix = format!("{}.", names::WAKE);
    let metrics = recording.meta.plan.metrics.iter().map(|metric| &metric.name);
    let mut own = metrics.filter(|name| name.as_str().starts_with(&prefix) && name.as_str().ends_with(MET));
    own.find_map(|name| {
        let mut observed = recording.runs.iter().flat_map(|run| recording.observed(run, name)).flatten();
        observed.find_map(|found| match found.observations {
            Observations::Gaps(trace) => met_in(&trace, recording),
            _ => None,
        })
    })
}

fn met_in(trace: &GapTrace, recording: &Recording) -> Option<Met> {
    let counted = trace.counted.as_deref()?;
    let moved = counted.counter.iter().zip(&counted.more);
    let moved =
        moved.filter_map(|(counter, more)| Some((counted.names.get(*counter as usize)?.clone(), *more)));
    let (tasks, mut counted): (Vec<_>, Vec<_>) = moved.partition(|(name, _)| name.starts_with(Counted::TASK));
    counted.sort_by_key(|(_, more)| std::cmp::Reverse(*more));
    Some(Met {
        cpu: recording.sessions.first().map(|session| session.settled.cpu),
        late: trace.length.first()?.as_f64(),
        at: trace.start.first()?.as_f64(),
        tasks: tasks.into_iter().map(|(name, _)| name[Counted::TASK.len()..].to_owned()).collect(),
        counted,
    })
}

impl WakeUpSummary {
    /// The quantile at `q`; none where the sample has too few for it.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let enough = self.late.as_slice().len() as f64 * (1.0 - q) >= 1.0;
        self.late.quantile(q).filter(|_| enough)
    }

    /// The latest.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.late.as_slice().last().copied().unwrap_or(0.0)
    }

    fn from_runs(runs: &[Vec<f64>], cpu: Option<f64>, request: &TailRequest<'_>) -> Option<Self> {
        let late = Sorted::new(runs.iter().flatten().copied());
        let count = late.as_slice().len();
        let worst = *late.as_slice().last()?;
        let mut lengths: Vec<f64> = request.lengths.iter().copied().chain(LIMITS).chain([worst]).collect();
        lengths.sort_unstable_by(f64::total_cmp);
        lengths.dedup();
        let clusters = |length: f64| {
            let later = |run: &Vec<f64>| run.iter().map(|late| *late > length).collect();
            rare::clusters(&runs.iter().map(later).collect::<Vec<_>>())
        };
        // Of what was hardly seen nobody can tell how it clusters: no less than what is rare.
        let mut together = clusters(late.quantile(RARE)?);
        let (mut least, mut fewest) = (1.0f64, None);
        let mut limit = |length: f64| {
            together = together.max(clusters(length));
            let found = count - late.as_slice().partition_point(|late| *late <= length);
            // What is later than this is later than what is shorter.
            let limit = rare::upper(found as f64 / together, count as f64 / together, request.confidence);
            least = least.min(limit);
            let trials = |bound| rare::trials(found as f64 / count as f64, bound, request.confidence);
            let own = request.bound.and_then(trials).map(|trials| trials * together);
            fewest = [fewest, own].into_iter().flatten().reduce(f64::min);
            let needs = fewest;
            Limit { length, count: found, share: least, needs }
        };
        let early = late.as_slice().partition_point(|late| *late < 0.0) as f64 / count as f64;
        let limits = lengths.into_iter().map(&mut limit).collect();
        let beyond = extreme::once_in(runs, RARE, LONGER, request.confidence);
        let last = *runs.iter().rev().find_map(|run| run.last())?;
        Some(Self { early, cpu, runs: runs.len(), limits, beyond, last, late })
    }
}

/// The wake-ups of a recording. None where it has none of the probe's metrics.
#[must_use]
pub fn summarize_wake_ups(recording: &Recording, request: &TailRequest<'_>) -> Option<Wakes> {
    let prefix = format!("{}.", names::WAKE);
    let own = |metric: &&Metric| {
        let name = metric.name.as_str();
        let is_way = name.starts_with(&prefix) && ![CPU, MET].iter().any(|end| name.ends_with(end));
        is_way || [names::TIMERLAT_INTERRUPT, names::TIMERLAT_THREAD].contains(&name)
    };
    let metrics = recording.meta.plan.metrics.iter();
    let mut ways: Vec<WaitMethodRow> =
        metrics.filter(own).map(|metric| method_row(recording, metric, request)).collect();
    let rank = |way: &WaitMethodRow| {
        way.summary.as_ref().ok().and_then(|found| found.late.quantile(0.5)).unwrap_or(f64::MAX)
    };
    smallest_first(&mut ways, rank);
    let mut intervals: Vec<f64> = recording.runs.iter().filter_map(|run| interval(&run.planned)).collect();
    intervals.sort_unstable_by(f64::total_cmp);
    intervals.dedup();
    let interval = intervals.first().copied().filter(|_| intervals.len() == 1);
    if interval.is_some() {
        for way in &mut ways {
            way.title = way.title.rsplit_once(": ").map_or(way.title.as_str(), |(_, own)| own).to_owned();
        }
    }
    let (confidence, bound) = (request.confidence, request.bound);
    let length = request.lengths.iter().copied().reduce(f64::min).unwrap_or(LIMITS[0]);
    let late = summarize_late(recording, length, confidence).into_iter().collect();
    // The kernel's own instrument is one, with two rows.
    let is_second = |way: &&WaitMethodRow| way.metric == names::TIMERLAT_THREAD;
    let in_turns = ways.len() - ways.iter().filter(is_second).count();
    (!ways.is_empty()).then_some(Wakes { ways, confidence, bound, in_turns, interval, late })
}

/// Requested interval of the probe of wake-ups, ns.
fn interval(planned: &RunPlan) -> Option<f64> {
    let ahead = planned.arguments.get("ahead").filter(|_| planned.probe.as_str() == names::WAKE)?;
    ahead.parse().ok().map(|ahead: f64| ahead * 1e3)
}

fn latencies(recording: &Recording, run: &Run, metric: &Metric) -> Option<Vec<f64>> {
    let mut observed = recording.observed(run, &metric.name).into_iter().flatten();
    observed.find_map(|found| match found.observations {
        Observations::Latencies(late) => Some(late.iter().map(|late| late.as_f64()).collect()),
        _ => None,
    })
}

/// The wake-ups of one run.
#[derive(Debug)]
pub struct WayRun {
    /// Its metric.
    pub metric: String,
    /// From the first run's beginning to this one's, in ns.
    pub begin: f64,
    /// Requested length, ns.
    pub length: f64,
    /// How late each was, in ns, in the order in which they came; early is negative.
    pub late: Vec<f64>,
}

/// Every run of wake-ups that a recording has, in the order in which they began.
#[must_use]
pub fn runs(recording: &Recording) -> Vec<WayRun> {
    let prefix = format!("{}.", names::WAKE);
    let started = |run: &Run| run.started.map_or(0.0, Nanos::as_f64);
    let first = recording.runs.iter().map(started).fold(f64::INFINITY, f64::min);
    let of = |run: &Run| {
        let metrics = recording.meta.plan.metrics.iter();
        let mut own = metrics
            .filter(|metric| metric.name.as_str().starts_with(&prefix) && run.planned.gives(&metric.name));
        let (metric, late) = own.find_map(|metric| Some((metric, latencies(recording, run, metric)?)))?;
        let (begin, length) = (started(run) - first, run.planned.budget.as_f64());
        Some(WayRun { metric: metric.name.to_string(), begin, length, late })
    };
    let mut all: Vec<WayRun> =
        recording.runs.iter().filter(|run| run.status == Status::Ok).filter_map(of).collect();
    smallest_first(&mut all, |one| one.begin);
    all
}

/// Behind the name of a way stands that of its CPU time.
const CPU: &str = ".cpu";
/// And that of the one that ended it.
const MET: &str = ".met";

fn method_row(recording: &Recording, metric: &Metric, request: &TailRequest<'_>) -> WaitMethodRow {
    let runs: Vec<Vec<f64>> = recording
        .runs
        .iter()
        .filter(|run| run.status == Status::Ok && run.planned.gives(&metric.name))
        .filter_map(|run| latencies(recording, run, metric))
        .collect();
    let name = format!("{}{CPU}", metric.name);
    let cpu = recording.meta.plan.metrics.iter().find(|other| other.name.as_str() == name);
    let cpu = cpu.and_then(|metric| {
        median(Sample::from_recording(recording, metric).runs.iter().map(|run| run.value))
    });
    let why = || {
        let failures = Sample::from_recording(recording, metric).failures;
        let first = failures.first().and_then(|run| run.reason()).unwrap_or("no run of it was made");
        first.to_owned()
    };
    let found = WakeUpSummary::from_runs(&runs, cpu, request).ok_or_else(why);
    WaitMethodRow { metric: metric.name.to_string(), title: metric.title.clone(), summary: found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_has_limits_that_fall_with_its_length() {
        let run: Vec<f64> =
            (0..20_000).map(|number| f64::from(number * 617 % 1_000) * 1_000.0 - 500.0).collect();
        let request = TailRequest { lengths: &[250_000.0], confidence: 0.95, bound: Some(0.3) };
        let found = WakeUpSummary::from_runs(&[run.clone(), run], Some(7.0), &request).unwrap();
        let lengths: Vec<f64> = found.limits.iter().map(|limit| limit.length).collect();
        assert_eq!(lengths, [100_000.0, 250_000.0, 998_500.0, 1_000_000.0]);
        assert!(found.limits.windows(2).all(|two| two[0].share >= two[1].share));
        assert!((0.749..0.76).contains(&found.limits[1].share), "{:?}", found.limits[1]);
        assert_eq!(found.limits[3].count, 0);
        assert!((3.0 / 40_000.0 - 1e-6..1e-3).contains(&found.limits[3].share), "{:?}", found.limits[3]);
        assert!((found.early - 0.001).abs() < 1e-9);
        assert_eq!(found.quantile(0.999_99), None);
        assert!(found.quantile(0.999).is_some() && WakeUpSummary::from_runs(&[], None, &request).is_none());
        // 90 and 75 % are later; of what never was .3 is soon certain.
        let needs: Vec<bool> = found.limits.iter().map(|limit| limit.needs.is_some()).collect();
        assert_eq!(needs, [false, false, true, true]);
    }

    #[test]
    fn what_was_never_seen_is_taken_to_cluster_as_what_is_rare_does() {
        let run = |burst: usize| -> Vec<f64> {
            (0..20_000usize)
                .map(|number| if (number / burst).is_multiple_of(100) { 50_000.0 } else { 10_000.0 })
                .collect()
        };
        let limit = |burst| {
            let request = TailRequest { lengths: &[], confidence: 0.95, bound: None };
            let found = WakeUpSummary::from_runs(&[run(burst)], None, &request).unwrap();
            found.limits.last().unwrap().share
        };
        assert!(limit(200) > 5.0 * limit(1), "{} {}", limit(200), limit(1));
    }
}

//! Transactions over HTTP and of databases: what each costs, how long it takes, and who was the limit.

use crate::noise::{Slowest, summarize_slowest};
use crate::sample::{Detail, Figures, Sample, Spread, tallied};
use tickmark_stats::order::smallest_first;
use tickmark_stats::{Estimate, median_of_runs};
use tickmark_store::{Recording, Run, Status};
use tickmark_wire::{Arguments, Metric, Nanos, Observations, names};

/// From this share of a CPU on it was all in use.
pub const FULL: f64 = 0.95;
/// Of the response latency's 99th percentile the client's own lateness may be so much.
pub const LATE: f64 = 0.5;

/// One load.
#[derive(Debug)]
pub struct Load<T = HttpSummary> {
    /// Its metric.
    pub metric: String,
    /// In words.
    pub title: String,
    /// Arguments of its probe.
    pub arguments: Arguments,
    /// Summary of its runs, or the reason why there is none.
    pub summary: Result<T, String>,
}

/// Summary of the runs of a load. Times in ns, for each transaction.
#[derive(Debug)]
pub struct HttpSummary {
    /// How many runs.
    pub runs: usize,
    /// Transactions a second.
    pub rate: Estimate,
    /// CPU time of the server and of the client; the server's is not known where its process is not.
    pub cpu: [Option<Estimate>; 2],
    /// Of these the kernel's share.
    pub system: [Option<f64>; 2],
    /// How long they stood runnable without a CPU.
    pub waited: [Option<f64>; 2],
    /// CPUs that the server used, and that the client used or waited for.
    pub busy: [Option<f64>; 2],
    /// Context switches, interrupts, clock reads of the client.
    pub counts: [Option<f64>; 3],
    /// Share of transactions that failed.
    pub failed: f64,
    /// How often each kind of failure happened.
    pub faults: Vec<(String, u64)>,
    /// From sending to answer; from when it was due to answer; by how much the client was late.
    pub times: [Option<Spread>; 3],
    /// The share that was due and not sent.
    pub missed: Option<f64>,
    /// The resource that was in full use.
    pub limit: Limit,
    /// What had the server's CPU during the slowest requests of another run, by the kernel's events; absent where that was not recorded, else the reason why it was not.
    pub slowest: Option<Result<Slowest, String>>,
}

/// Who could not do more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The client: the server could have more, and its rate is not known.
    Client,
    /// The server.
    Server,
    /// Both have one CPU, which was in full use.
    Shared,
    /// Nobody, but the client was so late that response latency is its own.
    Late,
    /// Neither.
    None,
}

impl Limit {
    /// True if transactions a second are the client's, and not the server's.
    #[must_use]
    pub fn refuses_rate(self) -> bool {
        self == Self::Client
    }

    /// True if response latency is the client's.
    #[must_use]
    pub fn refuses_response(self) -> bool {
        self == Self::Late
    }
}

/// Every load of a probe in a recording.
#[must_use]
pub fn summarize_loads(recording: &Recording, probe: &str) -> Vec<Load> {
    let mut all = each(recording, probe, &|arguments, sample| HttpSummary::from_sample(arguments, sample));
    all.retain(|load| load.arguments.get("latency").is_none_or(|latency| latency != "recorded"));
    for load in &mut all {
        if let Ok(summary) = &mut load.summary {
            summary.slowest = summarize_slowest(recording, &load.metric);
        }
    }
    all
}

/// The runs of a metric of a load, by the end of its name.
pub(crate) type By<'a, 'b> = dyn Fn(&str) -> Option<Sample<'a>> + 'b;

/// The summaries of each load of a probe, read from its metrics by the part of their names behind the first one's.
pub(crate) fn each<'a, T>(
    recording: &'a Recording,
    probe: &str,
    read: &dyn Fn(&Arguments, &By<'a, '_>) -> Option<T>,
) -> Vec<Load<T>> {
    let metrics = &recording.meta.plan.metrics;
    let first = |name: &str| {
        let run = recording.runs.iter().find(|run| {
            run.planned.probe.as_str() == probe
                && run.planned.gives.first().is_some_and(|first| first.as_str() == name)
        })?;
        Some(run.planned.arguments.clone())
    };
    let load = |metric: &Metric| {
        let arguments = first(metric.name.as_str())?;
        let sample = |end: &str| {
            let name = format!("{}{end}", metric.name.as_str());
            metrics
                .iter()
                .find(|metric| metric.name.as_str() == name)
                .map(|metric| Sample::from_recording(recording, metric))
        };
        let own = Sample::from_recording(recording, metric);
        let why =
            own.failures.first().and_then(|run| run.reason()).unwrap_or("no run of it was made").to_owned();
        let summary = read(&arguments, &sample).ok_or(why);
        Some(Load {
            metric: metric.name.as_str().to_owned(),
            title: metric.title.clone(),
            arguments,
            summary,
        })
    };
    metrics.iter().filter_map(load).collect()
}

impl HttpSummary {
    fn from_sample(arguments: &Arguments, sample: &By<'_, '_>) -> Option<Self> {
        let runs = |end: &str| sample(end).map_or_else(Vec::new, |sample| sample.runs);
        let estimate = |end: &str| median_of_runs(&runs(end).iter().map(|run| run.value).collect::<Vec<_>>());
        let middle = |end: &str| estimate(end).map(|all| all.point);
        let times = |end: &str| {
            let spread = |run: &Figures| match &run.detail {
                Detail::Spread(spread) => Some(spread.clone()),
                _ => None,
            };
            Spread::of_all(
                &runs(end).iter().filter_map(spread).collect::<Vec<_>>().iter().collect::<Vec<_>>(),
            )
        };
        let rate = estimate("")?;
        let busy = [middle(".busy_server"), middle(".busy_client")];
        let times = [times(".latency"), times(".response"), times(".late")];
        let missed = middle(".missed");
        let is = |name: &str, value: &str| arguments.get(name).is_some_and(|given| given == value);
        let cpu = [estimate(".cpu_server"), estimate(".cpu_client")];
        let used = |cpu: &Estimate| cpu.point * rate.point / 1e9;
        let shared = match (&cpu[0], &cpu[1]) {
            (Some(server), Some(client)) if is("whose", "own") && is("place", "same") => {
                Some(used(server) + used(client))
            }
            // It is in the client's process.
            (None, Some(both)) if is("server", "sqlite") => Some(used(both)),
            _ => None,
        };
        // Threads of one client wait for each other, too.
        let several = arguments.contains_key("server");
        let client = if several { cpu[1].as_ref().map(used) } else { busy[1] };
        // How many CPUs another's server may use is not known.
        let limit = limit(shared, [busy[0].filter(|_| !is("whose", "url")), client], &times);
        Some(Self {
            runs: runs("").len(),
            rate,
            cpu,
            system: [middle(".system_server"), middle(".system_client")],
            waited: [middle(".wait_server"), middle(".wait_client")],
            busy,
            counts: [middle(".switches"), middle(".interrupts"), middle(".clock_reads")],
            failed: middle(".failed").unwrap_or(0.0),
            faults: tallied(&runs(".faults")).into_iter().collect(),
            times,
            missed,
            limit,
            slowest: None,
        })
    }
}

/// `shared`: how much of their one CPU both used together, where they have one.
fn limit(shared: Option<f64>, busy: [Option<f64>; 2], times: &[Option<Spread>; 3]) -> Limit {
    let [server, client] = busy.map(|busy| busy.unwrap_or(0.0));
    let p99 = |at: usize| times[at].as_ref().map(|times| times.quantile(0.99));
    let is_late = p99(1).zip(p99(2)).is_some_and(|(response, late)| late > LATE * response);
    match shared {
        _ if is_late => Limit::Late,
        Some(shared) if shared >= FULL => Limit::Shared,
        Some(_) => Limit::None,
        None if client >= FULL => Limit::Client,
        None if server >= FULL => Limit::Server,
        None => Limit::None,
    }
}

/// The latencies of one run: how many were in each bucket.
#[derive(Debug)]
pub struct TimedRun {
    /// Its metric.
    pub metric: String,
    /// Begin of the run after that of the first one, ns.
    pub begin: f64,
    /// Planned length of the run, ns.
    pub length: f64,
    /// Middles of the buckets, in ns, and how many were in each.
    pub counts: Vec<(f64, u64)>,
}

/// Every histogram of latencies that a recording has of transactions, in the order in which the runs began.
#[must_use]
pub fn timed_runs(recording: &Recording) -> Vec<TimedRun> {
    let started = |run: &Run| run.started.map_or(0.0, Nanos::as_f64);
    let first = recording.runs.iter().map(started).fold(f64::INFINITY, f64::min);
    let is_ours = |metric: &&Metric| {
        [names::HTTP, names::SQL].iter().any(|probe| metric.name.as_str().starts_with(&format!("{probe}.")))
    };
    let of = |run: &Run, metric: &Metric| {
        let observed = recording.observed(run, &metric.name).into_iter().flatten();
        let all = observed.filter_map(|one| match &one.observations {
            Observations::Histogram(histogram) => histogram.buckets(),
            _ => None,
        });
        let middle = |(low, high, count): (Nanos, Nanos, u64)| (low.as_f64().midpoint(high.as_f64()), count);
        let counts: Vec<_> = all.flatten().map(middle).collect();
        let (begin, length) = (started(run) - first, run.planned.budget.as_f64());
        (!counts.is_empty()).then(|| TimedRun { metric: metric.name.to_string(), begin, length, counts })
    };
    let ok = recording.runs.iter().filter(|run| run.status == Status::Ok);
    let metrics = recording.meta.plan.metrics.iter().filter(is_ours);
    let mut all: Vec<TimedRun> = ok
        .flat_map(|run| {
            metrics
                .clone()
                .filter(|metric| run.planned.gives(&metric.name))
                .filter_map(move |metric| of(run, metric))
        })
        .collect();
    smallest_first(&mut all, |one| one.begin);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::Histogram;

    fn times(nanos: u64) -> Option<Spread> {
        let mut counts = vec![0; Histogram::place(7, nanos) + 1];
        counts[Histogram::place(7, nanos)] = 1000;
        Spread::from_histogram(&Histogram::of_counts(7, counts))
    }

    #[test]
    fn who_was_in_full_use_is_the_limit() {
        let busy = |server, client| [Some(server), Some(client)];
        let none = || [times(1000), None, None];
        assert_eq!(limit(None, busy(0.5, 1.0), &none()), Limit::Client);
        assert_eq!(limit(None, busy(0.99, 0.8), &none()), Limit::Server);
        assert_eq!(limit(None, busy(0.6, 0.7), &none()), Limit::None);
        assert_eq!(limit(None, [None, Some(0.97)], &none()), Limit::Client);
        // On one CPU the client waits while the server runs.
        assert_eq!(limit(Some(0.99), busy(0.45, 0.99), &none()), Limit::Shared);
        assert_eq!(limit(Some(0.7), busy(0.3, 0.99), &none()), Limit::None);
        let late = |late| [times(1000), times(10_000), times(late)];
        assert_eq!(limit(None, busy(0.1, 0.1), &late(6_000)), Limit::Late);
        assert_eq!(limit(Some(1.0), busy(0.1, 0.1), &late(6_000)), Limit::Late);
        assert_eq!(limit(None, busy(0.1, 0.1), &late(4_000)), Limit::None);
        assert!(
            Limit::Client.refuses_rate() && !Limit::Late.refuses_rate() && Limit::Late.refuses_response()
        );
    }
}

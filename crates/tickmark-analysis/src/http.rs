//! Transactions over HTTP: what each costs, how long it takes, and who was the limit.

use crate::sample::{Detail, Figures, Sample, Spread};
use tickmark_stats::{Estimate, median_of_runs};
use tickmark_store::Recording;
use tickmark_wire::{Arguments, names};

/// From this share of a CPU on it was all in use.
pub const FULL: f64 = 0.95;
/// Of the response latency's 99th percentile the client's own lateness may be so much.
pub const LATE: f64 = 0.5;
/// And so many requests may have been missed.
pub const MISSED: f64 = 0.01;

/// One load.
#[derive(Debug)]
pub struct Load {
    /// Its metric.
    pub metric: String,
    /// In words.
    pub title: String,
    /// What was told.
    pub told: Arguments,
    /// What was seen; or why nothing was.
    pub seen: Result<Seen, String>,
}

/// What the runs of a load gave. Times in ns, for each transaction.
#[derive(Debug)]
pub struct Seen {
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
    /// The share that failed.
    pub failed: f64,
    /// From sending to answer; from when it was due to answer; by how much the client was late.
    pub times: [Option<Spread>; 3],
    /// The share that was due and not sent.
    pub missed: Option<f64>,
    /// What was in full use.
    pub limit: Limit,
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
    /// The client was too late, or missed requests, of its own.
    Late,
    /// Neither.
    None,
}

impl Limit {
    /// Whether the figures of the server under this load are the client's.
    #[must_use]
    pub fn refuses(self) -> bool {
        matches!(self, Self::Client | Self::Late)
    }
}

/// Every load of a recording.
#[must_use]
pub fn of(recording: &Recording) -> Vec<Load> {
    let metrics = &recording.meta.plan.metrics;
    let first = |name: &str| {
        let run = recording.runs.iter().find(|run| {
            run.planned.probe.as_str() == names::HTTP
                && run.planned.gives.first().is_some_and(|first| first.as_str() == name)
        })?;
        Some(run.planned.arguments.clone())
    };
    let load = |metric: &tickmark_wire::Metric| {
        let told = first(metric.name.as_str())?;
        let sample = |end: &str| {
            let name = format!("{}{end}", metric.name.as_str());
            metrics
                .iter()
                .find(|metric| metric.name.as_str() == name)
                .map(|metric| Sample::of(recording, metric))
        };
        let own = Sample::of(recording, metric);
        let why =
            own.failures.first().and_then(|run| run.why()).unwrap_or("no run of it was made").to_owned();
        let seen = Seen::of(&told, &sample).ok_or(why);
        Some(Load { metric: metric.name.as_str().to_owned(), title: metric.title.clone(), told, seen })
    };
    metrics.iter().filter_map(load).collect()
}

impl Seen {
    fn of<'a>(told: &Arguments, sample: &dyn Fn(&str) -> Option<Sample<'a>>) -> Option<Self> {
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
        let one = told.get("whose").is_some_and(|whose| whose == "own")
            && told.get("place").is_some_and(|place| place == "same");
        let limit = limit(one, busy, &times, missed);
        Some(Self {
            runs: runs("").len(),
            rate,
            cpu: [estimate(".cpu_server"), estimate(".cpu_client")],
            system: [middle(".system_server"), middle(".system_client")],
            waited: [middle(".wait_server"), middle(".wait_client")],
            busy,
            counts: [middle(".switches"), middle(".interrupts"), middle(".clock_reads")],
            failed: middle(".failed").unwrap_or(0.0),
            times,
            missed,
            limit,
        })
    }
}

fn limit(one_cpu: bool, busy: [Option<f64>; 2], times: &[Option<Spread>; 3], missed: Option<f64>) -> Limit {
    let [server, client] = busy.map(|busy| busy.unwrap_or(0.0));
    let p99 = |at: usize| times[at].as_ref().map(|times| times.quantile(0.99));
    let is_late = p99(1).zip(p99(2)).is_some_and(|(response, late)| late > LATE * response);
    match () {
        // What the client waits for is the CPU that the server has.
        () if one_cpu && server.max(client) >= FULL => Limit::Shared,
        () if is_late => Limit::Late,
        () if client >= FULL && !one_cpu => Limit::Client,
        () if server >= FULL => Limit::Server,
        () if missed.is_some_and(|missed| missed > MISSED) && client >= FULL => Limit::Client,
        () => Limit::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::Histogram;

    fn times(nanos: u64) -> Option<Spread> {
        let mut counts = vec![0; Histogram::place(7, nanos) + 1];
        counts[Histogram::place(7, nanos)] = 1000;
        Spread::of(&Histogram::of_counts(7, counts))
    }

    #[test]
    fn who_was_in_full_use_is_the_limit() {
        let busy = |server, client| [Some(server), Some(client)];
        let none = || [times(1000), None, None];
        assert_eq!(limit(false, busy(0.5, 1.0), &none(), None), Limit::Client);
        assert_eq!(limit(false, busy(0.99, 0.8), &none(), None), Limit::Server);
        assert_eq!(limit(false, busy(0.6, 0.7), &none(), None), Limit::None);
        assert_eq!(limit(true, busy(0.5, 0.99), &none(), None), Limit::Shared);
        assert_eq!(limit(false, [None, Some(0.97)], &none(), None), Limit::Client);
        let late = |late| [times(1000), times(10_000), times(late)];
        assert_eq!(limit(false, busy(0.1, 0.1), &late(6_000), Some(0.0)), Limit::Late);
        assert_eq!(limit(false, busy(0.1, 0.1), &late(4_000), Some(0.5)), Limit::None);
        assert!(Limit::Client.refuses() && Limit::Late.refuses() && !Limit::Server.refuses());
    }
}

//! Transactions of servers and databases, in ns and per second.

use super::tick::TakerCause;
use super::{FigureOrReason, Page, counts};
use crate::http::{QUANTILES, RESPONSE, TIMES};
use crate::json_object;
use std::collections::BTreeMap;
use tickmark_analysis::capacity::Capacity;
use tickmark_analysis::http::{HttpSummary, Limit, Load};
use tickmark_analysis::noise::{Quantile, Slowest, SlowestGroup};
use tickmark_analysis::sample::Spread;
use tickmark_stats::Estimate;
use tickmark_wire::Arguments;

json_object! {
    /// Transactions: rate a second, CPU time and latency in ns.
    pub struct Loads(all: &[Load]) {
        loads: Vec<LoadPage> = all.iter().map(LoadPage::new).collect(),
    }

    struct LoadPage(of: &Load) {
        metric: String = of.metric.clone(),
        title: String = of.title.clone(),
        arguments: Arguments = of.arguments.clone(),
        summary: Option<SummaryPage> = of.summary.as_ref().ok().map(SummaryPage::new),
        /// Why there are no figures.
        error: Option<String> = of.summary.as_ref().err().cloned(),
    }

    struct SummaryPage(of: &HttpSummary) {
        runs: usize = of.runs,
        /// Transactions a second; none where something else than the server was measured.
        rate: Option<EstimatePage> = (!of.limit.refuses_rate()).then(|| EstimatePage::new(&of.rate)),
        /// The same, whatever limited it.
        reached: EstimatePage = EstimatePage::new(&of.rate),
        /// What limited the rate: `client`, `server`, `shared_cpu`, `late`, `none`.
        limit: &'static str = match of.limit {
            Limit::Client => "client",
            Limit::Server => "server",
            Limit::Shared => "shared_cpu",
            Limit::Late => "late",
            Limit::None => "none",
        },
        /// CPU time of a transaction.
        cpu: CpuPage = CpuPage::new(&of.cpu),
        /// Of it in the kernel.
        system_share: BothSides = BothSides::new(of.system),
        /// Time runnable without a CPU, ns for each transaction.
        waited: BothSides = BothSides::new(of.waited),
        /// CPUs in use: of the client those that it waited for, too; may be above 1.
        busy: BothSides = BothSides::new(of.busy),
        /// Context switches of a transaction.
        switches: Option<f64> = of.counts[0],
        interrupts: Option<f64> = of.counts[1],
        clock_reads: Option<f64> = of.counts[2],
        failed: f64 = of.failed,
        faults: BTreeMap<String, u64> = counts(&of.faults),
        /// Share that was due and not sent until the end.
        missed: Option<f64> = of.missed,
        /// By what is timed.
        latency: BTreeMap<&'static str, Option<SpreadPage>> = latency(of),
        /// What had the server's CPU during the slowest requests of another run, by the kernel's events; absent where that was not recorded.
        #[serde(skip_serializing_if = "Option::is_none")]
        slowest: Option<FigureOrReason<SlowestPage>> = of.slowest.as_ref().map(|known| FigureOrReason::new(known, SlowestPage::new)),
    }

    struct SlowestPage(of: &Slowest) {
        requests: usize = of.requests,
        kept: usize = of.kept,
        /// How long the others took at most, ns.
        above: f64 = of.above,
        /// Of all requests with the events recorded: p99 and p99.9, each with its limits, ns.
        quantiles: Vec<Option<TailPage>> = of.quantiles.iter().map(|known| known.map(|known| TailPage::new(&known))).collect(),
        groups: Vec<SlowestGroupPage> = of.groups.iter().map(SlowestGroupPage::new).collect(),
        /// How many lost a tenth of their time to none of them.
        unexplained: usize = of.unexplained,
        /// And of how many that is not known, as events were dropped before they ended: no tail without a cause is known then.
        unknown: usize = of.unknown,
        events_dropped: u64 = of.dropped,
    }

    struct SlowestGroupPage(of: &SlowestGroup) {
        #[serde(flatten)]
        cause: TakerCause = TakerCause::new(&of.cause),
        tasks: usize = of.tasks,
        /// Requests that lost more to it than to any other.
        requests: usize = of.count,
        /// The longest time that it had in one of them, ns.
        longest: f64 = of.longest,
        /// p99 and p99.9 of all requests, its time of this cause subtracted from each.
        without: Vec<Option<TailPage>> = of.without.iter().map(|known| known.map(|known| TailPage::new(&known))).collect(),
    }

    struct TailPage(of: &Quantile) {
        value: f64 = of.value,
        limits: [Option<f64>; 2] = of.limits,
    }

    struct CpuPage(of: &[Option<Estimate>; 2]) {
        server: Option<EstimatePage> = of[0].as_ref().map(EstimatePage::new),
        client: Option<EstimatePage> = of[1].as_ref().map(EstimatePage::new),
    }

    struct BothSides(of: [Option<f64>; 2]) {
        server: Option<f64> = of[0],
        client: Option<f64> = of[1],
    }

    /// Median of the runs, and the interval that holds the median of such runs.
    struct EstimatePage(of: &Estimate) {
        median: f64 = of.point,
        low: f64 = of.interval.low,
        high: f64 = of.interval.high,
        confidence: f64 = of.confidence,
    }

    struct SpreadPage(of: &Spread) {
        count: u64 = of.count,
        mean: f64 = of.mean,
        max: f64 = of.most,
        quantiles: BTreeMap<&'static str, f64> = QUANTILES.iter().map(|(name, q)| (*name, of.quantile(*q))).collect(),
    }

    /// The rate at which half of the slices keep a limit, requests a second.
    pub struct Capacities(all: &[Load<Capacity>]) {
        capacities: Vec<CapacityLoad> = all.iter().map(CapacityLoad::new).collect(),
    }

    struct CapacityLoad(of: &Load<Capacity>) {
        metric: String = of.metric.clone(),
        title: String = of.title.clone(),
        arguments: Arguments = of.arguments.clone(),
        summary: Option<CapacityPage> = of.summary.as_ref().ok().map(CapacityPage::new),
        /// Why there are no figures.
        error: Option<String> = of.summary.as_ref().err().cloned(),
    }

    struct CapacityPage(of: &Capacity) {
        runs: usize = of.runs,
        rate: EstimatePage = EstimatePage::new(&of.rate),
        /// The highest rate of a slice that kept the limit.
        kept: f64 = of.kept,
        /// The lowest rate of one that broke it.
        broke: f64 = of.broke,
        /// Rate of a closed loop.
        closed_loop: f64 = of.closed,
        /// Share of the slices that did not count, as the client itself was late.
        late_share: f64 = of.late,
    }
}

fn latency(of: &HttpSummary) -> BTreeMap<&'static str, Option<SpreadPage>> {
    let one = |(times, (title, name)): (&Option<Spread>, (&str, &'static str))| {
        let refused = title == RESPONSE && of.limit.refuses_response();
        (name, times.as_ref().filter(|_| !refused).map(SpreadPage::new))
    };
    of.times.iter().zip(TIMES).map(one).collect()
}

impl Page for Loads {
    const NAME: &'static str = "loads";
}

impl Page for Capacities {
    const NAME: &'static str = "capacities";
}

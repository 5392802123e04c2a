//! How late programs were woken. Times in ns, shares of 1.

use super::{FigureOrReason, Page};
use crate::json_object;
use crate::late::words;
use crate::wakes::{QUANTILES, refused};
use std::collections::BTreeMap;
use tickmark_analysis::noise::{Cause, LateGroup, LateWake, LateWakes, Quantile, WITHOUT};
use tickmark_analysis::report::Header;
use tickmark_analysis::wakes::{Extreme, Limit, WaitMethodRow, WakeUpSummary, Wakes};

json_object! {
    /// Ways to wait, and how late each wakes: times in ns, shares of 1.
    pub struct WakesPage(wakes: &Wakes, headers: &[Header]) {
        confidence: f64 = wakes.confidence,
        /// The share of later wake-ups that was to be excluded.
        bound: Option<f64> = wakes.bound,
        interval: Option<f64> = wakes.interval,
        ways: Vec<WayPage> = wakes.ways.iter().map(|way| WayPage::new(way, wakes.bound.is_some())).collect(),
        /// Why the latest were late, by the kernel's events, for each CPU.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        late: Vec<FigureOrReason<LatePage>> = wakes.late.iter().map(|late| FigureOrReason::new(late, LatePage::new)).collect(),
        /// Settings that changed meanwhile, where several CPUs were measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        changed: Option<Vec<CpuChanges>> = (headers.len() > 1).then(|| headers.iter().map(CpuChanges::new).collect()),
    }

    struct CpuChanges(header: &Header) {
        cpu: Option<u32> = header.settled.as_ref().map(|settled| settled.cpu),
        /// What, and in how many runs.
        changed: Vec<(String, usize)> = header.changed.clone(),
    }

    struct WayPage(way: &WaitMethodRow, bounded: bool) {
        metric: String = way.metric.clone(),
        title: String = way.title.clone(),
        /// Why there are no figures.
        #[serde(skip_serializing_if = "Option::is_none")]
        none: Option<String> = way.summary.as_ref().err().cloned(),
        #[serde(flatten)]
        summary: Option<SummaryPage> = way.summary.as_ref().ok().map(|of| SummaryPage::new(of, bounded)),
    }

    struct SummaryPage(of: &WakeUpSummary, bounded: bool) {
        wakes: usize = of.late.as_slice().len(),
        runs: usize = of.runs,
        quantiles: BTreeMap<&'static str, Option<f64>> = QUANTILES.iter().map(|(name, q)| (*name, of.quantile(*q))).collect(),
        max: f64 = of.worst(),
        /// Share that was early.
        early: f64 = of.early,
        /// CPU time of a wake-up, ns.
        cpu: Option<f64> = of.cpu,
        once_in_ten_times_as_many: FigureOrReason<FittedPage> =
            FigureOrReason::new(&of.beyond.as_ref().map_err(|why| refused(*why)), |beyond| FittedPage::new(beyond)),
        limits: Vec<LimitPage> = of.limits.iter().map(|limit| LimitPage::new(limit, bounded)).collect(),
    }

    struct LatePage(of: &LateWakes) {
        title: String = of.title.clone(),
        wakes: usize = of.wake_ups,
        /// Those that are not among the latest were no later.
        above: f64 = of.above,
        /// Reasons are those of wake-ups later than this.
        beyond: f64 = of.beyond.0,
        slack: f64 = of.slack,
        /// Quantiles with the events recorded.
        quantiles: BTreeMap<String, QuantilePage> = quantiles(&of.quantiles),
        reasons: Vec<ReasonPage> = of.groups.iter().map(ReasonPage::new).collect(),
        /// The latest first.
        latest: Vec<LateWakePage> = of.latest.iter().map(LateWakePage::new).collect(),
        /// Late ones without a chain.
        unknown: usize = of.unknown.len(),
        events_dropped: u64 = of.dropped,
    }

    struct QuantilePage(of: &Quantile) {
        value: f64 = of.value,
        /// Of the interval with the confidence of the page, where they are known.
        limits: [Option<f64>; 2] = of.limits,
    }

    struct ReasonPage(of: &LateGroup) {
        /// Link of the chain from the timer's time to the reading of the clock: timer_slack, interrupt, handler, other_cpu, switch, return, idle.
        link: &'static str = of.reason.link.code(),
        /// What had the CPU.
        cause: Option<&'static str> = of.reason.cause.as_ref().map(Cause::code),
        name: Option<String> = of.reason.cause.as_ref().map(Cause::words),
        /// How many tasks of that name, for tasks.
        tasks: usize = of.tasks,
        wakes: usize = of.count,
        max: f64 = of.longest,
        /// Quantiles of all, had the time of this cause not been; absent below `above`.
        without: BTreeMap<String, QuantilePage> = quantiles(&of.without),
    }

    struct LateWakePage(of: &LateWake) {
        at: f64 = of.at,
        late: f64 = of.late,
        links: Vec<(&'static str, f64)> = of.links.iter().map(|(link, length)| (link.code(), *length)).collect(),
        reason: Option<String> = of.reason().map(words),
    }

    struct FittedPage(of: &Extreme) {
        later_than: f64 = of.value,
        at_most: f64 = of.limit,
        shape: f64 = of.shape,
    }

    struct LimitPage(of: &Limit, bounded: bool) {
        later_than: f64 = of.length,
        count: usize = of.count,
        /// With the confidence of the page.
        share_at_most: f64 = of.share,
        /// Wake-ups after which the bound is shown if as many go on to be later; null where more are later than the bound allows.
        #[serde(skip_serializing_if = "Option::is_none")]
        wakes_needed: Option<Option<f64>> = bounded.then_some(of.needs),
    }
}

fn quantiles(all: &[Option<Quantile>; WITHOUT.len()]) -> BTreeMap<String, QuantilePage> {
    let known = WITHOUT.iter().zip(all).filter_map(|(q, known)| Some((q, known.as_ref()?)));
    known.map(|(q, known)| (format!("p{}", q * 100.0), QuantilePage::new(known))).collect()
}

impl Page for WakesPage {
    const NAME: &'static str = "timers";
}

//! How late programs were woken. Times in ns, shares of 1.

use super::Page;
use crate::json_object;
use crate::wakes::{QUANTILES, refused};
use std::collections::BTreeMap;
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
        once_in_ten_times_as_many: BeyondPage = match &of.beyond {
            Ok(beyond) => BeyondPage::Fitted(FittedPage::new(beyond)),
            Err(why) => BeyondPage::Refused(RefusedPage::new(refused(*why).to_owned())),
        },
        limits: Vec<LimitPage> = of.limits.iter().map(|limit| LimitPage::new(limit, bounded)).collect(),
    }

    struct FittedPage(of: &Extreme) {
        later_than: f64 = of.value,
        at_most: f64 = of.limit,
        shape: f64 = of.shape,
    }

    struct RefusedPage(why: String) {
        none: String = why,
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

/// The tail beyond what was observed.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
enum BeyondPage {
    Fitted(FittedPage),
    Refused(RefusedPage),
}

impl Page for WakesPage {
    const NAME: &'static str = "timers";
}

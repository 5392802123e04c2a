//! Programs that wait at several timers. Times in ns; early is negative.

use super::Page;
use crate::json_object;
use tickmark_analysis::scenario::{Errors, Scenario, Timer};
use tickmark_stats::Sorted;

json_object! {
    /// How far from their time the timers of a program went off: ns, early is negative.
    pub struct Scenarios(all: &[Scenario]) {
        scenarios: Vec<ScenarioPage> = all.iter().map(ScenarioPage::new).collect(),
    }

    struct ScenarioPage(of: &Scenario) {
        metric: String = of.metric.clone(),
        title: String = of.title.clone(),
        /// Why there are no figures.
        #[serde(skip_serializing_if = "Option::is_none")]
        none: Option<String> = of.errors.as_ref().err().cloned(),
        #[serde(flatten)]
        errors: Option<ErrorsPage> = of.errors.as_ref().ok().map(ErrorsPage::new),
    }

    struct ErrorsPage(of: &Errors) {
        repeats: usize = of.repeats,
        absolute: Absolute = Absolute::new(&of.absolute),
        min: f64 = of.ends.0,
        mean: f64 = of.mean,
        mean_absolute_after_first: Option<f64> = of.rest,
        max: f64 = of.ends.1,
        /// Share that was early.
        early: f64 = of.early,
        /// CPU time by time.
        cpu: Option<f64> = of.cpu,
        timers: Vec<TimerPage> = of.timers.iter().map(TimerPage::new).collect(),
    }

    /// Without the sign.
    struct Absolute(of: &Sorted) {
        p50: Option<f64> = of.quantile(0.5),
        p99: Option<f64> = of.quantile(0.99),
        #[serde(rename = "p99.9")]
        p999: Option<f64> = of.quantile(0.999),
        max: Option<f64> = of.quantile(1.0),
    }

    struct TimerPage(of: &Timer) {
        number: u64 = of.number,
        p50: Option<f64> = of.errors.quantile(0.5),
        p10: Option<f64> = of.errors.quantile(0.1),
        p90: Option<f64> = of.errors.quantile(0.9),
        p99: Option<f64> = of.errors.quantile(0.99),
        max: Option<f64> = of.errors.quantile(1.0),
    }
}

impl Page for Scenarios {
    const NAME: &'static str = "scenarios";
}

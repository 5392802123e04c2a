//! Whose CPU time a command is, in ns.

use super::tick::OccupancyPage;
use super::{FigureOrReason, Page};
use crate::bill::name;
use crate::json_object;
use std::collections::BTreeMap;
use tickmark_analysis::bill::Bill;

json_object! {
    /// CPU time of a command by who had it, ns.
    pub struct BillPage(bill: &Bill) {
        command: String = bill.command.clone(),
        runs: usize = bill.runs,
        /// How often what --count names was done in a run.
        count: Option<f64> = bill.count.0,
        ran_already: bool = bill.ran_already,
        time: f64 = bill.time.0,
        /// What the tasks that computed on every CPU did not get.
        total: f64 = bill.total,
        /// Who had the CPUs, by the kernel's events, or the reason why that is not known; absent where it was not asked.
        recorded: Option<FigureOrReason<OccupancyPage>> = bill.recorded.as_ref().map(|known| FigureOrReason::new(known, OccupancyPage::new)),
        unwatched: Unwatched = Unwatched::new(bill),
        parts: BTreeMap<&'static str, PartPage> = bill.parts.iter().map(|(what, value, runs)| (name(*what).1, PartPage::new(*value, runs))).collect(),
    }

    /// The command without the watching.
    struct Unwatched(bill: &Bill) {
        time: Option<f64> = bill.time.1,
        billed: Option<f64> = bill.unwatched,
        count: Option<f64> = bill.count.1,
    }

    struct PartPage(median: f64, runs: &[f64]) {
        median: f64 = median,
        runs: Vec<f64> = runs.to_vec(),
    }
}

impl Page for BillPage {
    const NAME: &'static str = "bill";
}

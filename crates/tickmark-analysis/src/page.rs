//! Everything that a recording holds, for a page about it.

mod distribution;

use crate::bill::Bill;
use crate::capacity::{self, Capacity};
use crate::clock_reads::Reads;
use crate::comms::{self, Comms};
use crate::dose::Dosed;
use crate::http::{self, Load, TimedRun};
use crate::noise::{self, Noise};
use crate::report::{self, Model};
use crate::scenario::{self, Scenario};
use crate::wakes::{self, TailRequest, Wakes, WayRun};
use crate::{bill, clock_reads, dose};
pub use distribution::{Distribution, Shift, shifts};
use tickmark_store::Recording;
use tickmark_wire::names;

/// The content of a page; absent parts are empty.
pub struct Page {
    /// Header, rows, details, findings, environment.
    pub model: Model,
    /// Of metrics that keep what they saw.
    pub distributions: Vec<Distribution>,
    /// Interruptions of the watched CPU.
    pub noise: Option<Noise>,
    /// True if that was asked for, and is not only what each recording begins with.
    pub noise_asked: bool,
    /// How late programs were woken.
    pub wakes: Option<Wakes>,
    /// Each wake-up, in the order in which they came.
    pub wake_runs: Vec<WayRun>,
    /// Rows of timers.
    pub scenarios: Vec<Scenario>,
    /// Messages by their sizes.
    pub comms: Vec<Comms>,
    /// Transactions over HTTP.
    pub http: Vec<Load>,
    /// Transactions of databases.
    pub sql: Vec<Load>,
    /// Their latencies.
    pub timed: Vec<TimedRun>,
    /// Rates that keep a limit.
    pub capacity: Vec<Load<Capacity>>,
    /// Cost of a slower clock.
    pub dosed: Option<Dosed>,
    /// Whose CPU time it was.
    pub bill: Option<Bill>,
    /// How often a command reads clocks.
    pub reads: Option<Reads>,
}

/// Late by more than this is counted, ns: what `tickmark timers` takes where nothing is said.
const LATE: [f64; 2] = [100_000.0, 1_000_000.0];
const CONFIDENCE: f64 = 0.95;

/// Of a recording.
#[must_use]
pub fn build_page(recording: &Recording) -> Page {
    let model = report::build(recording, &|_| true, true);
    let request = TailRequest { lengths: &LATE, confidence: CONFIDENCE, bound: None };
    Page {
        model,
        distributions: distribution::read_distributions(recording),
        noise: noise::summarize_noise(recording),
        noise_asked: noise_asked(recording),
        wakes: wakes::summarize_wake_ups(recording, &request).filter(|wakes| !wakes.ways.is_empty()),
        wake_runs: wakes::runs(recording),
        scenarios: scenario::read_scenarios(recording),
        comms: comms::summarize_comms(recording),
        http: http::summarize_loads(recording, names::HTTP),
        sql: http::summarize_loads(recording, names::SQL),
        timed: http::timed_runs(recording),
        capacity: capacity::read_capacities(recording),
        dosed: dose::summarize_dose(recording).and_then(Result::ok),
        bill: bill::read_bill(recording).and_then(Result::ok),
        reads: clock_reads::read_clock_reads(recording).and_then(Result::ok),
    }
}

fn noise_asked(recording: &Recording) -> bool {
    let mut planned = recording.runs.iter().map(|run| &run.planned);
    planned.any(|run| run.probe.as_str() == names::TICK && run.round > 0)
}

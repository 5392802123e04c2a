//! From recordings to what can be said of them: figures of a run, rows of a metric, findings, verdicts of a comparison, lmbench's
//! tables.
//!
//! Everything is a number, a name or an enumerated reason; no sentence is made here, and nothing is printed. The only input is a
//! recording, whose observations the store reads when a figure needs them.
//!
//! # Where things are
//!
//! - **Batches that are excluded and counted**: `tickmark-analysis/src/sample/modes.rs`.
//! - **A new check of the doctor**: a function and a line of `CHECKS` in `tickmark-analysis/src/doctor/`, its words in
//!   `tickmark-render/src/doctor.rs`.
//! - **The tick**: `probe/src/probes/tick.rs` spins, `probe/src/probes/tick/looks.rs` reads the kernel's counters (`probe/src/sys/counters.rs`) after some gaps;
//!   `stats/src/tick.rs` finds (`stats/src/tick/lags.rs` the periods, `stats/src/tick/comb.rs` the slots). What the other gaps were:
//!   `tickmark-analysis/src/noise/names.rs`; another HZ: `what_if.rs` there.
//! - **The gate**: `stats/src/gate.rs` judges, `analysis/src/gate.rs` has the figures and `gate/calibrated.rs` its error rates;
//!   `tickmark/src/command/judge/check/` finds and makes recordings, `gates.rs` there keeps what was claimed and tried.
//! - **Which functions an operation is**: `tcg-plugin/` counts, `analysis/src/explain/calls.rs` reads that, `explain/agreement.rs` holds it against
//!   the guest's clock; it stays in the store beside a boot's transcript, where `tickmark/src/command/setting/lab/explained.rs` finds it.
//! - **What must be known before a figure is believed**: the `marks` of a row (`tickmark-analysis/src/report/marks.rs`); every page takes them
//!   from there.
//! - **A new finding**: a variant in `tickmark-analysis/src/report/findings.rs`; its text, with advice, in `tickmark-render/src/finding.rs`.
#![forbid(unsafe_code)]

pub mod balance;
pub mod bill;
pub mod capacity;
pub mod clock_reads;
pub mod comms;
pub mod comparison;
pub mod doctor;
pub mod dose;
mod exact;
pub mod explain;
pub mod fleet;
pub mod gate;
pub mod history;
pub mod http;
pub mod hz;
pub mod kernel_reads;
pub mod live;
pub mod lmbench;
pub mod noise;
pub mod page;
pub mod paper;
pub mod price;
pub mod report;
pub mod sample;
pub mod scenario;
pub mod versus;
pub mod wakes;
pub mod what_if;

pub use exact::instruction;

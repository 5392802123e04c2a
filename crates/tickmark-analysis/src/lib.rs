//! From recordings to what can be said of them: figures of a run, rows of a metric, findings, verdicts of a comparison, lmbench's
//! tables.
//!
//! Everything is a number, a name or an enumerated reason; no sentence is made here, and nothing is printed. The only input is a
//! recording, whose observations the store reads when a figure needs them.
#![forbid(unsafe_code)]

pub mod balance;
pub mod bill;
pub mod capacity;
pub mod changes;
pub mod clock_reads;
pub mod comms;
pub mod comparison;
pub mod doctor;
pub mod dose;
mod exact;
pub mod fleet;
pub mod gate;
pub mod http;
pub mod hz;
pub mod kernel_reads;
pub mod live;
pub mod lmbench;
pub mod noise;
pub mod page;
pub mod report;
pub mod sample;
pub mod scenario;
pub mod wakes;
pub mod what_if;

pub use exact::instruction;

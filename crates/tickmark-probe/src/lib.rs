//! Measuring. A [`Probe`] is a [`Spec`] and a function that prepares a [`Routine`]; the routine
//! measures and hands raw observations to a [`Sink`]. No statistic is computed here.
//!
//! # Where things are
//!
//! - **A new probe**: one file in `crates/tickmark-probe/src/probes/`, one line in its `mod.rs`. CONTRIBUTING.md walks through one. List,
//!   verify, docs and report come from its `Spec`.
//! - **A probe with parameters**: `Spec.parameters` and `{NAME}` in its texts; `tune` says what they change (`probes/switch.rs`). A probe with
//!   more metrics lists them in `Spec.also` and gives each with `Sink::take`.
//! - **What the static agent does without** of the C library: `probe/src/sys/without.rs`.
//! - **The batch loop**: `probe/src/batch.rs`, generic over clock and meter, tested under a mock clock in `batch_tests.rs`.
//! - **What disturbs**: `probe/src/meter.rs` reads; `stats/src/contention.rs` says what is contended.
#![deny(unsafe_code)]

pub mod batch;
pub mod case;
pub mod clock;
mod error;
mod instrument;
pub mod links;
#[cfg(feature = "whole")]
pub mod live;
mod meter;
mod permutation;
mod probes;
pub mod random;
mod registry;
pub mod routine;
pub mod rpc;
pub mod session;
pub mod spec;
#[expect(unsafe_code, reason = "the one place that talks to the kernel and to the processor")]
pub mod sys;
pub mod wake_up_table;

pub use case::{Case, Parameter, Value};
pub use error::{ProbeError, Unavailable};
pub use instrument::Gauge;
pub use meter::{Counts, Meter, Reading, SystemMeter};
pub use probes::{FILES, folios};
pub use registry::Registry;
pub use routine::{Budget, Folder, Params, Prepare, Probe, Routine, Sink, Sizes, Stop};
pub use spec::{Also, EVERY_RUN, Expected, Spec, Syscall};

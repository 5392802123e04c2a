//! Measuring. A [`Probe`] is a [`Spec`] and a function that prepares a [`Routine`]; the routine
//! measures and hands raw observations to a [`Sink`]. No statistic is computed here.
#![deny(unsafe_code)]

pub mod batch;
mod case;
pub mod clock;
mod error;
mod instrument;
pub mod links;
#[cfg(feature = "whole")]
pub mod live;
mod meter;
mod permutation;
mod probes;
mod random;
mod routine;
pub mod rpc;
pub mod seen;
pub mod session;
mod spec;
#[expect(unsafe_code, reason = "the one place that talks to the kernel and to the processor")]
pub mod sys;

pub use case::{Case, Parameter, Value};
pub use error::{ProbeError, Unavailable};
pub use instrument::Gauge;
pub use meter::{Counts, Meter, Reading, SystemMeter};
pub use probes::{FILES, all, case, cases, find, folios, put_away, put_away_databases, serve};
#[cfg(feature = "whole")]
pub use probes::{cost_of_a_read, cost_of_an_operation, serve_http};
pub use routine::{Budget, Folder, Params, Prepare, Probe, Routine, Sink, Sizes, Stop};
pub use spec::{Also, EVERY_RUN, Expected, Spec, Syscall};

//! Measuring. A [`Probe`] is a [`Spec`] and a function that prepares a [`Routine`]; the routine
//! measures and hands raw observations to a [`Sink`]. No statistic is computed here.
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
pub mod seen;
pub mod session;
pub mod spec;
#[expect(unsafe_code, reason = "the one place that talks to the kernel and to the processor")]
pub mod sys;

pub use case::{Case, Parameter, Value};
pub use error::{ProbeError, Unavailable};
pub use instrument::Gauge;
pub use meter::{Counts, Meter, Reading, SystemMeter};
pub use probes::{FILES, folios};
pub use registry::Registry;
pub use routine::{Budget, Folder, Params, Prepare, Probe, Routine, Sink, Sizes, Stop};
pub use spec::{Also, EVERY_RUN, Expected, Spec, Syscall};

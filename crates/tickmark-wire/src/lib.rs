//! The contract between the agent, which measures, and the host, which keeps and explains.
//!
//! Everything that crosses that border is a type of this crate: the [`Plan`] goes to the agent, a
//! stream of [`Event`]s comes back, one JSON object a line. A recording is that stream, kept. What
//! a field means, with its unit, stands beside the field; docs/FORMAT.md has the same for readers
//! in other languages.
//!
//! # Where things are
//!
//! - **A new kind of observations**: `tickmark-wire/src/observations.rs` (and its name in `line.rs`), its figure in
//!   `tickmark-analysis/src/sample/kinds.rs`.
//! - **What host and agent hold the same**: `tickmark-wire/src/shared.rs`; a test there compares agent-c's copies.
#![forbid(unsafe_code)]

mod catalogue;
mod environment;
mod event;
mod execution;
mod histogram;
mod kernel_events;
mod line;
pub mod links;
mod metric;
pub mod names;
mod observations;
pub mod peer_request;
pub mod pieces;
mod plan;
pub mod printed;
pub mod shared;
pub mod text;
mod units;
mod word;

pub use catalogue::{Catalogue, Offer, Parameter};
pub use environment::{Environment, Fact};
pub use event::{
    Event, Hello, ImportedFrom, Instrument, Observed, Outcome, Part, Reason, Refusal, RefusalKind, Segment,
    Settled, StampClock, Started,
};
pub use execution::{COUNTERS, Execution, ExecutionEnd, ExecutionReply, ExecutionRequest, OutputTarget};
pub use histogram::Histogram;
pub use kernel_events::{EventCost, EventSubject, KernelEvents, Wakings};
pub use line::{Glance, LineContent};
pub use metric::{Better, Group, Headline, Metric, Name, Unit};
pub use observations::{
    Alone, Batches, Counted, Disturbance, Exchange, GapTrace, Host, Loads, Observations, Point, Span, Tally,
    Values, Windows,
};
pub use plan::{Arguments, Deny, Phase, Plan, Priority, RunId, RunPlan, Sending, Settings};
pub use printed::Printed;
pub use units::{Nanos, Picos};
pub use word::Word;

use serde::{Deserialize, Serialize};

/// The version of the event stream and of a recording that this crate writes.
pub const FORMAT: Format = Format { major: 1, minor: 6 };

/// Version of a recording: a reader accepts its own major version and every minor version of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Format {
    /// Raised when an older reader would misunderstand.
    pub major: u32,
    /// Raised when fields or event kinds are added that an older reader may leave out.
    pub minor: u32,
}

impl Format {
    /// True if a reader of this crate understands a recording of version `self`.
    #[must_use]
    pub fn readable(self) -> bool {
        self.major == FORMAT.major
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

//! The stream that comes back from the agent: one event a line.

use crate::word::vocabulary;
use crate::{Arguments, Environment, Format, Name, Nanos, Observations, Picos, RunId, Settings};
use serde::{Deserialize, Serialize};

/// One line of the stream: an object with one key, the kind. Readers keep kinds that they do not know, and name them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The agent is ready; a resumed recording has one for each session.
    Hello(Box<Hello>),
    /// The agent will not measure at all.
    Refused(Refusal),
    /// The recording was not measured here: where its figures come from.
    Imported(Box<ImportedFrom>),
    /// A run's process was started.
    Started(Started),
    /// Raw observations of one metric.
    Observed(Observed),
    /// A run measured everything that it should.
    Finished(Outcome),
    /// A run could not be made on this system: which call, which error.
    Skipped(RunId, Reason),
    /// A run went wrong.
    Failed(RunId, Reason),
    /// A run reached its hard limit and was ended.
    TimedOut(RunId, Reason),
    /// The agent ends; what changed by itself meanwhile. `complete` is false when it was told to stop.
    Goodbye {
        /// True if the whole plan was carried out.
        complete: bool,
        /// The `state.` facts at the end.
        state: Environment,
    },
    /// A line of a kind that this version does not know, as it came: a newer minor version has more.
    #[serde(skip)]
    Unknown(String),
}

/// Identity of the agent and its environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hello {
    /// Version of the stream.
    pub format: Format,
    /// Version of the agent.
    pub agent: String,
    /// Size of the agent's program file in bytes.
    pub agent_bytes: u64,
    /// The settings that the plan requests.
    #[serde(rename = "asked")]
    pub settings: Settings,
    /// The settings that were granted.
    pub settled: Settled,
    /// The machine.
    pub environment: Environment,
}

/// Another program's results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportedFrom {
    /// The program that measured, with its version.
    pub tool: String,
    /// Environment as the results state it; the sources are file names and lines.
    pub environment: Environment,
    /// True if the runs of a metric are repetitions of one execution, or of executions one after the other: all of them are one replicate.
    /// Absent in recordings of earlier programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_replicate: Option<bool>,
}

impl ImportedFrom {
    /// True if all runs together are one replicate. Earlier versions knew it of two tools.
    #[must_use]
    pub fn is_one_replicate(&self) -> bool {
        self.one_replicate.unwrap_or_else(|| self.tool == "columns" || self.tool.starts_with("hyperfine"))
    }
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settled {
    /// The CPU that is measured.
    pub cpu: u32,
    /// Why that one.
    pub cpu_because: String,
    /// The priority that the probes run at.
    pub priority: crate::Priority,
    /// Why the priority asked for was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority_refused: Option<String>,
    /// CPUs that the agent may use.
    pub allowed: Vec<u32>,
}

/// Why the agent will not start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Whose fault it is.
    pub kind: RefusalKind,
    /// One line: what, where, and what to try.
    pub message: String,
}

vocabulary! {
    /// Whether what was asked for can never be, or this system does not grant it.
    RefusalKind {
        /// The request is wrong: exit code 2.
        Usage = "usage",
        /// The system refuses: exit code 1.
        System = "system",
    }
}

/// A run begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Which.
    pub run: RunId,
    /// Its probe.
    pub probe: Name,
    /// Arguments of the probe.
    #[serde(default, skip_serializing_if = "Arguments::is_empty")]
    pub arguments: Arguments,
    /// The metrics that it gives; none where that is one, of the probe's own name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gives: Vec<Name>,
    /// Its round.
    pub round: u32,
    /// CLOCK_REALTIME at the start, ns since 1970.
    pub at: Nanos,
    /// CLOCK_MONOTONIC at the start, ns: how long a session lasted, also where the other clock was set meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monotonic: Option<Nanos>,
}

/// Raw observations of one metric in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Which run.
    pub run: RunId,
    /// Which metric.
    pub metric: Name,
    /// Role of these observations for the metric.
    #[serde(default, skip_serializing_if = "Part::is_whole")]
    pub part: Part,
    /// The observations.
    pub observations: Observations,
    /// The conditions meanwhile, in stretches of at least 50 ms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
}

vocabulary! {
    /// A metric's figure is its whole, less one part, plus another, where its definition says so (a
    /// context switch: a trip round the ring, less the same work in one process).
    Part {
        /// A measured run.
        Whole = "whole",
        /// To be taken off.
        Less = "less",
        /// To be added again.
        Plus = "plus",
    }
}

#[expect(clippy::derivable_impls, reason = "the enumeration is made by a macro")]
impl Default for Part {
    fn default() -> Self {
        Self::Whole
    }
}

impl Part {
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }

    /// The factor of this part in the sum; none where this version does not know what the part is for.
    #[must_use]
    pub const fn sign(self) -> Option<f64> {
        match self {
            Self::Whole | Self::Plus => Some(1.0),
            Self::Less => Some(-1.0),
            Self::Other(_) => None,
        }
    }
}

/// The conditions over a stretch of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// When it began, from the first stamp of the run, in ns.
    pub start: Nanos,
    /// How long it lasted, in ns.
    pub wall: Nanos,
    /// CPU time of the measuring thread, in ns.
    pub cpu: Nanos,
    /// CPU time of the probe's other threads, processes and children that ended, in ns.
    pub others_cpu: Nanos,
    /// How long the measuring thread and the probe's other processes stood runnable without a CPU, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay: Option<Nanos>,
    /// Steal time of this CPU, in ns, in steps of 10 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal: Option<Nanos>,
    /// Runnable tasks in the whole machine at the end of the segment, without the measuring thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable: Option<u32>,
    /// Cost of one dependent 64-bit multiplication (3 cycles on x86-64), for the effective frequency.
    pub multiply: Picos,
}

/// A run that finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which.
    pub run: RunId,
    /// The instrument as this process found it.
    pub instrument: Instrument,
    /// Resident memory of the process at the end, in kB.
    pub resident_kb: u64,
    /// How many lines of observations it gave: fewer are not all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<u32>,
    /// Conditions that differed between its end and the beginning of the session or the run, each in words: clock source, CPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// CLOCK_MONOTONIC at its end, ns, as it was read for its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Nanos>,
}

/// The instrument, measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Instrument {
    /// The clock of the batches' timestamps.
    pub clock: StampClock,
    /// The smallest step seen between two stamps, in ps.
    pub precision: Picos,
    /// The cost of a stamp, in ps.
    pub stamp: Picos,
    /// The cost of an empty iteration of the batch loop, in ps; it is part of every cost.
    pub empty_iteration: Picos,
    /// Stamps a second, as calibrated against CLOCK_MONOTONIC over the run.
    pub frequency: f64,
}

vocabulary! {
    /// The clock that stamps batches.
    StampClock {
        /// The processor's time stamp counter, converted to CLOCK_MONOTONIC at both ends of the run.
        Tsc = "tsc",
        /// The virtual count of Arm's generic timer, CNTVCT_EL0, converted in the same way.
        Cntvct = "cntvct",
        /// CLOCK_MONOTONIC.
        Monotonic = "monotonic",
    }
}

/// Why a run gave no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// One line.
    pub message: String,
    /// The system call that failed, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Its error number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
}

impl Reason {
    /// A reason that no system call gave.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), call: None, errno: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_back_as_it_went() {
        let event = Event::Skipped(
            RunId(3),
            Reason { message: "no".into(), call: Some("openat".into()), errno: Some(1) },
        );
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}

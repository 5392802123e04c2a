//! What the host asks of the agent. The host has drawn the order; the agent carries it out.

use crate::{Metric, Name, Nanos};
use serde::{Deserialize, Serialize};

/// Index of a run in its plan; unique in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u32);

/// Everything that the agent needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the measured processes are given.
    pub settings: Settings,
    /// The metrics that were asked for, as the program that made the plan defines them.
    pub metrics: Vec<Metric>,
    /// The runs, in the order in which they are made.
    pub runs: Vec<RunPlan>,
}

/// One run: a fresh process that measures one probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Its number in the plan.
    pub id: RunId,
    /// Counted from 1; each round runs every probe once. 0 is a run for the environment record.
    pub round: u32,
    /// The probe.
    pub probe: Name,
    /// How long it should measure, in ns.
    pub budget: Nanos,
    /// Bytes added to the process's environment, to vary the layout of its stack.
    pub padding: u32,
}

/// Settings of the measured processes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// The CPU to measure on; none means the quietest that is allowed.
    pub cpu: Option<u32>,
    /// Scheduling priority.
    pub priority: Priority,
    /// Measure at ordinary priority where the one asked for is refused.
    pub priority_optional: bool,
    /// Timer slack in ns; none leaves the system's (50,000 ns).
    pub slack: Option<Nanos>,
    /// Work on little memory and small files, also where there is room.
    #[serde(default)]
    pub small: bool,
    /// Refuse to each probe every system call that neither it nor every run needs.
    #[serde(default)]
    pub only_needed: bool,
    /// A system call that the kernel is to refuse to the measured processes, to see what comes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deny: Option<Deny>,
    /// Where in the tick each stream begins; none is anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Stamp with the TSC, one tick a nanosecond: in a guest whose TSC counts instructions, whatever clock its kernel has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tsc_is_nanoseconds: bool,
}

/// A place in the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Counted from 0.
    pub number: u32,
    /// Of so many parts.
    pub of: u32,
    /// How long a tick is, in ns.
    pub tick: Nanos,
}

/// A system call that is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deny {
    /// Its name.
    pub call: String,
    /// The error that it gives.
    pub errno: i32,
}

/// Scheduling priority of a measured process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// SCHED_OTHER, nice 0.
    #[default]
    Other,
    /// SCHED_FIFO at 1 to 98; the agent that watches it takes one more.
    Fifo(u8),
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Other => f.write_str("other"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
        }
    }
}

impl std::str::FromStr for Priority {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "other" {
            return Ok(Self::Other);
        }
        text.strip_prefix("fifo:")
            .and_then(|number| number.parse().ok())
            .filter(|priority| (1..=98).contains(priority))
            .map(Self::Fifo)
            .ok_or_else(|| "use other, or fifo:1 to fifo:98".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_reads_what_it_prints() {
        for text in ["other", "fifo:1", "fifo:98"] {
            assert_eq!(text.parse::<Priority>().unwrap().to_string(), text);
        }
        for text in ["", "fifo", "fifo:", "fifo:0", "fifo:99", "fifo:x", "rr:5"] {
            assert!(text.parse::<Priority>().is_err(), "{text}");
        }
    }
}

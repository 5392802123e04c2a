//! The host's request to the agent. The host has drawn the order; the agent carries it out.

use crate::word::vocabulary;
use crate::{Metric, Name, Nanos, Word};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Index of a run in its plan; unique in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub u32);

/// Everything that the agent needs to know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Settings of the measured processes.
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
    /// Arguments of the probe by the names of its parameters; empty for a probe without parameters.
    #[serde(default, skip_serializing_if = "Arguments::is_empty")]
    pub arguments: Arguments,
    /// The metrics that it gives; none where that is one, of the probe's own name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gives: Vec<Name>,
    /// How long it should measure, in ns.
    pub budget: Nanos,
    /// Time limit on the wall, set-up included, after which it is ended, ns; none leaves that to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Nanos>,
    /// Bytes added to the process's environment, to vary the layout of its stack.
    pub padding: u32,
}

/// Arguments of a probe: values by the names of its parameters.
pub type Arguments = BTreeMap<String, String>;

impl RunPlan {
    /// A run of a probe that is told nothing, at any length of the environment and under the agent's own limit.
    #[must_use]
    pub fn new(id: RunId, round: u32, probe: Name, budget: Nanos) -> Self {
        let (arguments, gives) = (Arguments::new(), Vec::new());
        Self { id, round, probe, arguments, gives, budget, limit: None, padding: 0 }
    }

    /// The metrics that it gives.
    pub fn metrics(&self) -> impl Iterator<Item = &Name> {
        let own = self.gives.is_empty().then_some(&self.probe);
        own.into_iter().chain(&self.gives)
    }

    /// True if it gives a metric.
    #[must_use]
    pub fn gives(&self, metric: &Name) -> bool {
        self.metrics().any(|name| name == metric)
    }
}

/// Settings of the measured processes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// End the watching loop of the tick's probe at the first gap that is longer than this, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_above: Option<Nanos>,
    /// And stop the kernel's tracer at that moment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_tracing: bool,
    /// How streams send; none is by write(2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Sending>,
}

vocabulary! {
    /// How streams send.
    Sending {
        /// By write(2).
        Write = "write",
        /// By send(2) with MSG_ZEROCOPY.
        Zerocopy = "zerocopy",
        /// Through io_uring(7).
        Uring = "io_uring",
    }
}

/// A place in the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Deny {
    /// Its name.
    pub call: String,
    /// The error that it gives.
    pub errno: i32,
}

/// Scheduling priority of a measured process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// SCHED_OTHER, nice 0.
    #[default]
    Other,
    /// SCHED_FIFO at 1 to 98; the agent that watches it takes one more.
    Fifo(u8),
    /// A policy of a later version, as it came.
    #[serde(untagged)]
    Unknown(Word),
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Policy;
        impl<'de> serde::de::Visitor<'de> for Policy {
            type Value = Priority;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a scheduling policy")
            }

            fn visit_str<E>(self, word: &str) -> Result<Priority, E> {
                Ok(if word == "other" { Priority::Other } else { Priority::Unknown(Word::new(word)) })
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Priority, A::Error> {
                let mut policy = Priority::Unknown(Word::new("?"));
                while let Some(word) = map.next_key::<String>()? {
                    policy = if word == "fifo" {
                        Priority::Fifo(map.next_value()?)
                    } else {
                        map.next_value::<serde::de::IgnoredAny>()?;
                        Priority::Unknown(Word::new(&word))
                    };
                }
                Ok(policy)
            }
        }
        from.deserialize_any(Policy)
    }
}

impl std::fmt::Display for Priority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Other => f.write_str("other"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::Unknown(word) => f.write_str(word.as_str()),
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

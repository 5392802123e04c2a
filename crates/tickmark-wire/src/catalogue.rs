//! Catalogue of an agent. The host knows it from the agent that will measure, and from nowhere else.

use crate::{Arguments, Format, Metric, Name};
use serde::{Deserialize, Serialize};

/// Everything that an agent offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    /// Version of the stream that it writes.
    pub format: Format,
    /// Version of the agent.
    pub agent: String,
    /// Measurable things in the order of the summary: a probe, or one choice of the arguments of a probe that has parameters.
    pub offers: Vec<Offer>,
    /// System calls that every run takes beside those of its probe.
    #[serde(default)]
    pub every_run: Vec<String>,
}

/// Something that can be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The probe.
    pub probe: Name,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Arguments::is_empty")]
    pub arguments: Arguments,
    /// The parameters of the probe, of which `arguments` are one choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<Parameter>,
    /// Its metrics; the first is the headline.
    pub metrics: Vec<Metric>,
    /// The work between two timestamps.
    pub timed: String,
    /// Where the definition comes from.
    pub source: String,
    /// System calls without which it cannot run.
    #[serde(default)]
    pub needs: Vec<String>,
    /// How many slices of the budget a run gets, in tenths of an ordinary probe's.
    pub weight: u32,
}

/// A parameter of a probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Description, with its unit.
    pub about: String,
    /// The values that suites take.
    pub values: Vec<String>,
    /// Other numbers that it takes, from and to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<(u32, u32)>,
}

impl Offer {
    /// The metric that it stands for.
    #[must_use]
    pub fn metric(&self) -> Option<&Metric> {
        self.metrics.first()
    }
}

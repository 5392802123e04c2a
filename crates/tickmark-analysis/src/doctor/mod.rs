//! Diagnosis of a machine: a recording and its environment, checked for losses and their causes.
//!
//! Each check ends in one of four ways: found, with what it costs; so, and usual; fine, with what was seen; or not visible here, which is
//! not the same as fine.

mod clocks;
mod processor;
mod promise;
mod tasks;

pub(crate) use clocks::stops_while_idle;
pub use promise::{Promise, Saved, promises, promises_wake_ups};

use crate::noise::{self, Noise};
use crate::report::{self, Model, Row};
use serde::Serialize;
use tickmark_store::Recording;
use tickmark_wire::{Environment, Metric};

/// One check.
pub struct Check {
    /// Its name, as `--only` takes it.
    pub name: &'static str,
    /// The probes without which it sees nothing.
    pub probes: &'static [&'static str],
    look: fn(&Patient<'_>) -> Diagnosis,
}

/// Every check.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    [clocks::CHECKS, processor::CHECKS, tasks::CHECKS].into_iter().flatten()
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is so here; with what it costs where that was measured.
    Found(Option<Cost>),
    /// It is so here as on every Linux whose defaults nobody changed; with what it costs.
    Usual(Option<Cost>),
    /// It is not so.
    Fine,
    /// The value is not visible here, for this reason.
    NotVisible(String),
}

/// The cost of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// The share of a CPU.
    Share(f64),
    /// Each clock read or system call, in ns.
    Call(f64),
    /// Each wake-up, in ns.
    WakeUp(f64),
}

impl Cost {
    /// As a share of a CPU, to put findings in an order: as if there were 100,000 calls and 1,000 wake-ups a second.
    #[must_use]
    pub fn weight(self) -> f64 {
        match self {
            Self::Share(share) => share,
            Self::Call(nanos) => nanos * 1e5 / 1e9,
            Self::WakeUp(nanos) => nanos * 1e3 / 1e9,
        }
    }
}

/// Something that was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// A fact of the environment, a metric, or what a CPU was lost to.
    pub name: String,
    /// Value found.
    pub value: ObservedValue,
    /// Where it was read; empty where it was measured.
    pub source: String,
    /// Value in earlier recordings, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
}

/// Value of a figure in earlier recordings of the same machine, in its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Before {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// In how many recordings.
    pub recordings: usize,
}

/// Fewer recordings do not say what is usual.
const USUAL: usize = 3;

/// A value that was seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ObservedValue {
    /// As the system says it.
    Text(String),
    /// In ns.
    Time(f64),
    /// Of the whole.
    Share(f64),
    /// Times a second.
    Rate(f64),
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// Which check.
    pub name: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// By what.
    pub evidence: Vec<Evidence>,
    /// The experiment that would prove it, where it can be reversed.
    pub proof: Option<Proof>,
}

/// An experiment: what is changed from what to what, and what shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// As `tickmark experiment` takes it: KNOB=NOW,OTHER.
    pub knob: String,
    /// The probe that is measured.
    pub probe: &'static str,
    /// The CPU, where it is proved of that one alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Of what took the CPU, the part that the other setting keeps away from it: its name among those who took it, or `other tasks`: all of the usual
    /// class together.
    pub removes: Option<String>,
}

/// Input of every check.
struct Patient<'a> {
    recording: &'a Recording,
    facts: &'a Environment,
    /// The same at the end, of what changes by itself.
    end: Option<&'a Environment>,
    model: Model,
    noise: Option<Noise>,
}

/// Looks at a recording by these checks: what was found first, the dearest before the others; then what cannot be seen; then what is fine.
#[must_use]
pub fn examine(recording: &Recording, chosen: &[&Check]) -> Vec<Diagnosis> {
    let none = Environment::default();
    let patient = Patient {
        recording,
        facts: recording.environment().unwrap_or(&none),
        end: recording.ends.last(),
        model: report::build(recording, &|_| true, false),
        noise: noise::summarize_noise(recording),
    };
    let mut all: Vec<Diagnosis> = chosen.iter().map(|check| (check.look)(&patient)).collect();
    let place = |diagnosis: &Diagnosis| match &diagnosis.outcome {
        Outcome::Found(cost) => (0, -cost.map_or(0.0, Cost::weight)),
        Outcome::NotVisible(_) => (1, 0.0),
        Outcome::Usual(_) => (2, 0.0),
        Outcome::Fine => (3, 0.0),
    };
    all.sort_by(|a, b| {
        let (a, b) = (place(a), place(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    all
}

/// Puts beside each measured figure what it was in earlier recordings of the same, on the same machine.
pub fn remember(all: &mut [Diagnosis], earlier: &[Recording]) {
    let names: Vec<String> =
        all.iter().flat_map(|one| &one.evidence).map(|summary| summary.name.clone()).collect();
    let is_wanted = |metric: &Metric| names.iter().any(|name| name.starts_with(metric.name.as_str()));
    let rows = |recording: &Recording| -> Vec<Row> {
        report::rows_of(recording, &is_wanted).into_iter().flat_map(|(_, rows)| rows).collect()
    };
    let earlier: Vec<Vec<Row>> = earlier.iter().map(rows).collect();
    let measured =
        all.iter_mut().flat_map(|one| &mut one.evidence).filter(|summary| summary.source.is_empty());
    for evidence in measured {
        let of = |rows: &Vec<Row>| {
            rows.iter().find(|row| row.metric == evidence.name)?.value.map(|value| value.point)
        };
        let values: Vec<f64> = earlier.iter().filter_map(of).collect();
        let by = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        if let (Some(low), Some(high)) = (by(f64::min), by(f64::max))
            && values.len() >= USUAL
        {
            evidence.before = Some(Before { low, high, recordings: values.len() });
        }
    }
}

impl Patient<'_> {
    /// A fact, or why it is not known.
    fn fact(&self, name: &str) -> Result<&str, String> {
        let known = self.facts.iter().find(|(own, _)| *own == name).map(|(_, fact)| fact);
        let fact = known.ok_or_else(|| format!("{name} was not recorded"))?;
        fact.value
            .as_deref()
            .ok_or_else(|| format!("{}: {}", fact.source, fact.missing.as_deref().unwrap_or("not readable")))
    }

    /// A fact as evidence.
    fn shown(&self, name: &str) -> Option<Evidence> {
        let (_, fact) = self.facts.iter().find(|(own, _)| *own == name)?;
        let value = ObservedValue::Text(fact.value.clone()?);
        Some(Evidence { name: name.to_owned(), value, source: fact.source.clone(), before: None })
    }

    fn row(&self, metric: &str) -> Option<&Row> {
        self.model.groups.iter().flat_map(|(_, rows)| rows).find(|row| row.metric == metric)
    }

    /// A row's figure.
    fn point(&self, metric: &str) -> Result<f64, String> {
        let row = self.row(metric).ok_or_else(|| format!("{metric} was not measured"))?;
        row.value.map(|value| value.point).ok_or_else(|| format!("{metric} gave no figure"))
    }
}

impl Diagnosis {
    fn new(name: &'static str, outcome: Outcome, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        Self { name, outcome, evidence: evidence.into_iter().collect(), proof: None }
    }

    /// Found or fine, as it is.
    fn found_or_fine(name: &'static str, found: bool, cost: Option<Cost>, evidence: Vec<Evidence>) -> Self {
        Self::new(name, if found { Outcome::Found(cost) } else { Outcome::Fine }, evidence)
    }

    /// The same of a default: no finding, unless it was changed for the worse.
    fn usual(mut self, is_default: bool) -> Self {
        if let (Outcome::Found(cost), true) = (&self.outcome, is_default) {
            self.outcome = Outcome::Usual(*cost);
        }
        self
    }

    fn proved_by(mut self, knob: String, probe: &'static str) -> Self {
        if matches!(self.outcome, Outcome::Found(_) | Outcome::Usual(_)) {
            self.proof = Some(Proof { knob, probe, cpu: None, removes: None });
        }
        self
    }

    /// The same with how it is taken away, where it was found.
    fn removed_by(mut self, proof: Option<Proof>) -> Self {
        self.proof = proof.filter(|_| matches!(self.outcome, Outcome::Found(_)));
        self
    }
}

/// Looks where something may be missing; what is missing is why nothing is visible.
fn looked(name: &'static str, look: impl FnOnce() -> Result<Diagnosis, String>) -> Diagnosis {
    look().unwrap_or_else(|why| Diagnosis::new(name, Outcome::NotVisible(why), []))
}

/// A measured value.
fn measured(name: &str, value: ObservedValue) -> Evidence {
    Evidence { name: name.to_owned(), value, source: String::new(), before: None }
}

#[cfg(test)]
mod tests;

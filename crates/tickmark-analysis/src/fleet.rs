//! Many machines: how their figures lie, which of them lie apart and what is wrong with those, which groups differ.

mod groups;
pub mod links;
mod nodes;

pub use groups::{Difference, Set};
pub use nodes::{DistinguishingFact, DoctorFinding, OutlierNode, OutlyingMetric};

use serde::Serialize;
use std::collections::BTreeMap;
use tickmark_stats::Sorted;
use tickmark_stats::outlying::{self, Most};
use tickmark_wire::Better;

use crate::report::Unit;

/// A survey of machines; a node is named by its index in `nodes`.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Every machine that was asked, or answered.
    pub nodes: Vec<Node>,
    /// One value of each metric a machine.
    pub figures: Vec<Figures>,
    /// Facts of the machines.
    pub facts: Vec<Facts>,
    /// Findings of the doctor.
    pub findings: Vec<Finding>,
    /// The last measurement of their links; none where there was none.
    pub links: Option<links::Series>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// Its name.
    pub name: String,
    /// complete, partly, refused or silent.
    pub outcome: String,
    /// Why no more.
    pub why: Option<String>,
    /// Its recording.
    pub recording: Option<String>,
}

/// A metric over machines.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Its name.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which is better.
    pub better: Better,
    /// The machine, and its value: the median of its runs.
    pub values: Vec<(usize, f64)>,
}

/// A fact over machines.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// The machine, and which of `words` it has.
    pub values: Vec<(usize, u32)>,
    /// The different values.
    pub words: Vec<String>,
}

/// A finding of the doctor on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The machine.
    pub node: usize,
    /// Which check.
    pub check: String,
    /// Its share of a CPU, as [`crate::doctor::Cost::weight`] has it; none where it was not measured.
    pub weight: Option<f64>,
}

/// Options of a report.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The chance that any machine lies apart in any metric where all are equal, and that any group differs.
    pub false_alarm: f64,
    /// A smaller difference is none, as a share.
    pub margin: f64,
}

/// The answer of a survey.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Model {
    /// How many machines came to which end.
    pub outcomes: BTreeMap<String, usize>,
    /// Those that gave less than everything.
    pub missing: Vec<Node>,
    /// Those that lie apart on the worse side, the worst first.
    pub worst: Vec<OutlierNode>,
    /// How many lie apart on the better side alone.
    pub better: Vec<OutlierNode>,
    /// Groups that differ from all others.
    pub groups: Vec<Difference>,
    /// Each metric over the machines.
    pub metrics: Vec<Distribution>,
    /// The links between them; none where they were not measured.
    pub links: Option<links::Links>,
    /// On how many machines each finding is.
    pub findings: BTreeMap<String, usize>,
    /// The rule's chance of a false alarm.
    pub false_alarm: f64,
    /// And its margin.
    pub margin: f64,
    /// How many metrics could be judged.
    pub judged: usize,
}

/// A metric over machines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Its name.
    pub metric: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Of how many machines.
    pub nodes: usize,
    /// Minimum, 5th percentile, median, 95th percentile, maximum.
    pub quantiles: [f64; 5],
    /// Limits beyond which a node is an outlier; none where there are too few machines.
    pub limits: Option<[f64; 2]>,
}

/// Looks at a survey.
#[must_use]
pub fn examine(survey: &Survey, rule: Rule) -> Model {
    let mut outcomes = BTreeMap::new();
    for node in &survey.nodes {
        *outcomes.entry(node.outcome.clone()).or_default() += 1;
    }
    let judged = survey.figures.iter().filter(|figures| figures.values.len() >= outlying::FEWEST).count();
    // The metrics share the chance: together it is no more than was asked (Sidak).
    let each = 1.0 - (1.0 - rule.false_alarm).powf(1.0 / judged.max(1) as f64);
    let bounds: Vec<Option<Bounds>> =
        survey.figures.iter().map(|figures| Bounds::from_figures(figures, each, rule.margin)).collect();
    let (worst, better) = nodes::find_outliers(survey, &bounds);
    let mut findings: BTreeMap<String, usize> = BTreeMap::new();
    for finding in &survey.findings {
        *findings.entry(finding.check.clone()).or_default() += 1;
    }
    Model {
        outcomes,
        missing: survey.nodes.iter().filter(|node| node.outcome != "complete").cloned().collect(),
        worst,
        better,
        groups: groups::differences(survey, rule),
        metrics: survey
            .figures
            .iter()
            .zip(&bounds)
            .filter_map(|(figures, bounds)| distribution(figures, bounds.as_ref()))
            .collect(),
        links: survey
            .links
            .as_ref()
            .map(|links| links::examine(links, &|node| survey.nodes[node].name.clone(), rule)),
        findings,
        false_alarm: rule.false_alarm,
        margin: rule.margin,
        judged,
    }
}

fn distribution(figures: &Figures, bounds: Option<&Bounds>) -> Option<Distribution> {
    let sorted = Sorted::new(figures.values.iter().map(|(_, value)| *value));
    let at = |q: f64| sorted.quantile(q);
    Some(Distribution {
        metric: figures.metric.clone(),
        unit: figures.unit,
        nodes: figures.values.len(),
        quantiles: [at(0.0)?, at(0.05)?, at(0.5)?, at(0.95)?, at(1.0)?],
        limits: bounds.map(|bounds| [bounds.low, bounds.high]),
    })
}

/// Between which values a machine is like the others.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    centre: f64,
    low: f64,
    high: f64,
}

impl Bounds {
    /// Costs are judged by their ratios, as their spread grows with them; what may be 0 or less by its differences.
    fn from_figures(figures: &Figures, chance: f64, margin: f64) -> Option<Self> {
        Self::of_values(&figures.values.iter().map(|(_, value)| *value).collect::<Vec<_>>(), chance, margin)
    }

    fn of_values(values: &[f64], chance: f64, margin: f64) -> Option<Self> {
        let far = outlying::limit(values.len(), chance);
        if values.iter().all(|value| *value > 0.0) {
            let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
            let most = Most::from_values(&logs)?;
            let reach = (far * most.scale).max((1.0 + margin).ln());
            let of = |log: f64| log.exp();
            return Some(Self {
                centre: of(most.centre),
                low: of(most.centre - reach),
                high: of(most.centre + reach),
            });
        }
        let most = Most::from_values(values)?;
        let reach = (far * most.scale).max(margin * most.centre.abs());
        Some(Self { centre: most.centre, low: most.centre - reach, high: most.centre + reach })
    }
}

#[cfg(test)]
mod tests;

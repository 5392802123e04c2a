//! The machines that lie apart, with what is known of each that is not so of the others.

use super::{Bounds, Survey};
use serde::Serialize;
use std::collections::BTreeMap;
use tickmark_stats::order::largest_first;
use tickmark_wire::Better;

use crate::report::Unit;

/// A fact that so few machines share is told of each of them.
const RARE: f64 = 0.1;

/// A machine that lies apart.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutlierNode {
    /// Its name.
    pub node: String,
    /// Its recording.
    pub recording: Option<String>,
    /// In what: what is worse before what is better, the farthest first.
    pub apart: Vec<OutlyingMetric>,
    /// Findings of the doctor on it.
    pub found: Vec<DoctorFinding>,
    /// Facts in which it differs from the others.
    pub unlike: Vec<DistinguishingFact>,
}

/// A value that lies apart.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutlyingMetric {
    /// Of what.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// The machine's value.
    pub value: f64,
    /// The median of all machines.
    pub median: f64,
    /// True if it lies on the worse side.
    pub worse: bool,
}

impl OutlyingMetric {
    /// By how much it is off, whichever way, as a ratio; of what may be 0 or less the difference over the median.
    fn size(&self) -> f64 {
        let ratio = self.value / self.median;
        if ratio > 0.0 {
            ratio.ln().abs()
        } else {
            (self.value - self.median).abs() / self.median.abs().max(1e-12)
        }
    }
}

/// A finding of the doctor.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DoctorFinding {
    /// Which check.
    pub check: String,
    /// On how many machines it is, this one with them.
    pub nodes: usize,
    /// Its share of a CPU, at an assumed 100,000 calls and 1,000 wake-ups a second.
    pub weight: Option<f64>,
}

/// A fact that is another on this machine.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DistinguishingFact {
    /// Its name.
    pub fact: String,
    /// Value on this machine.
    pub value: String,
    /// Value on most machines.
    pub usual: String,
}

/// Decides which nodes are outliers: those on the worse side in anything, and those on the other side alone; the worst first.
pub(super) fn find_outliers(
    survey: &Survey,
    bounds: &[Option<Bounds>],
) -> (Vec<OutlierNode>, Vec<OutlierNode>) {
    let mut all: BTreeMap<usize, (Vec<OutlyingMetric>, bool)> = BTreeMap::new();
    for (figures, bounds) in survey.figures.iter().zip(bounds) {
        let Some(bounds) = bounds else { continue };
        for (node, value) in &figures.values {
            if (bounds.low..=bounds.high).contains(value) {
                continue;
            }
            let worse = match figures.better {
                Better::Lower => *value > bounds.high,
                Better::Higher => *value < bounds.low,
                _ => true,
            };
            let (apart, bad) = all.entry(*node).or_default();
            *bad |= worse;
            apart.push(OutlyingMetric {
                metric: figures.metric.clone(),
                unit: figures.unit,
                value: *value,
                median: bounds.centre,
                worse,
            });
        }
    }
    let mut often: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &survey.findings {
        *often.entry(&finding.check).or_default() += 1;
    }
    let mut found: BTreeMap<usize, Vec<DoctorFinding>> = BTreeMap::new();
    for finding in survey.findings.iter().filter(|finding| all.contains_key(&finding.node)) {
        let nodes = often.get(finding.check.as_str()).copied().unwrap_or(1);
        found.entry(finding.node).or_default().push(DoctorFinding {
            check: finding.check.clone(),
            nodes,
            weight: finding.weight,
        });
    }
    let mut unlike = unlike(survey, &|node| all.contains_key(&node));
    let (mut worst, mut better) = (Vec::new(), Vec::new());
    for (node, (mut apart, bad)) in all {
        apart.sort_by(|a, b| b.worse.cmp(&a.worse).then(b.size().total_cmp(&a.size())));
        let known = &survey.nodes[node];
        let mut found = found.remove(&node).unwrap_or_default();
        // What few have explains more than what all have.
        found.sort_by_key(|one| one.nodes);
        let one = OutlierNode {
            node: known.name.clone(),
            recording: known.recording.clone(),
            apart,
            found,
            unlike: unlike.remove(&node).unwrap_or_default(),
        };
        if bad { worst.push(one) } else { better.push(one) }
    }
    let size = |one: &OutlierNode| one.apart.first().map_or(0.0, OutlyingMetric::size);
    largest_first(&mut worst, size);
    largest_first(&mut better, size);
    (worst, better)
}

/// The facts of some machines that are others than on most.
fn unlike(survey: &Survey, wanted: &dyn Fn(usize) -> bool) -> BTreeMap<usize, Vec<DistinguishingFact>> {
    let mut all: BTreeMap<usize, Vec<DistinguishingFact>> = BTreeMap::new();
    for facts in &survey.facts {
        let mut often = vec![0usize; facts.words.len()];
        facts.values.iter().for_each(|(_, word)| often[*word as usize] += 1);
        let total = facts.values.len();
        let Some(usual) = (0..often.len()).max_by_key(|word| often[*word]) else { continue };
        // Where most differ from each other none is unlike the others.
        if often[usual] * 2 < total {
            continue;
        }
        for (node, word) in facts.values.iter().filter(|(node, _)| wanted(*node)) {
            let word = *word as usize;
            let rare = often[word] as f64 <= (RARE * total as f64).max(1.0);
            if word != usual && rare {
                all.entry(*node).or_default().push(DistinguishingFact {
                    fact: facts.name.clone(),
                    value: facts.words[word].clone(),
                    usual: facts.words[usual].clone(),
                });
            }
        }
    }
    all
}

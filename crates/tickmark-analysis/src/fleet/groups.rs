//! Groups of machines that differ from all others: by kernel, firmware, clock source, whatever a fact tells apart.

use super::{Rule, Survey};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::median;
use tickmark_stats::multiple::holm;
use tickmark_stats::order::largest_first;
use tickmark_stats::rank::mann_whitney;

use crate::report::Unit;

/// A smaller group says nothing, and neither does one of all others.
const FEWEST: usize = 3;
/// Facts of more values tell machines apart, and no groups.
const MOST: usize = 40;

/// The machines that share the value of a fact.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Set {
    /// The facts that have this value on these machines alone: name and value.
    pub facts: Vec<(String, String)>,
    /// How many machines.
    pub nodes: usize,
}

/// A group whose figures differ from those of all other machines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The group.
    pub set: Set,
    /// In what.
    pub metric: String,
    /// Its unit.
    pub unit: Unit,
    /// The group's median.
    pub median: f64,
    /// That of the others.
    pub others: f64,
    /// The chance of a difference this clear where there is none (Mann and Whitney's test), adjusted for all groups and metrics by Holm.
    pub p: f64,
}

impl Difference {
    /// One over the other.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.median / self.others
    }
}

/// The groups that differ, the largest difference first.
pub(super) fn differences(survey: &Survey, rule: Rule) -> Vec<Difference> {
    let sets = sets(survey);
    let mut all = Vec::new();
    for (members, facts) in &sets {
        let mut is_member = vec![false; survey.nodes.len()];
        members.iter().for_each(|node| is_member[*node] = true);
        for figures in &survey.figures {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for (node, value) in &figures.values {
                if is_member[*node] { own.push(*value) } else { others.push(*value) }
            }
            if own.len() < FEWEST || others.len() < FEWEST {
                continue;
            }
            let Some(test) = mann_whitney(&others, &own) else { continue };
            let (Some(median), Some(rest)) = (median(own), median(others)) else { continue };
            let set = Set { facts: facts.clone(), nodes: members.len() };
            all.push(Difference {
                set,
                metric: figures.metric.clone(),
                unit: figures.unit,
                median,
                others: rest,
                p: test.p,
            });
        }
    }
    let adjusted = holm(&all.iter().map(|one| one.p).collect::<Vec<_>>());
    for (one, p) in all.iter_mut().zip(adjusted) {
        one.p = p;
    }
    all.retain(|one| {
        let apart = (one.median - one.others).abs() > rule.margin * one.others.abs();
        one.p < rule.false_alarm && apart
    });
    let size = |one: &Difference| if one.ratio() > 0.0 { one.ratio().ln().abs() } else { f64::MAX };
    largest_first(&mut all, size);
    all
}

/// Groups by their members: facts that tell the same machines apart are one group.
fn sets(survey: &Survey) -> BTreeMap<BTreeSet<usize>, Vec<(String, String)>> {
    let mut sets: BTreeMap<BTreeSet<usize>, Vec<(String, String)>> = BTreeMap::new();
    for facts in survey.facts.iter().filter(|facts| (2..=MOST).contains(&facts.words.len())) {
        let mut members: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); facts.words.len()];
        facts.values.iter().for_each(|(node, word)| {
            members[*word as usize].insert(*node);
        });
        // Of two values one group is the other's rest: the smaller one is told.
        let both = facts.words.len() == 2 && members[0].len() >= members[1].len();
        for (word, members) in members.into_iter().enumerate() {
            let rest = facts.words.len() == 2 && (word == 0) == both;
            if members.len() >= FEWEST && !rest {
                sets.entry(members).or_default().push((facts.name.clone(), facts.words[word].clone()));
            }
        }
    }
    sets
}

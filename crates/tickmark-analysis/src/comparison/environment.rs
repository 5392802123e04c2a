//! Differences between the environments of two sides.

use super::side::Side;
use crate::noise;
use std::collections::BTreeMap;
use tickmark_store::Recording;

/// One fact that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Of the fact.
    pub name: String,
    /// Its value on the first side.
    pub base: String,
    /// On the other.
    pub other: String,
}

/// A side that lost more than this, and so many times as much as the other, was noisy.
const NOISY: f64 = 0.01;
const TIMES: f64 = 2.0;
/// Facts that change by themselves.
const SELF_CHANGING: [&str; 3] = ["state.", "cgroup.memory.stat", "cgroup.memory.usage"];

/// Every fact that differs between the first recordings of two sides, or within a side.
pub(super) fn differences(base: &Side, other: &Side) -> Vec<Difference> {
    let mut all = between(&base.recordings, &other.recordings);
    all.extend(noise(&base.recordings, &other.recordings));
    all
}

/// Warns that a watched CPU lost far more time beside its tick on one side: a slower result may come from that.
fn noise(base: &[Recording], other: &[Recording]) -> Option<Difference> {
    let (first, second) = (Lost::from_recording(base.first()?)?, Lost::from_recording(other.first()?)?);
    let (least, most) = (first.share.min(second.share), first.share.max(second.share));
    (most > NOISY && most > TIMES * least).then(|| Difference {
        name: "lost to others while the tick was measured".to_owned(),
        base: first.to_string(),
        other: second.to_string(),
    })
}

/// The share of a CPU that something else had than the loop and the tick, and what most of it was.
struct Lost {
    share: f64,
    most: String,
}

impl Lost {
    /// Of all runs of the tick's probe; none where there are none.
    fn from_recording(recording: &Recording) -> Option<Self> {
        let noise = noise::summarize_noise(recording)?;
        Some(Self {
            share: noise.others().map(|(_, share)| share).sum(),
            most: noise.others().next().map(|(what, _)| what.code()).unwrap_or_default(),
        })
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} %", self.share * 100.0)?;
        if self.most.is_empty() { Ok(()) } else { write!(f, " (most: {})", self.most) }
    }
}

/// The same of recordings.
pub(crate) fn between(base: &[Recording], other: &[Recording]) -> Vec<Difference> {
    let (first, second) = (facts(base), facts(other));
    let names: std::collections::BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let none = || "not recorded".to_owned();
    let differ = |name: &&String| first.get(*name) != second.get(*name);
    let one = |name: &String| Difference {
        name: name.clone(),
        base: first.get(name).cloned().unwrap_or_else(none),
        other: second.get(name).cloned().unwrap_or_else(none),
    };
    names.into_iter().filter(differ).map(one).collect()
}

/// The facts of recordings, joined where they do not agree.
fn facts(recordings: &[Recording]) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for recording in recordings {
        for (name, value) in configuration(recording) {
            let values = all.entry(name).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    all.into_iter().map(|(name, values)| (name, values.join(" or "))).collect()
}

/// Configuration alone: what changes by itself stands under `state.`.
fn configuration(recording: &Recording) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    for (name, fact) in recording.environment().into_iter().flat_map(tickmark_wire::Environment::iter) {
        if !SELF_CHANGING.iter().any(|prefix| name.starts_with(prefix)) {
            facts.push((name.to_owned(), fact.value.clone().unwrap_or_else(|| "unknown".to_owned())));
        }
    }
    let settings = &recording.meta.plan.settings;
    if recording.imported.is_none() {
        let slack = settings.slack.map_or("the system's".to_owned(), |slack| format!("{} ns", slack.get()));
        let priority = recording.sessions.first().map_or(settings.priority, |hello| hello.settled.priority);
        // Turned as a knob, it is the slack of the agent too, and one fact.
        if recording.meta.arm.as_ref().is_none_or(|arm| arm.knob != "slack") {
            facts.push(("settings.slack".to_owned(), slack));
        }
        facts.push(("settings.priority".to_owned(), priority.to_string()));
        facts.push(("settings.small".to_owned(), settings.small.to_string()));
        facts.push(("tickmark".to_owned(), recording.meta.program.clone()));
    }
    facts
}

/// The experiment that turns what differs, if one knob does.
pub(super) fn knob(differences: &[Difference]) -> Option<String> {
    let knob = |difference: &Difference| {
        let name = match difference.name.as_str() {
            "clock.source" => "clocksource",
            "memory.thp" => "hugepages",
            "cpu.measured" => "cpu",
            "settings.priority" => "policy",
            "settings.slack" => "slack",
            "numa.balancing" => "sysctl:kernel.numa_balancing",
            "sched.autogroup" => "sysctl:kernel.sched_autogroup_enabled",
            "sched.rt_runtime_us" => "sysctl:kernel.sched_rt_runtime_us",
            _ => return None,
        };
        let bare = |value: &str| {
            let value = match value.split_once('[').and_then(|(_, rest)| rest.split_once(']')) {
                Some((chosen, _)) => chosen,
                None => value,
            };
            if value == "the system's" { "50us".to_owned() } else { value.replace(' ', "") }
        };
        Some(format!("{name}={},{}", bare(&difference.base), bare(&difference.other)))
    };
    // Where more differs than the CPU, the rest is the question.
    let found: Vec<(&Difference, String)> = differences.iter().filter_map(|d| Some((d, knob(d)?))).collect();
    let first = found.iter().find(|(difference, _)| difference.name != "cpu.measured").or(found.first());
    first.map(|(_, knob)| knob.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_that_a_knob_turns() {
        let d = |name: &str, base: &str, other: &str| Difference {
            name: name.to_owned(),
            base: base.to_owned(),
            other: other.to_owned(),
        };
        assert_eq!(
            knob(&[d("cpu.measured", "0", "1"), d("clock.source", "tsc", "hpet")]),
            Some("clocksource=tsc,hpet".to_owned())
        );
        let thp = d("memory.thp", "[always] madvise never", "always madvise [never]");
        assert_eq!(knob(&[thp]), Some("hugepages=always,never".to_owned()));
        assert_eq!(knob(&[d("kernel.release", "6.1", "6.2")]), None);
    }
}

//! Blocks that are added to an experiment: which one, and its recordings.

use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use tickmark_analysis::comparison::{Line, Model, NoClaimReason, Word};
use tickmark_drive::Experiment;
use tickmark_drive::experiment::Added;
use tickmark_store::{Arm, Entry, Id, Recording, Status, Store};
use tickmark_wire::{Name, RunPlan};

/// More blocks than this are not offered.
pub(in crate::command) const MANY: usize = 1000;
/// So many blocks an experiment has at least.
const LEAST: usize = 2;

/// An experiment that was made before.
pub(in crate::command) struct Before {
    pub(in crate::command) added: Added,
    /// Its recordings, of each setting in the order in which they were begun.
    pub(in crate::command) parts: Vec<Vec<Id>>,
}

/// The last experiment of these settings and metrics.
///
/// # Errors
/// There is none, or it speaks of another boot.
pub(in crate::command) fn before(store: &Store, wanted: &Experiment) -> Result<Before, Error> {
    let mut experiments: BTreeMap<String, Vec<(Arm, Entry)>> = BTreeMap::new();
    for entry in store.list()? {
        if let Some(arm) = entry.arm.clone().filter(|arm| !arm.pilot && arm.knob == wanted.knob_name) {
            experiments.entry(arm.experiment.clone()).or_default().push((arm, entry));
        }
    }
    // All settings of it, and no others.
    let fits = |(arm, _): &(Arm, Entry)| wanted.settings.get(arm.number as usize) == Some(&arm.setting);
    experiments.retain(|_, own| own.iter().all(fits));
    let last = |own: &Vec<(Arm, Entry)>| own.iter().map(|(_, entry)| entry.created).max();
    let mut experiments: Vec<(String, Vec<(Arm, Entry)>)> = experiments.into_iter().collect();
    experiments.sort_by_key(|(_, own)| std::cmp::Reverse(last(own)));
    for (experiment, own) in experiments {
        let mut parts: Vec<Vec<Entry>> = vec![Vec::new(); wanted.settings.len()];
        for (arm, entry) in own {
            parts[arm.number as usize].push(entry);
        }
        let recordings: Vec<Recording> =
            parts.iter().flatten().map(|entry| store.read(&entry.id)).collect::<Result<_, _>>()?;
        if parts.iter().any(Vec::is_empty) || !recordings.iter().all(|one| measures(one, wanted)) {
            continue;
        }
        let now = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let booted = booted();
        // What commands alone measured does not say in which boot.
        let since = |entry: &Entry| booted.is_none_or(|booted| entry.created >= booted);
        let same =
            |entry: &Entry| entry.boot.as_deref().map_or_else(|| since(entry), |boot| boot == now.trim());
        if let Some(other) = parts.iter().flatten().find(|entry| !same(entry)) {
            return Err(Error::Usage(format!(
                "the last experiment of these settings ({}) was made before this boot: an experiment speaks of one boot; begin another \
                 without --more",
                other.id
            )));
        }
        let made = recordings.iter().flat_map(|one| &one.runs).filter(|run| run.status != Status::Open);
        let blocks = made.map(|run| run.planned.round).max().unwrap_or(0);
        let in_order = |mut own: Vec<Entry>| {
            own.sort_by_key(|entry| entry.created);
            own.into_iter().map(|entry| entry.id).collect()
        };
        return Ok(Before {
            added: Added { experiment, blocks },
            parts: parts.into_iter().map(in_order).collect(),
        });
    }
    Err(Error::Usage(format!(
        "--more: no experiment of {}={} with these probes, commands and options is in the store",
        wanted.knob_name,
        wanted.settings.join(",")
    )))
}

/// When this machine was booted, to some seconds.
fn booted() -> Option<jiff::Timestamp> {
    let up = std::fs::read_to_string("/proc/uptime").ok()?;
    let seconds = up.split_whitespace().next()?.parse::<f64>().ok()?;
    jiff::Timestamp::now().checked_sub(jiff::SignedDuration::from_secs_f64(seconds + 5.0)).ok()
}

/// True if a recording is of the metrics that are asked for, by the same commands and with the same settings of its processes.
fn measures(recording: &Recording, options: &Experiment) -> bool {
    let number = recording.meta.arm.as_ref().map_or(0, |arm| arm.number as usize);
    if recording.meta.plan.settings != options.given(number) || recording.meta.select != options.commands() {
        return false;
    }
    let planned: BTreeSet<&str> =
        recording.meta.plan.runs.iter().flat_map(RunPlan::metrics).map(Name::as_str).collect();
    let probes = options.probes.iter().flat_map(|offer| &offer.metrics).map(|metric| metric.name.as_str());
    planned == probes.chain(options.outcomes.iter().map(|outcome| outcome.name.as_str())).collect()
}

/// How many blocks more would decide what is undecided; `with_more` is the command that adds so many.
pub(in crate::command) fn needed(model: &Model, with_more: impl Fn(usize) -> String) -> Option<String> {
    let lines = || model.against.iter().flat_map(|against| &against.lines);
    let undecided = lines().filter(|line| line.word == Word::Undecided).count();
    let missing = |line: &Line| match line.why {
        Some(NoClaimReason::Needs(needed)) => needed.checked_sub(line.replicates[0]),
        _ => None,
    };
    // An experiment has two blocks at least.
    let missing: Vec<usize> = lines().filter_map(missing).map(|blocks| blocks.max(LEAST)).collect();
    let within = || missing.iter().filter(|missing| **missing <= MANY);
    let Some((least, most)) = within().min().zip(within().max()) else {
        let fewest = missing.iter().min()?;
        return Some(format!(
            "none of {undecided} undecided figures would be decided by less than some {fewest} blocks more"
        ));
    };
    let count = |within: usize| missing.iter().filter(|missing| **missing <= within).count();
    let all = if most > least { format!(", `--more {most}` {}", count(*most)) } else { String::new() };
    let beyond = missing.len() - within().count();
    let rest = if beyond > 0 { format!("; {beyond} would take more than {MANY}") } else { String::new() };
    Some(format!(
        "next: `--more {least}` would decide {} of {undecided} undecided figures{all}, each in 4 of 5 cases{rest}\nnext: {}",
        count(*least),
        with_more(*least)
    ))
}

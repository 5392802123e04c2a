//! The last recordings of experiments, as they stand in a store.

use crate::command::{arms, document};
use crate::error::Error;
use tickmark_analysis::paper::MeasuredGroup;
use tickmark_store::{Entry, Id, Recording, Store};

/// Below which changes do not matter.
const MARGIN: f64 = 0.01;

/// Of each experiment and each of its machines what was measured last.
pub(super) fn groups(store: &Store, experiments: &[String]) -> Result<Vec<MeasuredGroup>, Error> {
    let mut entries = store.list()?;
    entries.sort_by_key(|entry| entry.created);
    let mut groups = Vec::new();
    for experiment in experiments {
        for (machine, ids) in last(&entries, experiment) {
            groups.push(group(store, experiment, machine, &ids)?);
        }
    }
    Ok(groups)
}

/// Recordings that were made together: the newest of a machine.
struct Newest {
    machine: String,
    /// What its recordings share.
    made: String,
    /// Number of its setting, and recording.
    ids: Vec<(u32, Id)>,
}

/// Machines of an experiment in the order of their measurement, with the recordings of their settings.
fn last(entries: &[Entry], experiment: &str) -> Vec<(String, Vec<Id>)> {
    let mut found: Vec<Newest> = Vec::new();
    // What is under way, or was ended, is shown where there is nothing else.
    let own = |complete: bool| {
        let is_own = move |entry: &&Entry| entry.runs_ok > 0 && !entry.imported && entry.complete == complete;
        entries.iter().filter(is_own)
    };
    let has_whole = |experiment: &str| own(true).any(|entry| place(entry, experiment).is_some());
    let whole = has_whole(experiment);
    // Recordings of a few probes (`lab run NAME PROBE`) do not replace those of all.
    let most = |machine: &str| {
        let same =
            own(whole).filter(|entry| place(entry, experiment).is_some_and(|(own, ..)| own == machine));
        same.map(|entry| entry.metrics).max().unwrap_or(0)
    };
    for entry in own(whole) {
        let Some((machine, made, number)) = place(entry, experiment) else { continue };
        if entry.metrics * 2 < most(machine) {
            continue;
        }
        let id = (number, entry.id.clone());
        match found.iter_mut().find(|newest| newest.machine == machine) {
            Some(newest) if newest.made == made => newest.ids.push(id),
            Some(newest) => (newest.made, newest.ids) = (made.to_owned(), vec![id]),
            None => {
                let (machine, made) = (machine.to_owned(), made.to_owned());
                found.push(Newest { machine, made, ids: vec![id] });
            }
        }
    }
    let ordered = found.into_iter().map(|mut newest| {
        newest.ids.sort();
        (newest.machine, newest.ids.into_iter().map(|(_, id)| id).collect())
    });
    ordered.collect()
}

/// The machine of a recording, what it shares with the others of its kind, and the number of its setting; none of another experiment's.
fn place<'a>(entry: &'a Entry, experiment: &str) -> Option<(&'a str, &'a str, u32)> {
    let Some(arm) = &entry.arm else {
        return (entry.name == experiment).then(|| ("", entry.id.short(), 0));
    };
    let machine = match arm.knob.split_once(", ") {
        Some((name, machine)) if name == experiment => machine,
        None if entry.name.split(':').next() == Some(experiment) => "",
        _ => return None,
    };
    (!arm.pilot).then_some((machine, arm.experiment.as_str(), arm.number))
}

/// When and on what a group was measured, and how often each probe ran.
pub(super) fn made(group: &MeasuredGroup) -> String {
    let Some(recording) = group.recordings.first() else { return String::new() };
    let fact = |name: &str| recording.environment().and_then(|facts| facts.get(name)).unwrap_or_default();
    let rounds = recording.runs.iter().map(|run| run.planned.round).max().unwrap_or(0);
    let unfinished = if group.recordings.iter().all(Recording::complete) { "" } else { ", not finished" };
    format!(
        "{}, {}, {}{unfinished}",
        recording.meta.created.strftime("%Y-%m-%d %H:%M"),
        fact("kernel.release"),
        tickmark_render::count(rounds, "run")
    )
}

fn group(store: &Store, experiment: &str, machine: String, ids: &[Id]) -> Result<MeasuredGroup, Error> {
    let recordings = ids.iter().map(|id| store.read(id)).collect::<Result<Vec<_>, _>>()?;
    let model = match ids.len() {
        0 | 1 => None,
        _ => Some(arms::model(store, &ids.iter().map(|id| vec![id.clone()]).collect::<Vec<_>>(), MARGIN)?),
    };
    let columns = document::columns(experiment, &recordings)?;
    let setting = |recording: &Recording| {
        recording.meta.arm.as_ref().map_or_else(String::new, |arm| arm.setting.clone())
    };
    let settings = recordings.iter().map(setting).collect();
    Ok(MeasuredGroup { experiment: experiment.to_owned(), machine, settings, recordings, model, columns })
}

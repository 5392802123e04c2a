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

/// Machines of an experiment in the order of their measurement, with the recordings of their settings.
fn last(entries: &[Entry], experiment: &str) -> Vec<(String, Vec<Id>)> {
    // By machine: the newest that made recordings, and these with the number of their setting.
    let mut found: Vec<(String, String, Vec<(u32, Id)>)> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.runs_ok > 0) {
        let (machine, made, number) = match &entry.arm {
            Some(arm) if arm.pilot => continue,
            Some(arm) => match arm.knob.split_once(", ") {
                Some((name, machine)) if name == experiment => (machine, arm.experiment.as_str(), arm.number),
                None if entry.name.split(':').next() == Some(experiment) => {
                    ("", arm.experiment.as_str(), arm.number)
                }
                _ => continue,
            },
            None if entry.name == experiment => ("", entry.id.short(), 0),
            None => continue,
        };
        let id = (number, entry.id.clone());
        match found.iter_mut().find(|(known, ..)| known == machine) {
            Some((_, newest, ids)) if newest == made => ids.push(id),
            Some((_, newest, ids)) => (*newest, *ids) = (made.to_owned(), vec![id]),
            None => found.push((machine.to_owned(), made.to_owned(), vec![id])),
        }
    }
    let ordered = found.into_iter().map(|(machine, _, mut ids)| {
        ids.sort();
        (machine, ids.into_iter().map(|(_, id)| id).collect())
    });
    ordered.collect()
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

//! Results of the settings of an experiment.

use crate::error::Error;
use tickmark_analysis::comparison::{CompareOptions, Model, RowSelection, Side};
use tickmark_analysis::report::{self, RowStatus};
use tickmark_store::{Id, Recording, Status, Store};

/// The comparison of its settings, each with its recordings; the first is what the others are compared with.
pub(in crate::command) fn model(store: &Store, settings: &[Vec<Id>], margin: f64) -> Result<Model, Error> {
    let read = |ids: &Vec<Id>| ids.iter().map(|id| store.read(id)).collect::<Result<Vec<_>, _>>();
    let sides = settings.iter().map(|ids| Ok(Side { recordings: read(ids)? }));
    let sides: Vec<Side> = sides.collect::<Result<_, Error>>()?;
    crate::command::compare::compared(store, &sides, CompareOptions::with_margin(margin), RowSelection::ALL)
}

/// Refuses recordings that have no figure at all.
///
/// # Errors
/// Why there is none.
pub(in crate::command) fn require_figure(store: &Store, ids: &[Id]) -> Result<(), Error> {
    let recordings: Vec<Recording> = ids.iter().filter_map(|id| store.read(id).ok()).collect();
    let runs = || recordings.iter().flat_map(Recording::requested_runs);
    let why = || runs().find_map(|run| run.status.reason().map(str::to_owned));
    if runs().any(|run| run.status == Status::Ok) {
        return Ok(());
    }
    let why = why().unwrap_or_else(|| "no run was made".to_owned());
    Err(Error::Refused(format!("no figure was obtained: {why}; saved as {}", Id::all(ids))))
}

/// Reasons that are said.
const REASONS: usize = 3;

/// Says what the system lacks for some of it: each reason once, the first of many.
pub(in crate::command) fn tell_lacking(store: &Store, ids: &[Id]) {
    let mut all: Vec<String> = Vec::new();
    for recording in ids.iter().filter_map(|id| store.read(id).ok()) {
        for run in recording.requested_runs() {
            if let Status::Unsupported(why) = &run.status
                && !all.contains(&why.message)
            {
                all.push(why.message.clone());
            }
        }
    }
    all.iter().take(REASONS).for_each(|why| crate::notice!("tickmark: not measured: {why}"));
    if let Some(more @ 1..) = all.len().checked_sub(REASONS) {
        crate::notice!("tickmark: and for {}", tickmark_render::count(more as u32, "other reason"));
    }
}

/// True if a run of a block that was made gave nothing for another reason than that the system lacks it.
pub(in crate::command) fn failed(store: &Store, ids: &[Id], made: u32) -> bool {
    let rows = |id: &Id| {
        let Ok(mut recording) = store.read(id) else { return true };
        recording.keep_runs(|run| run.planned.round <= made);
        let model = report::build(&recording, &|_| true, false);
        let bad = |status| {
            matches!(status, RowStatus::Partly | RowStatus::Failed | RowStatus::Timeout | RowStatus::Missing)
        };
        model.groups.iter().flat_map(|(_, rows)| rows).any(|row| bad(row.status))
    };
    ids.iter().any(rows)
}

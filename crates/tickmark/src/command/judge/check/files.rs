//! The gate on result files of other programs, without a store: new ones against earlier ones.

use super::found::{CheckedRecordings, program};
use super::{limits, verdict};
use crate::cli::Check;
use crate::command::gates::Gate;
use crate::command::import;
use crate::error::{Code, Error};
use crate::selection::Named;
use std::path::{Path, PathBuf};
use tickmark_analysis::gate;
use tickmark_import::{Imported, TableOptions};
use tickmark_store::{Recording, Store};

pub(super) fn run(options: &Check) -> Result<Code, Error> {
    let folder = tempfile::tempdir().map_err(Error::file("make", "a temporary folder"))?;
    let store = Store::at(Some(folder.path().to_owned()), |_| {})?;
    let read = |paths: &[PathBuf]| -> Result<Vec<Recording>, Error> {
        let mut all = Vec::new();
        for path in paths {
            match path.is_dir() {
                true if path.join("recordings").is_dir() => all.extend(from_store(path)?),
                true => {
                    for file in files_in(path)? {
                        all.extend(from_file(&store, &file)?);
                    }
                }
                false => all.extend(from_file(&store, path)?),
            }
        }
        Ok(all)
    };
    let (mut earlier, mut new) = (read(&options.history)?, read(&options.new)?);
    if new.is_empty() {
        earlier.sort_by_key(|recording| recording.meta.created);
        new.extend(earlier.pop());
    }
    let Some(first) = new.first() else {
        return Err(Error::Usage("--history has no imported result".to_owned()));
    };
    let tool = |recording: &Recording| recording.imported.as_ref().map(|from| program(&from.tool));
    if let Some(other) = new.iter().find(|other| tool(other) != tool(first)) {
        return Err(Error::Usage(format!(
            "{} and {} are of different programs",
            first.meta.name, other.meta.name
        )));
    }
    if !options.max.is_empty() || !options.min.is_empty() {
        return limits::run(first, options);
    }
    let all = earlier.len();
    earlier.retain(|recording| tool(recording) == tool(first));
    if all > earlier.len() {
        anstream::eprintln!(
            "tickmark: warning: {} of another program left out",
            tickmark_render::count((all - earlier.len()) as u32, "earlier result")
        );
    }
    earlier.truncate(gate::MOST);
    let found = CheckedRecordings { earlier, new };
    let only = Named::new(
        "--only",
        &options.only,
        found.new.iter().flat_map(|recording| &recording.meta.plan.metrics),
    );
    let figures = |recording: &Recording| gate::figures(recording, &|group, row| only.picks(group, row));
    let is_empty = found.new.iter().all(|recording| figures(recording).is_empty());
    only.each_fits()?;
    if is_empty {
        return Err(Error::Usage(format!("{} has no figure to judge", found.new[0].meta.name)));
    }
    verdict(&store, "files", &Gate::default(), &found, options, &figures)
}

/// The files of a folder, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::file("read", folder))?;
    let mut all: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    all.sort();
    Ok(all)
}

/// The imported recordings of a store.
fn from_store(path: &Path) -> Result<Vec<Recording>, Error> {
    let store = Store::at(Some(path.to_owned()), |_| {})?;
    let mut entries = store.list()?;
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.created));
    let imported = entries.iter().filter(|entry| entry.imported && entry.complete).take(gate::MOST);
    imported.map(|entry| Ok(store.read(&entry.id)?)).collect()
}

/// The results of a file, each as a recording.
fn from_file(store: &Store, path: &Path) -> Result<Vec<Recording>, Error> {
    let text = import::text(path)?;
    let (found, _) = tickmark_import::read(&[text], &TableOptions::default()).map_err(Error::Usage)?;
    let names = Imported::names(&found);
    found.iter().zip(&names).map(|(one, name)| Ok(store.read(&import::keep(store, one, name)?)?)).collect()
}

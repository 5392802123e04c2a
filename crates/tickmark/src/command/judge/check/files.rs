//! The gate on result files of other programs, without a store: new ones against earlier ones.

use super::found::{CheckedRecordings, program_settings};
use super::{Gathered, limits, verdict};
use crate::cli::Check;
use crate::command::gates::Gate;
use crate::command::import;
use crate::error::{Code, Error};
use crate::selection::Named;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tickmark_analysis::gate;
use tickmark_import::{Imported, TableOptions};
use tickmark_render::gate::Suite;
use tickmark_store::{Recording, Store};
use tickmark_wire::text::printable;

/// A result, and the name that tells it from others of its file.
struct FileResult {
    part: ResultPart,
    recording: Recording,
}

/// What tells results of one file apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum ResultPart {
    /// The file has one: its own name is another one each time.
    Whole,
    /// A command, a suite, a host.
    Named(String),
    /// A recording of a store, which may be either.
    Recording(String),
}

impl ResultPart {
    fn is_history_of(&self, new: &Self) -> bool {
        match (self, new) {
            (Self::Recording(name), Self::Named(own)) => name == own,
            (Self::Recording(_), Self::Whole) => true,
            _ => self == new,
        }
    }
}

pub(super) fn run(options: &Check, gathered: &mut Gathered) -> Result<Code, Error> {
    let folder = tempfile::tempdir().map_err(Error::file("make", "a temporary folder"))?;
    let store = Store::at(Some(folder.path().to_owned()), |_| {})?;
    let (mut new, mut known) = (Vec::new(), BTreeSet::new());
    for path in options.new.iter().filter(|path| known.insert(own_path(path))) {
        new.extend(from_file(&store, path, true)?);
    }
    let mut earlier = history(&store, &options.history, &mut known)?;
    earlier.sort_by_key(|result| std::cmp::Reverse(result.recording.meta.created));
    if new.is_empty() {
        let newest = earlier.first().map(|result| result.recording.meta.created);
        new = earlier.extract_if(.., |result| Some(result.recording.meta.created) == newest).collect();
    }
    if new.is_empty() {
        return Err(Error::Usage("--history has no imported result".to_owned()));
    }
    if !options.max.is_empty() || !options.min.is_empty() {
        return limits(&new, options, &mut gathered.suites);
    }
    let key = |result: &FileResult| (result.part.clone(), program_settings(&result.recording));
    let groups: BTreeSet<(ResultPart, String)> = new.iter().map(key).collect();
    let metrics = new.iter().flat_map(|result| &result.recording.meta.plan.metrics);
    let only = Named::new("--only", &options.only, metrics);
    let figures = |recording: &Recording| gate::figures(recording, &|group, row| only.picks(group, row));
    let mut judged = Vec::new();
    for (part, settings) in groups {
        let is_history = |result: &&FileResult| {
            result.part.is_history_of(&part) && program_settings(&result.recording) == settings
        };
        let own = |all: &[FileResult]| -> Vec<Recording> {
            all.iter().filter(is_history).map(|result| result.recording.clone()).collect()
        };
        let mut found = CheckedRecordings { earlier: own(&earlier), new: own(&new), older: None };
        found.earlier.truncate(gate::MOST);
        // --only may name metrics of some.
        if found.new.iter().any(|recording| !figures(recording).is_empty()) {
            judged.push(found.of_today(&Gate::default(), &figures));
        }
    }
    only.each_fits()?;
    if judged.is_empty() {
        return Err(Error::Usage(format!("{} has no figure to judge", new[0].recording.meta.name)));
    }
    let several = judged.len() > 1;
    let mut codes = Vec::new();
    for found in &judged {
        if several && options.format == crate::cli::CheckFormat::Text {
            crate::command::print(&format!("{}:\n", printable(&found.new[0].meta.name, false)))?;
        }
        match verdict(&store, "files", &Gate::default(), found, options, &figures, gathered) {
            Err(Error::Unjudged(why)) if several => {
                crate::notice!("tickmark: {why}");
                gathered.unjudged.push((found.new[0].meta.name.clone(), why));
                codes.push(Code::Unjudged);
            }
            code => codes.push(code?),
        }
    }
    Ok(worst(codes))
}

/// Judges each result that has a metric with a limit.
///
/// # Errors
/// A limit of a metric that no result has.
fn limits(new: &[FileResult], options: &Check, suites: &mut Vec<Suite>) -> Result<Code, Error> {
    let has = |result: &FileResult, name: &str| {
        result.recording.meta.plan.metrics.iter().any(|metric| metric.name.as_str() == name)
    };
    let names = || options.max.iter().chain(&options.min).map(|(name, _)| name);
    if let Some(name) = names().find(|name| !new.iter().any(|result| has(result, name))) {
        return Err(Error::Usage(format!("{}: no result has the metric {name}", new[0].recording.meta.name)));
    }
    let own = new.iter().filter(|result| names().any(|name| has(result, name)));
    let codes = own.map(|result| limits::run(&result.recording, options, true, suites));
    Ok(worst(codes.collect::<Result<Vec<_>, _>>()?))
}

/// The code of all: a change, else something that is not judged.
fn worst(codes: Vec<Code>) -> Code {
    let rank = |code: &Code| match code {
        Code::Differs => 2,
        Code::Done => 0,
        _ => 1,
    };
    codes.into_iter().max_by_key(rank).unwrap_or(Code::Done)
}

/// A path by which a file is known, however it was named.
fn own_path(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Earlier results: files, those of folders, and imported recordings of stores. A file that is no result is named and left out; one that is
/// `known` counts once, and a new one not among the earlier.
fn history(
    store: &Store,
    paths: &[PathBuf],
    known: &mut BTreeSet<PathBuf>,
) -> Result<Vec<FileResult>, Error> {
    let mut all = Vec::new();
    for path in paths {
        if !known.insert(own_path(path)) {
            continue;
        }
        match path.is_dir() {
            true if path.join("recordings").is_dir() => all.extend(from_store(path)?),
            true => {
                for file in files_in(path)?.iter().filter(|file| known.insert(own_path(file))) {
                    match from_file(store, file, false) {
                        Ok(found) => all.extend(found),
                        Err(error) => crate::notice!("tickmark: warning: left out: {error}"),
                    }
                }
            }
            false => all.extend(from_file(store, path, false)?),
        }
    }
    Ok(all)
}

/// The files of a folder, the newest names last.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = std::fs::read_dir(folder).map_err(Error::file("read", folder))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut all: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    all.sort();
    Ok(all.split_off(all.len().saturating_sub(MOST_FILES)))
}

/// More files of a folder are not read, the oldest names first.
const MOST_FILES: usize = 4 * gate::MOST;

/// The imported recordings of a store.
fn from_store(path: &Path) -> Result<Vec<FileResult>, Error> {
    let store = Store::at(Some(path.to_owned()), |_| {})?;
    let mut entries = store.list()?;
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.created));
    let imported = entries.iter().filter(|entry| entry.imported && entry.complete).take(MOST_FILES);
    imported
        .map(|entry| {
            Ok(FileResult {
                part: ResultPart::Recording(entry.name.clone()),
                recording: store.read(&entry.id)?,
            })
        })
        .collect()
}

/// The results of a file. `is_told` says what was left out of it.
fn from_file(store: &Store, path: &Path, is_told: bool) -> Result<Vec<FileResult>, Error> {
    let text = import::text(path)?;
    let name = text.0.clone();
    let (found, warnings) = tickmark_import::read(&[text], &TableOptions::default()).map_err(Error::Usage)?;
    if is_told {
        let of = |one: &Imported| [one.remarks.clone(), one.left_out.clone()].concat();
        for why in found.iter().flat_map(of).chain(warnings) {
            crate::notice!("tickmark: warning: {name}: {}", printable(&why, false));
        }
    }
    let names = Imported::names(&found);
    let keep = |(one, own): (&Imported, &String)| {
        let part = if one.is_named_by_file { ResultPart::Whole } else { ResultPart::Named(own.clone()) };
        Ok(FileResult { part, recording: store.read(&import::write_recording(store, one, own)?)? })
    };
    found.iter().zip(&names).map(keep).collect()
}

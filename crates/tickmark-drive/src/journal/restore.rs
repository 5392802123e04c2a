//! Puts back what killed experiments left.

use super::lock::{Named, forget, is_own, named, open_careful, tried};
use super::{Page, Undo, remove, running};
use crate::Error;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The journals of a store.
pub(super) struct StoreJournals {
    /// Those whose experiment does not run any more: where, its page or why it cannot be read, and what keeps others from it.
    pub(super) journals: Vec<(PathBuf, Result<Page, String>, File)>,
    /// How many experiments run, or are being put back by another.
    pub(super) busy: usize,
}

/// Reads the journals of this user's folder in a store; those of another's are none of ours.
pub(super) fn left(store: &Path) -> StoreJournals {
    let mut left = StoreJournals { journals: Vec::new(), busy: 0 };
    let folder = store.join("experiments");
    if !is_own(&folder) {
        return left;
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let journals =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    let mut journals: Vec<PathBuf> = journals.collect();
    journals.sort();
    for path in journals {
        match free(&path) {
            Some(lock) => {
                // Read under the lock: who had it may have put it back.
                if path.exists() {
                    left.journals.push((path.clone(), Page::read(&path), lock));
                }
            }
            None => left.busy += 1,
        }
    }
    left
}

/// The lock of a journal whose experiment does not hold it: of an earlier version, the journal itself is locked.
fn free(path: &Path) -> Option<File> {
    if open_careful(path).is_ok_and(|file| !tried(&file)) {
        return None;
    }
    let lock = File::options().write(true).create(true).truncate(false).open(running(path)).ok()?;
    tried(&lock).then_some(lock)
}

/// Result of a restoration.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Restored settings, a line each.
    pub done: Vec<String>,
    /// Settings that could not be restored, or journals that could not be read, a line each.
    pub wrong: Vec<String>,
    /// Experiments that run, or are being put back by another: left alone.
    pub busy: usize,
}

/// Puts back what killed experiments of this user left on this machine: in this store, and in every other one that a lock names.
/// Each goes as far as it goes.
#[must_use]
pub fn restore(store: &Path) -> Restored {
    let Named { journals, wrong } = named();
    let mut restored = restore_store(store)
        .unwrap_or_else(|error| Restored { wrong: vec![error.to_string()], ..Restored::default() });
    let own = std::path::absolute(store).unwrap_or_default();
    let others =
        journals.iter().filter_map(|journal| journal.parent()?.parent()).filter(|other| *other != own);
    for other in others.collect::<BTreeSet<_>>() {
        match restore_store(other) {
            Ok(more) => restored.add(more),
            Err(error) => restored.wrong.push(error.to_string()),
        }
    }
    restored.wrong.extend(wrong);
    restored
}

impl Restored {
    fn add(&mut self, more: Self) {
        self.done.extend(more.done);
        self.wrong.extend(more.wrong);
        self.busy += more.busy;
    }
}

/// The same of one store. Journals of others are never carried out: they may say anything.
pub(super) fn restore_store(store: &Path) -> Result<Restored, Error> {
    let folder = store.join("experiments");
    match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Restored::default()),
        Err(error) => return Err(Error::file("read", folder)(error)),
        Ok(_) if !is_own(&folder) => {
            let place = folder.display();
            return Err(Error::Refused(format!(
                "{place} is another user's, or others can write it: what it holds was not carried out"
            )));
        }
        Ok(_) => {}
    }
    let (mut lines, mut wrong) = (Vec::new(), Vec::new());
    let left = left(store);
    for (path, page, _free) in left.journals {
        let place = path.display();
        match page {
            Err(why) => wrong.push(format!("{place} was not carried out ({why}): what it held is not known")),
            Ok(page) => match page.restore() {
                Ok(()) => {
                    lines.extend(page.pending().map(Undo::done));
                    remove(&path);
                    forget(&path);
                }
                Err(error) => wrong.push(format!(
                    "{error}; {place} lists what is left: restore it by hand, then remove that file"
                )),
            },
        }
    }
    Ok(Restored { done: lines, wrong, busy: left.busy })
}

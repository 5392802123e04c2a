//! Puts back what killed experiments left.

use super::journal::{Page, remove, running};
use super::lock::is_own;
use crate::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The journals of a store whose experiment does not run any more: its page, or why it cannot be read.
pub(super) fn left(store: &Path) -> Vec<(PathBuf, Result<Page, String>)> {
    let entries = std::fs::read_dir(store.join("experiments")).into_iter().flatten().flatten();
    let journals =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|kind| kind == "json"));
    let mut journals: Vec<PathBuf> = journals.filter(|path| !runs(path)).collect();
    journals.sort();
    journals.into_iter().map(|path| (path.clone(), Page::read(&path))).collect()
}

/// Whether its experiment holds its lock; of an earlier version, the journal itself.
fn runs(path: &Path) -> bool {
    let held = |path: &Path| File::open(path).is_ok_and(|file| file.try_lock().is_err());
    held(&running(path)) || held(path)
}

/// Puts back what killed experiments of this user left, each as far as it goes: what was put back, as lines. Journals of
/// others are never carried out: they may say anything.
///
/// # Errors
/// The first thing that could not be put back, or read; the rest was put back all the same.
pub(crate) fn restore(store: &Path) -> Result<Vec<String>, Error> {
    let folder = store.join("experiments");
    match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::store("read", folder)(error)),
        Ok(_) => {}
    }
    let (mut lines, mut wrong) = (Vec::new(), Vec::new());
    for (path, page) in left(store) {
        let place = path.display();
        if !is_own(&folder) || !is_own(&path) {
            wrong.push(format!("{place} is another user's, or others can write it: it was not carried out"));
            continue;
        }
        match page {
            Err(why) => wrong.push(format!("{place} cannot be read ({why}): what it held is not known")),
            Ok(page) => match page.restore() {
                Ok(()) => {
                    lines.extend(page.pending().map(super::journal::Undo::done));
                    remove(&path);
                }
                Err(error) => wrong.push(format!(
                    "{error}; what is left stands in {place}: remove it once it is put back by hand"
                )),
            },
        }
    }
    match wrong.split_first() {
        None => Ok(lines),
        Some((first, rest)) => {
            lines.iter().for_each(|line| anstream::eprintln!("{line}"));
            rest.iter().for_each(|line| anstream::eprintln!("tickmark: {line}"));
            Err(Error::Refused(first.clone()))
        }
    }
}

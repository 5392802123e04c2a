//! Where recordings are kept: a folder each, and an index over them that can be made again.
//!
//! A recording is written once, event by event, and never rewritten. This crate prints nothing, computes no figure and knows no
//! command line; what it cannot read it hands back as an error or as a warning of the recording.
//!
//! # Where things are
//!
//! - **Texts of others**: `tickmark-store/src/clean.rs` cleans them as a recording is read, `tickmark-wire/src/text.rs` says how.
#![forbid(unsafe_code)]

mod clean;
mod error;
pub mod files;
mod id;
mod index;
mod near;
mod read;
mod recording;
mod signature;
mod write;

pub use error::Error;
pub use id::Id;
pub use index::Entry;
pub use near::{did_you_mean, did_you_mean_or_all};
pub use read::load;
pub use recording::{Arm, COMMANDS, Elsewhere, Meta, Recording, Run, Span, Status};
pub use write::Writer;

use index::Index;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Mark of the recordings of `doctor`.
pub const DOCTOR: &str = "doctor";

/// A folder that is no recording is left alone for so long: somebody may be making one of it.
const SWEPT: Duration = Duration::from_secs(3600);

/// A store; nothing is made in it before something is kept.
pub struct Store {
    root: PathBuf,
    warn: fn(&Error),
    swept: std::sync::Once,
}

impl Store {
    /// The store at `root`, else `tickmark` in the user's data folder (XDG_DATA_HOME). `warn` hears of recordings that a list
    /// leaves out as they cannot be read.
    ///
    /// # Errors
    /// Where neither is known.
    pub fn at(root: Option<PathBuf>, warn: fn(&Error)) -> Result<Self, Error> {
        let data = || std::env::var_os("XDG_DATA_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
        let home = || std::env::var_os("HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
        let share = || home().map(|home| home.join(".local/share"));
        let default = || data().or_else(share).map(|folder| folder.join("tickmark"));
        root.or_else(default)
            .map(|root| Self { root, warn, swept: std::sync::Once::new() })
            .ok_or(Error::NoHome)
    }

    /// Its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn folder(&self, id: &Id) -> PathBuf {
        self.root.join("recordings").join(id.as_str())
    }

    /// Makes the folder that recordings are in, so that where it cannot be made is known before anything is measured.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn prepare(&self) -> Result<(), Error> {
        let folder = self.root.join("recordings");
        std::fs::create_dir_all(&folder).map_err(Error::file("make", &folder))
    }

    /// Begins a recording.
    ///
    /// # Errors
    /// A plan that could not be read again, or a folder that cannot be made.
    pub fn create(&self, meta: &Meta) -> Result<Writer, Error> {
        self.swept.call_once(|| self.sweep());
        // What could not be read again is not begun.
        if let Some(why) = clean::refuse(meta) {
            return Err(Error::Unkept(why));
        }
        Writer::create(&self.folder(&meta.id), meta)
    }

    /// Goes on with one: locks it, then reads what is there now.
    ///
    /// # Errors
    /// Another process writes it, or it cannot be read.
    pub fn resume(found: &Recording) -> Result<(Recording, Writer), Error> {
        let mut writer = Writer::open(&found.folder, &found.meta.id)?;
        let recording = load(&found.folder)?;
        if recording.torn {
            writer.end_line()?;
        }
        Ok((recording, writer))
    }

    /// Removes what kills in the first moments left: folders without meta.json that nobody has touched for an hour.
    fn sweep(&self) {
        let entries = std::fs::read_dir(self.root.join("recordings")).into_iter().flatten().flatten();
        for folder in entries.map(|entry| entry.path()).filter(|path| !path.join("meta.json").exists()) {
            let own = |file: std::io::Result<std::fs::DirEntry>| {
                file.is_ok_and(|file| {
                    ["meta.json.draft", "events.jsonl"].iter().any(|name| file.file_name() == *name)
                })
            };
            // What cannot be read is not known to be ours.
            let ours = std::fs::read_dir(&folder).is_ok_and(|mut files| files.all(own));
            let age = folder
                .symlink_metadata()
                .ok()
                .filter(std::fs::Metadata::is_dir)
                .and_then(|is| is.modified().ok()?.elapsed().ok());
            if ours && age.is_some_and(|age| age > SWEPT) {
                let _ = std::fs::remove_dir_all(&folder);
            }
        }
    }

    /// The id of a recording of this store: a folder that is called so elsewhere is none.
    ///
    /// # Errors
    /// None or more than one is meant.
    pub fn id(&self, name: &str) -> Result<Id, Error> {
        self.named(name).map(|entry| entry.id)
    }

    /// Removes a recording that nobody writes, with the transcripts of its guests.
    ///
    /// # Errors
    /// It is being written, or cannot be removed.
    pub fn delete(&self, id: &Id) -> Result<(), Error> {
        let folder = self.folder(id);
        self.read(id)?;
        let _locked = Writer::open(&folder, id)?;
        // Without meta.json it is no recording any more, whatever happens next.
        let meta = folder.join("meta.json");
        std::fs::remove_file(&meta).map_err(Error::file("remove", meta))?;
        std::fs::remove_dir_all(&folder).map_err(Error::file("remove", &folder))?;
        let _ = std::fs::remove_dir_all(self.transcripts(id));
        if Index::open_existing(&self.root).is_ok() && Index::open(&self.root)?.remove(id).is_err() {
            self.rebuild()?;
        }
        Ok(())
    }

    /// Gives a recording another name. A setting of an experiment keeps its own: it says which setting it is.
    ///
    /// # Errors
    /// A name that could not be found again, or a recording that keeps its own.
    pub fn rename(&self, id: &Id, name: &str) -> Result<(), Error> {
        let folder = self.folder(id);
        let locked = Writer::open(&folder, id)?;
        if let Some(arm) = self.read(id)?.meta.arm {
            return Err(Error::KeepsItsName { id: id.to_string(), knob: arm.knob });
        }
        if name.trim().is_empty() || name.contains('/') || name == "last" || name.starts_with("last~") {
            return Err(Error::NoName(name.to_owned()));
        }
        locked.rename(name)?;
        self.index(&folder);
        Ok(())
    }

    /// Where the transcripts of a recording's guests are, if it has any.
    #[must_use]
    pub fn transcripts(&self, id: &Id) -> PathBuf {
        self.root.join(write::TRANSCRIPTS).join(id.as_str())
    }

    /// Takes a recording away that this process has just made.
    pub fn discard(&self, id: &Id) {
        let _ = std::fs::remove_dir_all(self.folder(id));
    }

    /// Puts a recording into the index as it stands now. The index is a convenience: one that cannot be
    /// used is made again, and what cannot be written is read from the folders.
    pub fn index(&self, folder: &Path) {
        if let Ok(recording) = load(folder) {
            self.enter(&recording);
        }
    }

    /// The same of one that has been read.
    pub fn enter(&self, recording: &Recording) {
        let put = || Index::open(&self.root)?.put(std::iter::once(recording));
        if put().is_err() {
            let _ = self.rebuild();
        }
    }

    /// Every recording, oldest first. Recordings that the index does not know, or knows as unfinished,
    /// are read from their folders; without an index all are.
    ///
    /// # Errors
    /// The folder of recordings cannot be read.
    pub fn list(&self) -> Result<Vec<Entry>, Error> {
        let known = Index::open_existing(&self.root).and_then(|index| index.all()).unwrap_or_default();
        let mut known: BTreeMap<Id, Entry> =
            known.into_iter().map(|entry| (entry.id.clone(), entry)).collect();
        let mut entries = Vec::new();
        for id in self.ids()? {
            match known.remove(&id).filter(|entry| entry.complete) {
                Some(entry) => entries.push(entry),
                None => match self.read(&id) {
                    Ok(recording) => entries.push(Entry::from_recording(&recording)),
                    Err(error) => (self.warn)(&error),
                },
            }
        }
        entries.sort_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
        Ok(entries)
    }

    /// The value of a fact in each of these recordings that has it. Of those that the index does not know as finished the folders
    /// are read.
    #[must_use]
    pub fn fact(&self, name: &str, entries: &[Entry]) -> BTreeMap<Id, String> {
        let known = Index::open_existing(&self.root).and_then(|index| index.fact(name)).unwrap_or_default();
        let value = |entry: &Entry| match known.get(entry.id.as_str()) {
            Some(known) => known.clone(),
            None => index::facts(&self.read(&entry.id).ok()?)
                .find_map(|(own, value)| (own == name).then(|| value.to_owned())),
        };
        entries.iter().filter_map(|entry| Some((entry.id.clone(), value(entry)?))).collect()
    }

    /// Makes the index again from the folders; how many recordings it holds.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn rebuild(&self) -> Result<usize, Error> {
        let index = Index::fresh(&self.root)?;
        let mut count = 0;
        for id in self.ids()? {
            match self.read(&id) {
                Ok(recording) => {
                    index.put(std::iter::once(&recording))?;
                    count += 1;
                }
                Err(error) => (self.warn)(&error),
            }
        }
        Ok(count)
    }

    /// The recording of this id. A folder that holds another one is a copy: what is done to the one would happen to the other.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn read(&self, id: &Id) -> Result<Recording, Error> {
        let recording = load(&self.folder(id))?;
        if recording.meta.id == *id {
            return Ok(recording);
        }
        let why = format!("it is a copy of {}; give the folder to a command by its path", recording.meta.id);
        Err(Error::NotARecording { path: self.folder(id), why })
    }

    fn ids(&self) -> Result<Vec<Id>, Error> {
        let folder = self.root.join("recordings");
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::file("read", folder)(error)),
        };
        // A folder without meta.json is what a kill at the very start leaves: no recording.
        let made = entries.flatten().filter(|entry| entry.path().join("meta.json").exists());
        let id =
            |entry: std::fs::DirEntry| match Id::try_from(entry.file_name().to_string_lossy().into_owned()) {
                Ok(id) => Some(id),
                Err(why) => {
                    (self.warn)(&Error::NotARecording { path: entry.path(), why: why.to_owned() });
                    None
                }
            };
        Ok(made.filter_map(id).collect())
    }

    /// Reads the recording that `name` means: a path, `last`, `last~N`, an id or the beginning of one,
    /// or a name, of which the newest counts.
    ///
    /// # Errors
    /// None or more than one is meant, or it cannot be read.
    pub fn find(&self, name: &str) -> Result<Recording, Error> {
        self.find_usable(name, &|_| true)
    }

    /// The same where `last` means the last recording that measured something and that `is_usable`; what the doctor measured for
    /// itself is never the last. A recording that is named by anything else is given whatever it holds.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn find_usable(
        &self,
        name: &str,
        is_usable: &dyn Fn(&Recording) -> bool,
    ) -> Result<Recording, Error> {
        self.find_by(name, Entry::may_be_last, is_usable)
    }

    /// The same where what the doctor measured for itself may be the last, too: for the doctor.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn find_for_doctor(&self, name: &str) -> Result<Recording, Error> {
        self.find_by(name, |entry| !entry.failed(), &|_| true)
    }

    fn find_by(
        &self,
        name: &str,
        may_be_last: impl Fn(&Entry) -> bool,
        is_usable: &dyn Fn(&Recording) -> bool,
    ) -> Result<Recording, Error> {
        let Some(mut back) = last(name) else {
            // A name may have a slash, as a command's has; a path has a recording at its end.
            let (path, has_slash) = (Path::new(name), name.contains('/'));
            let is_recording = path.join("meta.json").exists();
            if has_slash && is_recording {
                return load(path);
            }
            return match self.named(name) {
                Ok(entry) => load(&self.folder(&entry.id)),
                Err(_) if path.is_file() => Err(Error::NotARecording {
                    path: path.to_owned(),
                    why: "it is a file; `tickmark import` makes recordings of other programs' results, `tickmark stat` compares files of numbers"
                        .to_owned(),
                }),
                Err(_) if has_slash || is_recording => load(path),
                Err(error) => Err(error),
            };
        };
        let entries = self.list()?;
        for entry in entries.iter().rev().filter(|entry| may_be_last(entry)) {
            // One that cannot be read may have been it: an older one is not shown for it.
            let recording = load(&self.folder(&entry.id))?;
            if !is_usable(&recording) {
                continue;
            }
            match back {
                0 => return Ok(recording),
                _ => back -= 1,
            }
        }
        let (name, store) = (name.to_owned(), self.root.clone());
        Err(if entries.is_empty() { Error::Empty { store } } else { Error::NoneUsable { name, store } })
    }

    /// The recording of this store that a name means.
    fn named(&self, name: &str) -> Result<Entry, Error> {
        let mut entries = self.list()?;
        let names = entries.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>();
        let unknown = || {
            let near = did_you_mean(name, names.iter().map(String::as_str).chain(["last"]));
            Error::Unknown { name: name.to_owned(), near, store: self.root.clone() }
        };
        if let Some(back) = last(name) {
            return entries.into_iter().rev().filter(Entry::may_be_last).nth(back).ok_or_else(unknown);
        }
        let exactly = |entry: &Entry| entry.name == name;
        if let Some(at) =
            entries.iter().rposition(exactly).or(entries.iter().position(|entry| entry.id.as_str() == name))
        {
            return Ok(entries.swap_remove(at));
        }
        let mut fitting: Vec<Entry> =
            entries.into_iter().filter(|entry| entry.id.as_str().starts_with(name)).collect();
        if fitting.len() > 1 {
            let candidates = fitting.iter().map(|entry| entry.id.as_str().to_owned()).collect();
            return Err(Error::Ambiguous { prefix: name.to_owned(), candidates });
        }
        fitting.pop().ok_or_else(unknown)
    }
}

/// How many recordings back `last` or `last~N` means.
fn last(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

#[cfg(test)]
mod tests;

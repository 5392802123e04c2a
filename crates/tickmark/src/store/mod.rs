//! Where recordings are kept: a folder each, and an index over them that can be made again.

mod clean;
mod index;
mod line;
mod read;
mod recording;
mod write;

pub(crate) use index::Entry;
pub(crate) use line::parse as parse_line;
pub(crate) use recording::{Arm, Meta, Recording, Run, Status};
pub(crate) use write::Writer;

use crate::error::Error;
use crate::text::printable;
use index::Index;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A folder that is no recording is left alone for so long: somebody may be making one of it.
const SWEPT: Duration = Duration::from_secs(3600);

/// A store; nothing is made in it before something is kept.
pub(crate) struct Store {
    root: PathBuf,
}

impl Store {
    /// The store at `root`, else `tickmark` in the user's data folder (XDG_DATA_HOME).
    ///
    /// # Errors
    /// Where neither is known.
    pub(crate) fn at(root: Option<PathBuf>) -> Result<Self, Error> {
        let data = || std::env::var_os("XDG_DATA_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
        let home = || std::env::var_os("HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
        let share = || home().map(|home| home.join(".local/share"));
        let default = || data().or_else(share).map(|folder| folder.join("tickmark"));
        let none = || Error::Usage("neither HOME nor XDG_DATA_HOME is set; use --store DIR".to_owned());
        root.or_else(default).map(|root| Self { root }).ok_or_else(none)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn folder(&self, id: &str) -> PathBuf {
        self.root.join("recordings").join(id)
    }

    /// Begins a recording.
    pub(crate) fn create(&self, meta: &Meta) -> Result<Writer, Error> {
        self.sweep();
        // What could not be read again is not begun.
        if let Some(why) = clean::refuse(meta) {
            return Err(Error::Usage(format!("nothing that could be kept: {why}")));
        }
        Writer::create(&self.folder(&meta.id), meta)
    }

    /// Goes on with one: locks it, then reads what is there.
    pub(crate) fn resume(&self, name: &str) -> Result<(Recording, Writer), Error> {
        let found = self.find(name)?;
        let mut writer = Writer::open(&found.folder, &found.meta.id)?;
        let recording = read::load(&found.folder)?;
        if recording.torn {
            writer.end_line()?;
        }
        Ok((recording, writer))
    }

    /// Removes what kills in the first moments left: folders without meta.json that nobody has touched for an hour.
    fn sweep(&self) {
        let entries = std::fs::read_dir(self.root.join("recordings")).into_iter().flatten().flatten();
        for folder in entries.map(|entry| entry.path()).filter(|path| !path.join("meta.json").exists()) {
            let files = || std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let ours = files()
                .all(|file| ["meta.json.draft", "events.jsonl"].iter().any(|name| file.file_name() == *name));
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
    pub(crate) fn id(&self, name: &str) -> Result<String, Error> {
        self.named(name).map(|entry| entry.id)
    }

    /// Removes a recording that nobody writes, with the transcripts of its guests.
    pub(crate) fn delete(&self, id: &str) -> Result<(), Error> {
        let folder = self.folder(id);
        self.load(id)?;
        let _locked = Writer::open(&folder, id)?;
        // Without meta.json it is no recording any more, whatever happens next.
        let meta = folder.join("meta.json");
        std::fs::remove_file(&meta).map_err(Error::store("remove", meta))?;
        std::fs::remove_dir_all(&folder).map_err(Error::store("remove", &folder))?;
        let _ = std::fs::remove_dir_all(self.root.join("boots").join(id));
        if Index::open_existing(&self.root).is_ok() && Index::open(&self.root)?.remove(id).is_err() {
            self.rebuild()?;
        }
        Ok(())
    }

    /// Gives a recording another name. A setting of an experiment keeps its own: it says which setting it is.
    pub(crate) fn rename(&self, id: &str, name: &str) -> Result<(), Error> {
        let folder = self.folder(id);
        let locked = Writer::open(&folder, id)?;
        let meta = self.load(id)?.meta;
        if let Some(arm) = &meta.arm {
            return Err(Error::Usage(format!(
                "recording {id} is one setting of {} and keeps its name",
                arm.knob
            )));
        }
        if name.trim().is_empty() || name.contains('/') || name == "last" || name.starts_with("last~") {
            return Err(Error::Usage(format!(
                "{name:?} could not be found again: it is empty, a path, or means another"
            )));
        }
        locked.rename(name)?;
        self.index(&folder);
        Ok(())
    }

    /// Takes a recording away that this process has just made.
    pub(crate) fn discard(&self, id: &str) {
        let _ = std::fs::remove_dir_all(self.folder(id));
    }

    /// Puts a recording into the index as it stands now. The index is a convenience: one that cannot be
    /// used is made again, and what cannot be written is read from the folders.
    pub(crate) fn index(&self, folder: &Path) {
        let Ok(recording) = read::load(folder) else { return };
        let put = || Index::open(&self.root)?.put(&Entry::of(&recording));
        if put().is_err() {
            let _ = self.rebuild();
        }
    }

    /// Every recording, oldest first. Recordings that the index does not know, or knows as unfinished,
    /// are read from their folders; without an index all are.
    pub(crate) fn list(&self) -> Result<Vec<Entry>, Error> {
        let known = Index::open_existing(&self.root).and_then(|index| index.all()).unwrap_or_default();
        let mut entries = Vec::new();
        for id in self.ids()? {
            match known.iter().find(|entry| entry.id == id && entry.complete) {
                Some(entry) => entries.push(entry.clone()),
                None => match self.load(&id) {
                    Ok(recording) => entries.push(Entry::of(&recording)),
                    Err(error) => warn(&error),
                },
            }
        }
        entries.sort_by(|a, b| (&a.created, &a.id).cmp(&(&b.created, &b.id)));
        Ok(entries)
    }

    /// Makes the index again from the folders; how many recordings it holds.
    pub(crate) fn rebuild(&self) -> Result<usize, Error> {
        let index = Index::fresh(&self.root)?;
        let mut count = 0;
        for id in self.ids()? {
            match self.load(&id) {
                Ok(recording) => {
                    index.put(&Entry::of(&recording))?;
                    count += 1;
                }
                Err(error) => warn(&error),
            }
        }
        Ok(count)
    }

    /// The recording of this id. A folder that holds another one is a copy: what is done to the one would happen to the other.
    fn load(&self, id: &str) -> Result<Recording, Error> {
        let recording = read::load(&self.folder(id))?;
        if recording.meta.id == id {
            return Ok(recording);
        }
        let why = format!("it is a copy of {}; give the folder to a command by its path", recording.meta.id);
        Err(Error::NotARecording { path: self.folder(id), why })
    }

    fn ids(&self) -> Result<Vec<String>, Error> {
        let folder = self.root.join("recordings");
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::store("read", folder)(error)),
        };
        // A folder without meta.json is what a kill at the very start leaves: no recording.
        let made = entries.flatten().filter(|entry| entry.path().join("meta.json").exists());
        Ok(made.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }

    /// Reads the recording that `name` means: a path, `last`, `last~N`, an id or the beginning of one,
    /// or a name, of which the newest counts.
    pub(crate) fn find(&self, name: &str) -> Result<Recording, Error> {
        if name.contains('/') || Path::new(name).join("meta.json").exists() {
            return read::load(Path::new(name));
        }
        let entry = self.named(name)?;
        read::load(&self.folder(&entry.id))
    }

    /// The recording of this store that a name means.
    fn named(&self, name: &str) -> Result<Entry, Error> {
        let mut entries = self.list()?;
        let unknown = || Error::NoRecording { name: name.to_owned(), store: self.root.clone() };
        let back = match name.strip_prefix("last") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix('~').and_then(|n| n.parse::<usize>().ok()),
            None => None,
        };
        if let Some(back) = back {
            return entries.into_iter().rev().nth(back).ok_or_else(unknown);
        }
        let exactly = |entry: &Entry| entry.name == name;
        if let Some(at) =
            entries.iter().rposition(exactly).or(entries.iter().position(|entry| entry.id == name))
        {
            return Ok(entries.swap_remove(at));
        }
        let mut fitting: Vec<Entry> =
            entries.into_iter().filter(|entry| entry.id.starts_with(name)).collect();
        if fitting.len() > 1 {
            let candidates = fitting.into_iter().map(|entry| entry.id).collect();
            return Err(Error::Ambiguous { prefix: name.to_owned(), candidates });
        }
        fitting.pop().ok_or_else(unknown)
    }
}

fn warn(error: &Error) {
    anstream::eprintln!("tickmark: warning: {}", printable(&error.to_string(), false));
}

#[cfg(test)]
mod tests;

//! Writes a recording: appended to, flushed to the disk after each run, never rewritten.

use crate::files::{SMALL, open_regular, read_regular, write_whole};
use crate::{Error, Id, Meta};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickmark_wire::Event;

/// The folder of the store with the transcripts of guests, by recording.
pub(crate) const TRANSCRIPTS: &str = "boots";

/// An open recording. The file is locked, so that no other process goes on with it meanwhile.
pub struct Writer {
    folder: PathBuf,
    events: File,
}

impl Writer {
    /// Makes the folder with meta.json and an empty events.jsonl; of a failure nothing is left.
    pub(super) fn create(folder: &Path, meta: &Meta) -> Result<Self, Error> {
        if let Some(parent) = folder.parent() {
            std::fs::create_dir_all(parent).map_err(Error::file("make", parent))?;
        }
        // Refused where it exists: an id may come twice, and no recording is written over.
        std::fs::create_dir(folder).map_err(Error::file("make", folder))?;
        let written = write_meta(folder, meta).and_then(|()| Self::open(folder, &meta.id));
        if written.is_err() {
            let _ = std::fs::remove_dir_all(folder);
        }
        written
    }

    /// Ends half a line that a killed writer left: readers leave it out, and what follows is whole.
    pub(super) fn end_line(&mut self) -> Result<(), Error> {
        self.events.write_all(b"\n").map_err(Error::file("write", self.folder.join("events.jsonl")))
    }

    /// Opens an existing recording at its end and locks it.
    pub(super) fn open(folder: &Path, id: &Id) -> Result<Self, Error> {
        let path = folder.join("events.jsonl");
        let events = open_regular(&path, OpenOptions::new().create(true).append(true));
        let events = events.map_err(Error::file("open", &path))?;
        match events.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), events }),
            Err(std::fs::TryLockError::WouldBlock) => Err(Error::InUse(id.to_string())),
            Err(std::fs::TryLockError::Error(error)) => Err(Error::file("lock", &path)(error)),
        }
    }

    /// Gives it another name in meta.json, where everything else stays, also what this version does not know.
    pub(super) fn rename(&self, name: &str) -> Result<(), Error> {
        let path = self.folder.join("meta.json");
        let text = read_regular(&path, SMALL).map_err(Error::file("read", &path))?;
        let broken =
            |error: serde_json::Error| Error::file("read", self.folder.join("meta.json"))(error.into());
        let mut meta: serde_json::Value = serde_json::from_slice(&text).map_err(broken)?;
        meta["name"] = name.into();
        write_meta(&self.folder, &meta)
    }

    /// Where it is written.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the transcripts of guests are kept that are booted for it: also when the recording is taken away.
    #[must_use]
    pub fn transcripts(&self) -> PathBuf {
        let id = self.folder.file_name().unwrap_or_default();
        let root = self.folder.parent().and_then(Path::parent).unwrap_or(&self.folder);
        root.join(TRANSCRIPTS).join(id)
    }

    /// Puts everything on the disk.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> Result<(), Error> {
        self.events.sync_data().map_err(Error::file("write", self.folder.join("events.jsonl")))
    }

    /// Appends an event in one write; what ends a run goes to the disk at once.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&mut self, event: &Event) -> Result<(), Error> {
        let failed = || Error::file("write", self.folder.join("events.jsonl"));
        let line = serde_json::to_vec(event).map_err(|e| failed()(e.into()))?;
        self.keep(line, !matches!(event, Event::Started(_) | Event::Observed(_)))
    }

    /// Appends a line as it came; `ends` where it may end a run, so that it goes to the disk at once.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, mut line: Vec<u8>, ends: bool) -> Result<(), Error> {
        let failed = || Error::file("write", self.folder.join("events.jsonl"));
        while line.last().is_some_and(u8::is_ascii_whitespace) {
            line.pop();
        }
        line.push(b'\n');
        self.events.write_all(&line).map_err(failed())?;
        if ends { self.events.sync_data().map_err(failed()) } else { Ok(()) }
    }
}

fn write_meta(folder: &Path, meta: &impl serde::Serialize) -> Result<(), Error> {
    let path = folder.join("meta.json");
    let text = serde_json::to_vec_pretty(meta).map_err(|e| Error::file("write", &path)(e.into()))?;
    write_whole(&path, &text).map_err(Error::file("write", &path))
}

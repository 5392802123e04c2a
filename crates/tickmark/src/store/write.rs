//! Writes a recording: appended to, flushed to the disk after each run, never rewritten.

use super::recording::Meta;
use crate::error::Error;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use tickmark_wire::Event;

/// An open recording. The file is locked, so that no other process goes on with it meanwhile.
pub(crate) struct Writer {
    folder: PathBuf,
    events: File,
}

impl Writer {
    /// Makes the folder with meta.json and an empty events.jsonl.
    pub(super) fn create(folder: &Path, meta: &Meta) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(Error::store("make", folder))?;
        let path = folder.join("meta.json");
        let text = serde_json::to_vec_pretty(meta).map_err(|e| Error::store("write", &path)(e.into()))?;
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        written.map_err(Error::store("write", &path))?;
        Self::open(folder, &meta.id)
    }

    /// Opens an existing recording at its end; half a line that a killed writer left becomes a line of
    /// its own, which readers leave out.
    pub(super) fn append(folder: &Path, id: &str) -> Result<Self, Error> {
        let torn =
            std::fs::read(folder.join("events.jsonl")).is_ok_and(|b| b.last().is_some_and(|l| *l != b'\n'));
        let mut writer = Self::open(folder, id)?;
        if torn {
            writer.events.write_all(b"\n").map_err(Error::store("write", folder.join("events.jsonl")))?;
        }
        Ok(writer)
    }

    fn open(folder: &Path, id: &str) -> Result<Self, Error> {
        let path = folder.join("events.jsonl");
        let events = OpenOptions::new().create(true).append(true).open(&path);
        let events = events.map_err(Error::store("open", &path))?;
        match events.try_lock() {
            Ok(()) => Ok(Self { folder: folder.to_owned(), events }),
            Err(std::fs::TryLockError::WouldBlock) => Err(Error::InUse(id.to_owned())),
            Err(std::fs::TryLockError::Error(error)) => Err(Error::store("lock", &path)(error)),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends an event in one write; what ends a run goes to the disk at once.
    pub(crate) fn write(&mut self, event: &Event) -> Result<(), Error> {
        let failed = || Error::store("write", self.folder.join("events.jsonl"));
        let mut line = serde_json::to_vec(event).map_err(|e| failed()(e.into()))?;
        line.push(b'\n');
        self.events.write_all(&line).map_err(failed())?;
        match event {
            Event::Started(_) | Event::Observed(_) => Ok(()),
            _ => self.events.sync_data().map_err(failed()),
        }
    }
}

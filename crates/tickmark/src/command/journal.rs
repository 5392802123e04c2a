//! Measurements of commits, kept as they come: who goes on with a bisection takes them up.

use crate::error::Error;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use tickmark_store::Store;
use tickmark_store::files::{SMALL, open_regular, read_regular};

/// The folder of the store in which measurements are kept as they come.
const FOLDER: &str = "bisections";

/// A line of what is kept: a figure of a commit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KeptFigure {
    pub(super) commit: String,
    pub(super) value: f64,
}

/// Measurements of one bisection, a file of the store.
pub(super) struct Journal {
    pub(super) path: PathBuf,
    file: File,
    pub(super) earlier: Vec<KeptFigure>,
}

impl Journal {
    /// That of the bisection which `key` tells from others.
    pub(super) fn open(store: &Store, key: &str) -> Result<Self, Error> {
        let hash: String = Sha256::digest(key).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let folder = store.root().join(FOLDER);
        std::fs::create_dir_all(&folder).map_err(Error::file("make", &folder))?;
        let path = folder.join(format!("{hash}.jsonl"));
        let earlier = match read_regular(&path, SMALL) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::file("read", &path)(error)),
            // A line that a kill cut off is none.
            Ok(bytes) => String::from_utf8_lossy(&bytes)
                .lines()
                .filter_map(|line| serde_json::from_slice(line.as_bytes()).ok())
                .collect(),
        };
        let file = open_regular(&path, File::options().create(true).append(true));
        let file = file.map_err(Error::file("write", &path))?;
        Ok(Self { path, file, earlier })
    }

    pub(super) fn add(&mut self, kept: &KeptFigure) -> Result<(), Error> {
        let line =
            serde_json::to_string(kept).map_err(|error| Error::file("write", &self.path)(error.into()))?;
        // Behind a line that was cut off.
        let written =
            self.file.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(Error::file("write", &self.path))
    }
}

//! Errors of recordings.

use std::path::PathBuf;
use tickmark_wire::Format;

/// Why something could not be read or kept. What to try is for the caller to say.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There are no recordings.
    #[error("no recordings in {}", store.display())]
    Empty {
        /// Where they were looked for.
        store: PathBuf,
    },
    /// No recording has this name.
    #[error("no recording {name}{near} in {}", store.display())]
    Unknown {
        /// The requested name.
        name: String,
        /// The name that may have been meant, in words.
        near: String,
        /// Where it was looked for.
        store: PathBuf,
    },
    /// Nothing that a command can use.
    #[error(
        "no recording in {} is what {name} means here: one that measured something, of the kind that this command works on", store.display()
    )]
    NoneUsable {
        /// The requested name.
        name: String,
        /// Where it was looked for.
        store: PathBuf,
    },
    /// More than one id begins so.
    #[error("{prefix} could be any of {}", candidates.join(", "))]
    Ambiguous {
        /// The requested name.
        prefix: String,
        /// The ids that begin with it.
        candidates: Vec<String>,
    },
    /// A recording of a format whose major version this program does not read.
    #[error("recording {} has format {format}, and this tickmark reads {}.x; a newer one will show it", path.display(), tickmark_wire::FORMAT.major)]
    NewerFormat {
        /// Its folder.
        path: PathBuf,
        /// Its format.
        format: Format,
    },
    /// A folder, or a plan, that is no recording.
    #[error("{} is not a recording: {why}", path.display())]
    NotARecording {
        /// The folder.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A plan that no reader would accept.
    #[error("nothing that could be kept: {0}")]
    Unkept(String),
    /// Another process writes it.
    #[error("recording {0} is being written by another tickmark; wait for it to end")]
    InUse(String),
    /// A setting of an experiment has the name of its setting.
    #[error("recording {id} is one setting of {knob} and keeps its name")]
    KeepsItsName {
        /// Its id.
        id: String,
        /// The knob of the experiment.
        knob: String,
    },
    /// A name that no lookup would find.
    #[error("{0:?} is not a valid name: it is empty, holds a / or is reserved")]
    NoName(String),
    /// Neither HOME nor XDG_DATA_HOME says where the store is.
    #[error("neither HOME nor XDG_DATA_HOME is set")]
    NoHome,
    /// A file or folder that cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// The operation that failed: read, write, make, open, lock, remove.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The index cannot be used; the folders can.
    #[error("the index {}: {source}", path.display())]
    Index {
        /// Its file.
        path: PathBuf,
        /// SQLite's answer.
        source: rusqlite::Error,
    },
}

impl Error {
    /// For `map_err`: what was tried, and with which file.
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }
}

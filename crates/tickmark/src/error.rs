//! What can go wrong, each as one line: what, where, and what to try.

use std::path::PathBuf;
use tickmark_wire::{Format, Refusal, RefusalKind};

/// The exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Everything that was asked for was done.
    Done,
    /// Nothing was obtained.
    Failed,
    /// The request is wrong.
    Usage,
    /// There is a difference of the kind that was asked about.
    Differs,
    /// Some of it was done; the rest is named.
    Partly,
    /// Whether there is a difference of the kind that was asked about cannot be judged.
    Unjudged,
}

impl Code {
    /// The one of two that says more: a difference that was asked about, then what cannot be judged, then what is missing.
    pub(crate) fn worse(self, other: Self) -> Self {
        let order = [Self::Differs, Self::Unjudged, Self::Partly];
        order.into_iter().find(|code| [self, other].contains(code)).unwrap_or(self)
    }

    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Differs => 3,
            Self::Partly => 4,
            Self::Unjudged => 5,
        }
    }
}

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no probe or suite is called {name}{}; `tickmark list` names them", nearest(suggestion))]
    UnknownProbe { name: String, suggestion: Option<String> },
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Refused(String),
    #[error("no recording {name} in {}; `tickmark recordings` lists them", store.display())]
    NoRecording { name: String, store: PathBuf },
    #[error("{prefix} could be any of {}; give more of the id", candidates.join(", "))]
    Ambiguous { prefix: String, candidates: Vec<String> },
    #[error("recording {} has format {format}, and this tickmark reads {}.x; a newer one will show it", path.display(), tickmark_wire::FORMAT.major)]
    NewerFormat { path: PathBuf, format: Format },
    #[error("{} is not a recording: {why}", path.display())]
    NotARecording { path: PathBuf, why: String },
    #[error("recording {0} is being written by another tickmark; wait for it to end")]
    InUse(String),
    #[error("cannot write {}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot {what} {}: {source}{}", path.display(), hint(what, source))]
    Store { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error("the index {}: {source}; `tickmark recordings --rebuild` makes it again", path.display())]
    Index { path: PathBuf, source: rusqlite::Error },
    #[error("cannot write {value:?} to {}: {source}", path.display())]
    Setting { path: PathBuf, value: String, source: std::io::Error },
    #[error("cannot start the agent: {0}")]
    Agent(std::io::Error),
    #[error("the agent ended without measuring: {0}")]
    AgentEnded(String),
    #[error("cannot write the output: {0}")]
    Output(std::io::Error),
}

impl Error {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::UnknownProbe { .. } | Self::Usage(_) => Code::Usage,
            Self::NoRecording { .. } | Self::Ambiguous { .. } => Code::Usage,
            _ => Code::Failed,
        }
    }

    pub(crate) fn store(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Store { what, path, source }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal.kind {
            RefusalKind::Usage => Self::Usage(refusal.message),
            RefusalKind::System => Self::Refused(refusal.message),
        }
    }
}

fn nearest(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or(String::new(), |name| format!(" (did you mean {name}?)"))
}

fn hint(what: &str, error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match error.kind() {
        _ if what == "read" => "",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space (a run goes on with --resume), or take another --store"
        }
        ErrorKind::FileTooLarge => "; the limit of a file's size is too low (ulimit -f)",
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "; take another place with --store DIR"
        }
        _ => "",
    }
}

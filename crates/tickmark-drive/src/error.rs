//! Errors of carrying out plans.

use std::path::PathBuf;
use tickmark_wire::{Refusal, RefusalKind};

/// Why something could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is wrong.
    #[error("{0}")]
    Usage(String),
    /// The system, or another machine, refuses.
    #[error("{0}")]
    Refused(String),
    /// Of recordings.
    #[error(transparent)]
    Store(#[from] tickmark_store::Error),
    /// A file or folder that cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    Path {
        /// The operation that failed: read, write, make, open, remove.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file of the kernel that does not take a value.
    #[error("cannot write {value:?} to {}: {source}{}", path.display(), as_root(source))]
    Setting {
        /// The file.
        path: PathBuf,
        /// The value.
        value: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A process that cannot be started or waited for.
    #[error("cannot start the agent: {0}")]
    Agent(std::io::Error),
    /// An experiment that could not go on; what it had measured is kept.
    #[error("{error}; {blocks} blocks are kept: tickmark compare {ids}")]
    Kept {
        /// Why not.
        error: Box<Self>,
        /// Whole blocks.
        blocks: u32,
        /// The recordings, as words.
        ids: String,
    },
    /// This machine cannot build or boot any kernel: a program is missing, or there is no room.
    #[error(transparent)]
    Lab(tickmark_lab::Error),
    /// The agent ended and had measured nothing.
    #[error("the agent ended without measuring: {0}")]
    AgentEnded(String),
}

impl Error {
    /// For `map_err`: what was tried, and with which file.
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Path { what, path, source }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal.kind {
            RefusalKind::Usage => Self::Usage(refusal.message),
            RefusalKind::System | RefusalKind::Other(_) => Self::Refused(refusal.message),
        }
    }
}

impl From<tickmark_lab::Error> for Error {
    fn from(error: tickmark_lab::Error) -> Self {
        match error {
            tickmark_lab::Error::Usage(why) => Self::Usage(why),
            tickmark_lab::Error::Missing { .. }
            | tickmark_lab::Error::Full(_)
            | tickmark_lab::Error::File { .. } => Self::Lab(error),
            other => Self::Refused(other.to_string()),
        }
    }
}

/// What helps where permission is missing.
pub(crate) fn as_root(error: &std::io::Error) -> &'static str {
    if error.kind() == std::io::ErrorKind::PermissionDenied { "; run as root" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_machine_lacks_is_no_fault_of_a_kernel() {
        let missing = tickmark_lab::Error::Missing { what: "gcc".to_owned(), package: "gcc".to_owned() };
        for own in [missing, tickmark_lab::Error::Full("/cache".into())] {
            assert!(matches!(Error::from(own), Error::Lab(_)));
        }
        let guest = tickmark_lab::Error::Guest("the guest ended".to_owned());
        assert!(matches!(Error::from(guest), Error::Refused(why) if why == "the guest ended"));
    }
}

//! What can go wrong in the lab, each as one line: what, where, and what to try.

use std::path::{Path, PathBuf};

/// An error of the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is wrong.
    #[error("{0}")]
    Usage(String),
    /// A program or a file of another package is not here.
    #[error("{what} is missing; apt-get install {package}")]
    Missing {
        /// What was looked for.
        what: String,
        /// Debian's package that has it.
        package: String,
    },
    /// A build ended badly.
    #[error("{what} was not built: {why}; the whole log is {}", log.display())]
    Build {
        /// The kernel or the agent.
        what: String,
        /// The line that says most.
        why: String,
        /// Everything that was printed.
        log: PathBuf,
    },
    /// The configuration is not what was asked for.
    #[error("{kernel} cannot have {asked}: after olddefconfig it is {got}")]
    Symbol {
        /// Which kernel.
        kernel: String,
        /// The line of the fragment.
        asked: String,
        /// What stands in the configuration.
        got: String,
    },
    /// No room.
    #[error(
        "no space left in {} (a build takes 3 GB meanwhile); free some, or set XDG_CACHE_HOME to another place; \
         nothing was kept of it",
        .0.display()
    )]
    Full(PathBuf),
    /// A guest did not do what it should.
    #[error("{0}")]
    Guest(String),
    /// Told to stop.
    #[error("interrupted")]
    Stopped,
    /// A file.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// Read, write, make ...
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Error {
    /// Wraps an error of a file; a full disk is said as such.
    pub(crate) fn file(what: &'static str, path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| match source.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::Full(path.parent().map_or(path.clone(), Path::to_owned))
            }
            _ => Self::File { what, path, source },
        }
    }
}

//! Errors of the program, each as one line: what failed, where, and what to try.

use crate::suggest::command;
use std::path::PathBuf;
use tickmark_drive::Error as Drive;
use tickmark_store::Error as Store;

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
    #[error("no probe or suite is called {name}{near}; `tickmark list` names them")]
    UnknownProbe { name: String, near: String },
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Unjudged(String),
    #[error("{source}{}", next(source))]
    Store {
        #[from]
        source: Store,
    },
    #[error("cannot write {}: {source}{}", path.display(), elsewhere(source))]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot {what} {}: {source}{}", path.display(), hint_of(path, what, source))]
    Path { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Drive(Drive),
    #[error(transparent)]
    Shared(#[from] tickmark_shared::Error),
    #[error(transparent)]
    Tables(#[from] tickmark_tables::Error),
    #[error("cannot write the output: {0}")]
    Output(std::io::Error),
}

impl Error {
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::UnknownProbe { .. } | Self::Usage(_) => Code::Usage,
            Self::Store { source } => match source {
                Store::Empty { .. }
                | Store::Unknown { .. }
                | Store::NoneUsable { .. }
                | Store::Ambiguous { .. }
                | Store::Unkept(_) => Code::Usage,
                Store::KeepsItsName { .. } | Store::NoName(_) | Store::NoHome => Code::Usage,
                _ => Code::Failed,
            },
            Self::Shared(tickmark_shared::Error::Address(_)) => Code::Usage,
            Self::Unjudged(_) => Code::Unjudged,
            _ => Code::Failed,
        }
    }

    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Path { what, path, source }
    }
}

impl From<Drive> for Error {
    fn from(error: Drive) -> Self {
        match error {
            Drive::Usage(why) => Self::Usage(why),
            Drive::Refused(why) => Self::Refused(why),
            Drive::Store(source) => Self::Store { source },
            Drive::Path { what, path, source } => Self::Path { what, path, source },
            // With what to try next.
            Drive::Kept { error, blocks, ids } => {
                let error = Self::from(*error);
                Self::Refused(format!("{error}; {blocks} blocks are kept: tickmark compare {ids}"))
            }
            other => Self::Drive(other),
        }
    }
}

impl From<tickmark_lab::Error> for Error {
    fn from(error: tickmark_lab::Error) -> Self {
        Drive::from(error).into()
    }
}

/// The command to try after an error of a store.
fn next(error: &Store) -> String {
    match error {
        Store::Empty { .. } => format!("; `{}` makes one", command("run")),
        Store::Unknown { .. } | Store::NoneUsable { .. } => {
            format!("; `{}` lists them", command("recordings"))
        }
        Store::Ambiguous { .. } => "; give more of the id".to_owned(),
        Store::NoHome => "; use --store DIR".to_owned(),
        Store::Index { .. } => format!("; `{}` makes it again", command("recordings --rebuild")),
        Store::File { what, source, .. } => hint(what, source).to_owned(),
        _ => "".to_owned(),
    }
}

/// What to try where a file of the system or of the user refuses.
fn hint_of(path: &std::path::Path, what: &str, error: &std::io::Error) -> String {
    let is_system = ["/sys", "/proc"].iter().any(|root| path.starts_with(root));
    match error.kind() {
        std::io::ErrorKind::NotFound if is_system && what == "read" => near_file(path),
        std::io::ErrorKind::PermissionDenied if is_system => "; run as root".to_owned(),
        std::io::ErrorKind::PermissionDenied if what == "read" => {
            "; run as root, or choose a file that this user may read".to_owned()
        }
        _ => hint(what, error).to_owned(),
    }
}

/// What to try where a place of the user's own refuses to be written.
pub(crate) fn elsewhere(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => "; run as root, or name a place where this user may write",
        _ => "",
    }
}

/// The name that is most like one that is not there, of those beside it.
fn near_file(path: &std::path::Path) -> String {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return String::new() };
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten().take(BESIDE);
    // As sysctl(8) names them.
    let place = folder.strip_prefix("/proc/sys").map_or_else(
        |_| String::new(),
        |place| place.iter().map(|part| format!("{}.", part.to_string_lossy())).collect(),
    );
    let whole = |name: &std::ffi::OsStr| format!("{place}{}", name.to_string_lossy());
    let names: Vec<String> = beside.map(|entry| whole(&entry.file_name())).collect();
    tickmark_store::did_you_mean(&whole(name), names.iter().map(String::as_str))
}

/// Names that are looked at.
const BESIDE: usize = 10_000;

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
        // A folder that nobody can make, as below /proc.
        ErrorKind::NotFound | ErrorKind::NotADirectory if what == "make" => {
            "; take another place with --store DIR"
        }
        _ => "",
    }
}

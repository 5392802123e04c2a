//! Errors of the lab, each as one line: what failed, where, and what to try.

use std::path::{Path, PathBuf};

/// An error of the lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is wrong.
    #[error("{0}")]
    Usage(String),
    /// A program or a file of another package is not here, or several.
    #[error("{what} {} missing; apt-get install {package}", if what.contains(", ") { "are" } else { "is" })]
    Missing {
        /// The missing thing.
        what: String,
        /// Debian's packages that have it.
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
    #[error("{kernel} cannot have {requested}: after olddefconfig it is {got}")]
    Symbol {
        /// Which kernel.
        kernel: String,
        /// The line of the fragment.
        requested: String,
        /// Value in the configuration.
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
    /// Joins missing packages in one error: nobody wants to install one after the other.
    pub(crate) fn together(all: impl IntoIterator<Item = Result<(), Self>>) -> Result<(), Self> {
        let (mut things, mut packages) = (Vec::new(), Vec::new());
        for one in all {
            match one {
                Ok(()) => {}
                Err(Self::Missing { what, package }) => {
                    things.push(what);
                    packages.extend(package.split(' ').map(str::to_owned));
                }
                Err(other) => return Err(other),
            }
        }
        let mut known = std::collections::BTreeSet::new();
        packages.retain(|package| known.insert(package.clone()));
        known.clear();
        things.retain(|thing| known.insert(thing.clone()));
        match things.is_empty() {
            true => Ok(()),
            false => Err(Self::Missing { what: things.join(", "), package: packages.join(" ") }),
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_at_once() {
        let missing = |what: &str, package: &str| {
            Err(Error::Missing { what: what.to_owned(), package: package.to_owned() })
        };
        let none = Error::together([Ok(()), Ok(())]);
        assert!(none.is_ok());
        let one = Error::together([Ok(()), missing("flex", "flex")]).unwrap_err();
        assert_eq!(one.to_string(), "flex is missing; apt-get install flex");
        let all = [missing("gcc", "gcc libc6-dev"), missing("make", "make"), missing("gcc", "gcc libc6-dev")];
        let all = Error::together(all).unwrap_err();
        assert_eq!(all.to_string(), "gcc, make are missing; apt-get install gcc libc6-dev make");
        let other = Error::together([missing("flex", "flex"), Err(Error::Stopped)]).unwrap_err();
        assert_eq!(other.to_string(), "interrupted");
    }
}

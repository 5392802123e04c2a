//! Files that are written whole or not at all, and tables of columns as such files (Parquet), read column by column. What is in
//! a table is its caller's affair; every column may lack values.
#![forbid(unsafe_code)]

mod column;
pub mod destination;
mod read;
mod text;
mod write;

pub use column::{Column, Kind, Texts};
pub use read::{Table, error_of_panic, read};
pub use text::csv_from_parquet;
pub use write::Writer;

use std::path::{Path, PathBuf};

/// The columns of a table: their names and what they hold.
pub type Schema = &'static [(&'static str, Kind)];

/// Why a table could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that cannot be used.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// The operation that failed: write, read.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file that is no such table: cut short, damaged, or another.
    #[error("{} is no whole Parquet file of this table: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

impl Error {
    fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File { what, path: path.to_owned(), source }
    }

    fn damaged(path: &Path, why: impl std::fmt::Display) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }
}

#[cfg(test)]
mod tests;

//! The recordings of the store, and what is done to them.

use super::Output;
use super::complete::recordings;
use super::values::fact;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Recordings {
    #[command(subcommand)]
    pub(crate) change: Option<Change>,
    /// Rebuild the index from the recordings' folders
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Only recordings with this fact (of `show --format json`), such as clock.source=hpet or kernel.release=6.1*
    #[arg(long, value_name = "NAME=PATTERN", value_parser = fact)]
    pub(crate) fact: Vec<(String, glob::Pattern)>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What is done to recordings.
#[derive(Debug, Subcommand)]
pub(crate) enum Change {
    /// Delete recordings for good
    Delete {
        /// Which, by name, id or the beginning of one, last, last~1 ...
        #[arg(value_name = "REC", required = true, add = recordings())]
        recordings: Vec<String>,
    },
    /// Give a recording another name
    Rename {
        /// Which
        #[arg(value_name = "REC", add = recordings())]
        recording: String,
        /// Its new name
        name: String,
    },
    /// Delete all recordings but the newest, or those older than a time, and what killed runs left in scratch directories and shared memory; without
    /// an option the latter alone
    Prune {
        /// Keep so many of the newest
        #[arg(long, value_name = "N")]
        keep: Option<usize>,
        /// Delete only what is older than so many days
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
        /// Print what would be deleted, and delete nothing
        #[arg(long)]
        dry_run: bool,
    },
}

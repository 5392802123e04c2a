//! What a page is asked.

use super::complete::recordings;
use super::values::share;
use clap::Args;
use std::path::PathBuf;

pub(super) const REPORT_EXAMPLES: &str = "\
One file that needs no network, no script to be read, and prints: what the machine is and what is notable, each group as table and drawing with every run, distributions, and how each number was
obtained. Several recordings are compared, the first with the others; of one setting of an experiment all settings are. Without -o and --plots the drawings are shown in the terminal.

Examples:
  tickmark report -o page.html                    the last recording
  tickmark report before after -o page.html       compared
  tickmark report last --plots plots/             every drawing as an SVG file
  tickmark report last                            in the terminal";

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// Recordings, or patterns of their names; the first is what the others are compared with
    #[arg(value_name = "REC", default_value = "last", add = recordings())]
    pub(crate) recordings: Vec<String>,
    /// Write the page to this file
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,
    /// Write each drawing as an SVG file into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Changes below this do not matter
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    pub(crate) margin: f64,
}

//! What columns of numbers are asked.

use super::Output;
use super::values::{column, confidence, share};
use clap::Args;

/// A column by its number or its heading.
#[derive(Debug, Clone)]
pub(crate) enum ColumnName {
    Number(usize),
    Heading(String),
}

impl std::fmt::Display for ColumnName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Heading(heading) => f.write_str(heading),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// Files with a number on each line; - is standard input [default: -]
    #[arg(value_name = "FILE", num_args = 0..=7)]
    pub(crate) files: Vec<String>,
    /// Which column: its number, counted from 1, its heading, or of JSON a path such as results.*.mean
    #[arg(short = 'C', long, value_name = "COLUMN", default_value = "1", value_parser = column)]
    pub(crate) column: ColumnName,
    /// The decimal mark
    #[arg(long, value_name = "MARK", value_parser = [".", ","], default_value = ".")]
    pub(crate) decimal: String,
    /// A word that stands for no number, such as - or NaN; may be given several times
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "paired")]
    pub(crate) missing: Vec<String>,
    /// Confidence of intervals; the significance level is 1 minus it
    #[arg(short, long, value_name = "SHARE", default_value = "95%", value_parser = confidence)]
    pub(crate) confidence: f64,
    /// What separates columns: any of these characters
    #[arg(short, long, value_name = "CHARACTERS", default_value = " \t", hide_default_value = true)]
    pub(crate) delimiters: String,
    /// Width of the plot, 10 to 500 [default: the terminal's, else 74]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(10..=500))]
    pub(crate) width: Option<u16>,
    /// No plot
    #[arg(short = 'A', long)]
    pub(crate) no_plot: bool,
    /// No plot and no comparison
    #[arg(short = 'n', long)]
    pub(crate) no_test: bool,
    /// Values on the same line are pairs, as those of interleaved runs
    #[arg(long)]
    pub(crate) paired: bool,
    /// Drop values more than 1.5 IQR beyond the quartiles
    #[arg(long, conflicts_with = "paired")]
    pub(crate) drop_outliers: bool,
    /// Changes below this do not matter
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    pub(crate) margin: f64,
    /// Exit with code 3 where a set has changed; with 5 where that cannot be judged
    #[arg(long, value_name = "WHAT", value_parser = ["changed"], conflicts_with = "no_test")]
    pub(crate) fail_on: Option<String>,
    /// Print what ministat prints, byte for byte: Debian's, or current FreeBSD's figures
    #[arg(long, value_name = "WHOSE", num_args = 0..=1, require_equals = true, default_missing_value = "debian", value_parser = ["debian", "freebsd"])]
    pub(crate) compat: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

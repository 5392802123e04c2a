//! What columns of numbers are asked.

use super::Output;
use super::values::{column, confidence, share};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// Files with a number on each line; - is standard input [default: -]
    #[arg(value_name = "FILE", num_args = 0..=7)]
    pub(crate) files: Vec<String>,
    /// Which column, counted from 1
    #[arg(short = 'C', long, value_name = "N", default_value = "1", value_parser = column)]
    pub(crate) column: usize,
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

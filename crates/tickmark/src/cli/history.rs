//! What is asked of figures over time.

use super::Output;
use super::complete::probes;
use super::exchange::TableArgs;
use super::values::{fact, share};
use clap::Args;
use std::path::PathBuf;

pub(super) const HISTORY_EXAMPLES: &str = "\
Figures over the recordings of each machine, oldest first: where they changed their level, their slope, their variation or how often they are in one of two states, between which recordings, by how much, and what was new then. Where a kernel, a compiler or a unit became another, a series is split, and the step is said with its interval. A change is shown where nothing changed in about 5 of 100 calls at most (docs/methodology/series.md).

Examples:
  tickmark history syscall.null clock             of this machine's recordings
  tickmark history --files data.js                of github-action-benchmark
  tickmark history --files results.json           of conbench
  tickmark history --files results/vm/*.json      of asv: a file for each commit
  tickmark history --files nightly.csv            columns named date or commit, and figures
  tickmark history --files tps.txt -o tps.html    one figure a line; as a page
  tickmark history --bisect ./bench --range v1.0..main --prepare 'make -j2'   with which commit the command became slower";

/// Heading of the options of bisections.
const BISECTION: &str = "With which commit";

/// What finds the commit with which a command's figure changed.
#[derive(Debug, Args)]
pub(crate) struct BisectArgs {
    /// Measure this command in copies of the commits of a git tree, as often as its noise asks for, until the change is one commit; the same command goes on
    /// where it was interrupted
    #[arg(long, value_name = "COMMAND", help_heading = BISECTION, conflicts_with = "output")]
    pub(crate) bisect: Option<String>,
    /// Between these commits [default: those of the newest change]
    #[arg(long, value_name = "GOOD..BAD", help_heading = BISECTION, requires = "bisect")]
    pub(crate) range: Option<String>,
    /// What makes a commit ready, once
    #[arg(long, value_name = "COMMAND", help_heading = BISECTION, requires = "bisect")]
    pub(crate) prepare: Option<String>,
    /// The figure is the last number that the command prints [default: its time]
    #[arg(long, help_heading = BISECTION, requires = "bisect")]
    pub(crate) printed: bool,
    /// The git tree, which is left as it is
    #[arg(long, value_name = "DIR", help_heading = BISECTION, requires = "bisect", default_value = ".")]
    pub(crate) tree: PathBuf,
    /// The chance of a wrong commit that is accepted
    #[arg(long, value_name = "SHARE", help_heading = BISECTION, requires = "bisect", value_parser = share, default_value = "5%")]
    pub(crate) error: f64,
    /// Seconds that a command may take
    #[arg(long, value_name = "SECONDS", help_heading = BISECTION, requires = "bisect", default_value_t = 3600)]
    pub(crate) limit: u64,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// Which: names, suites or patterns; of up to four figures with a plot [default: all]
    #[arg(value_name = "METRIC", add = probes())]
    pub(crate) metrics: Vec<String>,
    /// Of these result files of other programs, instead of the store: each commit, time or line is a measurement
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "fact")]
    pub(crate) files: Vec<PathBuf>,
    /// Only recordings with this fact (of `show --format json`), such as clock.source=hpet or kernel.release=6.1*
    #[arg(long, value_name = "NAME=PATTERN", value_parser = fact)]
    pub(crate) fact: Vec<(String, glob::Pattern)>,
    /// Write a page with all plots to this file
    #[arg(short, long, value_name = "FILE.html")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) bisect: BisectArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    #[command(flatten)]
    pub(crate) shown: Output,
}

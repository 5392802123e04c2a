//! What the gate is asked.

use super::compare::FailOn;
use super::complete::{probes, recordings};
use super::values::{LimitValue, detection, limit, share};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

pub(super) const CHECK_EXAMPLES: &str = "\
Judges new recordings by earlier ones of the same machine that measured the same. Where nothing changed and recordings are alike, any figure is claimed to be worse with a chance of 5 %, and any to be better with another 5 %.
`--calibrate` measures on this machine how often that is wrong, and how often a slowdown of 1, 2 or 5 % of one figure alone is found. A gate that holds what is asked is armed.

Exit codes: 0 no change is seen, and the gate is armed; 3 a change for the worse (or what --fail-on names); 5 it cannot be judged: too few recordings or none, a figure that is missing, a neighbour that had the CPU, or a gate that is not armed.
A recording with a change is no measure for later ones until one is as before, or `--accept` says that the change is meant.

Examples:
  tickmark run syscall --runs 5 --budget 5s && tickmark check       in a CI
  tickmark check --calibrate                                        make what is needed to judge by, and 60 trials
  tickmark check --calibrate --trials 100                           100 more
  tickmark run syscall --runs 5 --budget 5s && tickmark check --retry   after a change, to be sure: both together
  tickmark check --only syscall.null --format junit > tickmark.xml
  tickmark check --max syscall.null=200ns --min bandwidth.pipe=3e9  limits instead of the history
  tickmark check --new bench.json --history main/                   result files of other programs: one file is one replicate
  tickmark check --save-baseline                                    judge by today's recordings from now on
  tickmark check --accept                                           the change is meant: judge by this one and what comes";

const LIMITS: &str = "Limits instead of the history";
const FILES: &str = "Result files of other programs";
const GATE: &str = "The gate: how well it sees, and what it judges by";

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The newest of the new recordings
    #[arg(value_name = "REC", default_value = "last", add = recordings())]
    pub(crate) recording: String,
    /// Only these metrics: names, suites or patterns
    #[arg(long, value_name = "METRIC", num_args = 1.., add = probes())]
    pub(crate) only: Vec<String>,
    /// Judge so many new recordings together: that one and those before it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) last: u32,
    /// This recording repeats those that were claimed to differ since one was as before: judge all of them together
    #[arg(long, conflicts_with_all = ["last", "new", "history"])]
    pub(crate) retry: bool,
    /// Which change fails
    #[arg(long, value_enum, default_value_t = FailOn::Worse)]
    pub(crate) fail_on: FailOn,
    /// With --fail-on beyond, changes below this do not fail
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "1%")]
    pub(crate) margin: f64,
    /// How to print
    #[arg(long, value_enum, default_value_t = CheckFormat::Text)]
    pub(crate) format: CheckFormat,
    /// A metric is at most this, instead of the history: METRIC=VALUE, a time, a share, or a number in its unit
    #[arg(long, help_heading = LIMITS, value_name = "METRIC=VALUE", value_parser = limit, conflicts_with_all = LIMITS_CONFLICT)]
    pub(crate) max: Vec<(String, LimitValue)>,
    /// A metric of which more is better is at least this
    #[arg(long, help_heading = LIMITS, value_name = "METRIC=VALUE", value_parser = limit, conflicts_with_all = LIMITS_CONFLICT)]
    pub(crate) min: Vec<(String, LimitValue)>,
    /// Judge these result files of other programs instead of a recording; the store is neither needed nor changed
    #[arg(long, help_heading = FILES, value_name = "FILE", num_args = 1.., conflicts_with_all = FILES_CONFLICT)]
    pub(crate) new: Vec<PathBuf>,
    /// By these earlier result files, those of a folder, or the imported recordings of a store; without --new the newest of them is judged
    #[arg(long, help_heading = FILES, value_name = "FILE|FOLDER", num_args = 1.., conflicts_with_all = FILES_CONFLICT)]
    pub(crate) history: Vec<PathBuf>,
    /// Measure the gate: make recordings like this one in which nothing is changed
    #[arg(long, help_heading = GATE)]
    pub(crate) calibrate: bool,
    /// How many trials are made; those of earlier calibrations count, too
    #[arg(long, help_heading = GATE, value_name = "N", default_value_t = 60, requires = "calibrate", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) trials: u32,
    /// How many recordings there are to be to judge by; those that lack are made first
    #[arg(long, help_heading = GATE, value_name = "N", default_value_t = 40, requires = "calibrate", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) recordings: u32,
    /// The gate is armed where false alarms are no more often than this
    #[arg(long, help_heading = GATE, value_name = "SHARE", value_parser = share, default_value = "10%")]
    pub(crate) false_alarm: f64,
    /// The gate is armed only where a slowdown (1%, 2% or 5%) of any one figure is found at least this often
    #[arg(long, help_heading = GATE, value_name = "SLOWDOWN=SHARE", value_parser = detection, default_value = "5%=80%")]
    pub(crate) detect: (f64, f64),
    /// Exit with 0 where no change is seen, armed or not
    #[arg(long, help_heading = GATE)]
    pub(crate) accept_uncalibrated: bool,
    /// The change in this recording is meant: judge later ones by it and what comes after it
    #[arg(long, help_heading = GATE, conflicts_with = "calibrate")]
    pub(crate) accept: bool,
    /// Judge later recordings by this one and those before it, whatever comes between
    #[arg(long, help_heading = GATE, conflicts_with_all = ["calibrate", "accept"])]
    pub(crate) save_baseline: bool,
    /// Recordings of machines that differ in their name alone count as earlier ones, too: for runners that are made anew
    #[arg(long, help_heading = GATE)]
    pub(crate) any_host: bool,
}

/// What limits have nothing to do with.
const LIMITS_CONFLICT: [&str; 6] = ["last", "only", "save_baseline", "accept", "calibrate", "retry"];

/// Options of recordings in the store.
const FILES_CONFLICT: [&str; 6] = ["recording", "last", "any_host", "save_baseline", "accept", "calibrate"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    Text,
    Json,
    Markdown,
    /// XML that CI servers read
    Junit,
    /// GitLab's Code Quality: what failed or could not be judged
    Gitlab,
    /// Annotations of GitHub Actions, and a summary in the file that GITHUB_STEP_SUMMARY names
    Github,
}

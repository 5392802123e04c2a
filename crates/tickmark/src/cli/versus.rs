//! What commands side by side are asked.

use super::values::{duration, share};
use super::{CompareFormat, FailOn};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tickmark_wire::Nanos;

pub(super) const VERSUS_EXAMPLES: &str = "\
Every command runs in each block, in random order, so that a machine that becomes slower is no difference. It ends when each verdict is reached, or at
--budget. A, B, C ... are the commands in their order; --env B:VAR=x, --cwd B:DIR, --cpu B:N and --priority B:fifo:10 are for one alone. No shell is started unless
--shell asks for one.

Examples:
  tickmark versus './old' './new'                          which is faster, by how much, how sure
  tickmark versus -- ./server-bench --requests 1000         how long one command takes
  tickmark versus --env B:MALLOC_ARENA_MAX=1 './load'       one command with and without a variable
  tickmark versus --rev main..HEAD --build 'cargo build --release' 'target/release/prog'
  tickmark versus --knob clocksource=tsc,kvm-clock './load'
  tickmark versus -L level 1,6,9 'gzip -kf{level} data'     a command for each value
  tickmark versus --metric 'rate=rate: ([0-9.]+)' --primary rate --higher rate './old' './new'";

#[derive(Debug, Args)]
pub(crate) struct Versus {
    /// Commands; the first is what the others are compared with
    #[arg(value_name = "COMMAND", required_unless_present_any = ["one", "reference"])]
    pub(crate) commands: Vec<String>,
    /// One command, its words as they are
    #[arg(last = true, value_name = "WORD", conflicts_with_all = ["commands", "reference", "parameter_scan", "parameter_list"])]
    pub(crate) one: Vec<String>,

    /// End after this time, but not before two runs of each [default: 60s, of one command 10s, and time for 8 runs of each]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Option<Nanos>,
    /// Number of runs of each command, without an earlier end
    #[arg(long, short = 'r', value_name = "N", conflicts_with_all = ["min_runs", "max_runs"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: Option<u32>,
    /// Blocks before the first decision [default: 8]
    #[arg(long, short = 'm', value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) min_runs: Option<u32>,
    /// Blocks at most, each with one run of each command
    #[arg(long, short = 'M', value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) max_runs: Option<u32>,
    /// Runs of each before anything is measured, at least one
    #[arg(long, short = 'w', value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) warmup: u32,
    /// Go on until each verdict is reached and its interval has at most this half-width, such as 0.5%; of one command [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) width: Option<f64>,
    /// Changes below this do not matter
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    pub(crate) margin: f64,
    /// End a command that takes longer
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = duration)]
    pub(crate) limit: Nanos,

    /// Run commands by this shell
    #[arg(long, short = 'S', value_name = "SHELL", conflicts_with = "no_shell", help_heading = "Commands")]
    pub(crate) shell: Option<String>,
    /// Run commands without a shell, which is the default
    #[arg(short = 'N', help_heading = "Commands")]
    pub(crate) no_shell: bool,
    /// Command before each run, not timed; one for all, or one for each
    #[arg(long, short = 'p', value_name = "COMMAND", help_heading = "Commands")]
    pub(crate) prepare: Vec<String>,
    /// Command after each run, not timed
    #[arg(long, short = 'C', value_name = "COMMAND", help_heading = "Commands")]
    pub(crate) conclude: Vec<String>,
    /// Command before the first run
    #[arg(long, short = 's', value_name = "COMMAND", help_heading = "Commands")]
    pub(crate) setup: Vec<String>,
    /// Command after the last run
    #[arg(long, short = 'c', value_name = "COMMAND", help_heading = "Commands")]
    pub(crate) cleanup: Vec<String>,
    /// A command for each number from MIN to MAX, which stands for {VAR}
    #[arg(long, short = 'P', num_args = 3, value_names = ["VAR", "MIN", "MAX"], conflicts_with = "parameter_list", help_heading = "Commands")]
    pub(crate) parameter_scan: Vec<String>,
    /// Step of --parameter-scan
    #[arg(long, short = 'D', value_name = "DELTA", requires = "parameter_scan", help_heading = "Commands")]
    pub(crate) parameter_step_size: Option<String>,
    /// A command for each of these values, which stands for {VAR}
    #[arg(long, short = 'L', num_args = 2, value_names = ["VAR", "VALUES"], action = clap::ArgAction::Append, help_heading = "Commands")]
    pub(crate) parameter_list: Vec<String>,
    /// What the others are compared with
    #[arg(long, value_name = "COMMAND", help_heading = "Commands")]
    pub(crate) reference: Option<String>,
    /// Name of a command; one for each, in their order
    #[arg(long, short = 'n', value_name = "NAME", help_heading = "Commands")]
    pub(crate) command_name: Vec<String>,
    /// Measure commands that fail, too
    #[arg(long, short = 'i', help_heading = "Commands")]
    pub(crate) ignore_failure: bool,
    /// Standard input of the commands [default: empty]
    #[arg(long, value_name = "FILE", help_heading = "Commands")]
    pub(crate) input: Option<PathBuf>,
    /// Where commands write: null, pipe, inherit, or a file
    #[arg(long, value_name = "WHERE", help_heading = "Commands")]
    pub(crate) output: Option<String>,
    /// Show what commands write, as --output inherit
    #[arg(long, conflicts_with = "output", help_heading = "Commands")]
    pub(crate) show_output: bool,

    /// A variable, such as B:MALLOC_ARENA_MAX=1; without =VALUE it is unset
    #[arg(long, value_name = "[A:]VAR=VALUE", help_heading = "What differs")]
    pub(crate) env: Vec<String>,
    /// Where a command runs
    #[arg(long, value_name = "[A:]DIR", help_heading = "What differs")]
    pub(crate) cwd: Vec<String>,
    /// Pin a command to a CPU
    #[arg(long, value_name = "[A:]N", help_heading = "What differs")]
    pub(crate) cpu: Vec<String>,
    /// Scheduling priority of a command: other, or fifo:1 to fifo:98
    #[arg(long, value_name = "[A:]PRIORITY", help_heading = "What differs")]
    pub(crate) priority: Vec<String>,
    /// Two revisions of the git repository here, each in a worktree of its own
    #[arg(long, value_name = "OLD..NEW", help_heading = "What differs")]
    pub(crate) rev: Option<String>,
    /// Command that builds a revision
    #[arg(long, value_name = "COMMAND", requires = "rev", help_heading = "What differs")]
    pub(crate) build: Option<String>,
    /// A system setting, as `tickmark experiment` has it; restored afterwards
    #[arg(long, value_name = "KNOB=A,B", conflicts_with = "rev", help_heading = "What differs")]
    pub(crate) knob: Option<String>,
    /// Vary what should not matter: env (size of the environment, by block), aslr (layout of memory, by run), link (builds anew with another
    /// TICKMARK_LINK_SEED, by block)
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',', help_heading = "What differs")]
    pub(crate) vary: Vec<Vary>,

    /// A number that the commands print: a regular expression, whose first group it is, or a JSONPath such as $.latency.p99
    #[arg(long, value_name = "NAME=REGEX|JSONPATH", help_heading = "What is judged")]
    pub(crate) metric: Vec<String>,
    /// Of the metric with this name a higher number is better
    #[arg(long, value_name = "NAME", requires = "metric", help_heading = "What is judged")]
    pub(crate) higher: Vec<String>,
    /// What the verdict is about [default: command.time]
    #[arg(long, value_name = "METRIC", help_heading = "What is judged")]
    pub(crate) primary: Vec<String>,
    /// Take off what starting an empty process takes, measured beside each run
    #[arg(long, help_heading = "What is judged")]
    pub(crate) subtract_start: bool,
    /// Exit with code 3 if a command changed, changed beyond the margin, or is worse; with 5 if that cannot be judged
    #[arg(long, value_enum, help_heading = "What is judged")]
    pub(crate) fail_on: Option<FailOn>,

    /// Name of the recordings, before the command's [default: versus]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Print every metric, and not those alone that differ
    #[arg(long)]
    pub(crate) all: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,
    /// Write the results as hyperfine does: JSON
    #[arg(long, value_name = "FILE", help_heading = "Recording and output")]
    pub(crate) export_json: Option<PathBuf>,
    /// CSV
    #[arg(long, value_name = "FILE", help_heading = "Recording and output")]
    pub(crate) export_csv: Option<PathBuf>,
    /// A table in markdown
    #[arg(long, value_name = "FILE", help_heading = "Recording and output")]
    pub(crate) export_markdown: Option<PathBuf>,
}

impl Versus {
    /// True if the commands write where progress would be.
    pub(crate) fn is_shown(&self) -> bool {
        self.show_output || self.output.as_deref() == Some("inherit")
    }
}

/// What may vary from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vary {
    Env,
    Link,
    Aslr,
}

/// An option for all commands, or for the one with a letter: `B:VALUE`.
pub(crate) fn lettered(text: &str) -> (Option<usize>, &str) {
    let letter =
        |text: &str| text.bytes().next().filter(u8::is_ascii_uppercase).map(|c| usize::from(c - b'A'));
    match text.split_once(':') {
        Some((first, rest)) if first.len() == 1 => match letter(first) {
            Some(number) => (Some(number), rest),
            None => (None, text),
        },
        _ => (None, text),
    }
}

//! What a bill is asked.

use super::complete::recordings;
use super::{Output, Settings};
use clap::Args;

pub(super) const BILL_EXAMPLES: &str = "\
Beside the command a task of the lowest priority (SCHED_IDLE) computes on each CPU. What that does not get was the command's own, interrupts', the kernel's threads',
or other tasks'. No root is needed. The command reads nothing, and what it prints is dropped.

Examples:
  tickmark bill -- ./client --requests 1000
  tickmark bill --runs 10 -- rsync -a /usr/share/doc /tmp/doc
  tickmark bill --of last --format json        a recording again";

#[derive(Debug, Args)]
pub(crate) struct Bill {
    /// Runs of each, beside the computing tasks and without them, in random order
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["command", "runs", "name"], add = recordings())]
    pub(crate) of: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
    /// What to run
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "of")]
    pub(crate) command: Vec<String>,
}

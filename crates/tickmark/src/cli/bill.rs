//! What a bill is asked.

use super::complete::recordings;
use super::values::duration;
use super::{Output, Settings};
use clap::Args;
use std::path::PathBuf;
use tickmark_wire::Nanos;

pub(super) const BILL_EXAMPLES: &str = "\
Beside the command a task of the lowest priority (SCHED_IDLE) computes on each CPU. What that does not get was the command's own, interrupts', the kernel's threads',
or other tasks'. No root is needed; with it one more run
says by the kernel's own events who had the CPUs. The command reads nothing, and what it prints is dropped.

Examples:
  tickmark bill -- ./client --requests 1000
  tickmark bill --runs 10 -- rsync -a /usr/share/doc /tmp/doc
  tickmark bill --count 1000 -- ./client --requests 1000       for each request, too
  tickmark bill --pid 1234 --duration 20s --count 'curl -s localhost/requests'     of a server that runs already
  tickmark bill --cgroup /sys/fs/cgroup/system.slice/nginx.service
  tickmark bill --of last --format json        a recording again";

#[derive(Debug, Args)]
pub(crate) struct Bill {
    /// Runs of each, beside the computing tasks and without them, in random order
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["command", "runs", "name", "pid", "cgroup", "duration", "count"], add = recordings())]
    pub(crate) of: Option<String>,
    /// A process that runs already, with those that it started
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "cgroup"], value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// A cgroup: its folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) cgroup: Option<PathBuf>,
    /// How long to look at what runs already, in all [default: 2s for each run]
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "command")]
    pub(crate) duration: Option<Nanos>,
    /// What each run does of what is counted: a number, or a command that prints how many so far
    #[arg(long, value_name = "N|COMMAND")]
    pub(crate) count: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
    /// What to run
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["of", "pid", "cgroup"])]
    pub(crate) command: Vec<String>,
}

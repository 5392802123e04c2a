//! What clock reads are asked.

use super::complete::recordings;
use super::values::duration;
use super::{Output, Settings};
use clap::Args;
use tickmark_wire::Nanos;

pub(super) const CLOCK_READS_EXAMPLES: &str = "\
A library that is loaded before the command's own (LD_PRELOAD) counts its calls of clock_gettime, gettimeofday, time, timespec_get and clock, by clock and by call site. No root is
needed. The command reads nothing, and what it prints is dropped. A process that runs already, and a command that is linked statically or written in Go, is stopped by the kernel
where it reads a clock (uprobes; takes root), as long as it is not stripped. With uprobes system calls that read clocks are counted, too.

Examples:
  tickmark clock-reads -- python3 server_test.py
  tickmark clock-reads --count 1000 -- ./client --requests 1000       reads for each request, too
  tickmark clock-reads --duration 10s -- nginx -g 'daemon off;'       a server, which is killed after that time
  tickmark clock-reads --confirm -- ./client                          also count with uprobes (root)
  tickmark clock-reads --pid 1234 --duration 10s                      a process that runs already (root)
  tickmark clock-reads --pid 1234 --calls 'timestamp*'                and how often it calls functions of these names
  tickmark clock-reads --of last --format json                        a recording again";

#[derive(Debug, Args)]
pub(crate) struct ClockReads {
    /// Runs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Kill the command, with what it started, after this time [default: it ends by itself]; of --pid: look for so long [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Nanos>,
    /// What each run does of what is counted: a number, or a command that prints how many so far
    #[arg(long, value_name = "N|COMMAND")]
    pub(crate) count: Option<String>,
    /// A process that runs already, with what it started: the kernel stops it where it reads a clock
    #[arg(long, value_name = "PID", conflicts_with_all = ["command", "of"])]
    pub(crate) pid: Option<u32>,
    /// Also count with uprobes
    #[arg(long, conflicts_with_all = ["pid", "of"])]
    pub(crate) confirm: bool,
    /// Have the kernel count calls of functions of the program: names, with * at the end for all that begin so
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "of")]
    pub(crate) calls: Vec<String>,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["command", "runs", "name", "duration", "count"], add = recordings())]
    pub(crate) of: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
    /// What to run
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["of", "pid"])]
    pub(crate) command: Vec<String>,
}

//! What a dose is asked.

use super::complete::recordings;
use super::values::duration;
use super::{Output, Settings};
use clap::Args;
use tickmark_wire::Nanos;

pub(super) const DOSE_EXAMPLES: &str = "\
A causal experiment: a library that is loaded before the server's own (LD_PRELOAD) makes each of its clock reads take longer by a known time, which changes from one slice to the
next in random order while the server serves. How much more a transaction costs is told beside the reads that were counted: the slope is their number. Without a COMMAND
the server is our own. What is given says how transactions are counted: --url by our client, --count by a command that prints how many were done, --number by a command that does one.

Examples:
  tickmark dose --reads 10                        our own server, with ten reads for each request
  tickmark dose --start mariadb                   a database of our own
  tickmark dose --start mariadb --op normalise    what arithmetic on timestamps beside each read costs it
  tickmark dose --url http://127.0.0.1:8080/ -- nginx -g 'daemon off; worker_processes 1;'
  tickmark dose --busy './load' --count 'curl -s localhost/requests' --slice 2s -- ./server
  tickmark dose --number 'psql ... | grep -oP \"Execution Time: \\K[\\d.]+\"' --doses 0,60,300 -- postgres -D data
  tickmark dose --in-kernel --url http://127.0.0.1:8080/ -- ./static-server     any program, and the kernel's own reads for it
  tickmark dose --of last --format json           a recording again";

#[derive(Debug, Args)]
pub(crate) struct Dose {
    /// Where the command serves: http://HOST:PORT/PATH, which our client asks
    #[arg(long, value_name = "URL", conflicts_with_all = ["count", "number", "busy"], requires = "command")]
    pub(crate) url: Option<String>,
    /// A shell command that prints how many transactions the server has done so far
    #[arg(long, value_name = "COMMAND", conflicts_with = "number", requires = "command")]
    pub(crate) count: Option<String>,
    /// A shell command that has the server do one transaction and prints how long that took: measured instead of CPU time
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub(crate) number: Option<String>,
    /// What it prints
    #[arg(long, value_name = "UNIT", value_parser = ["s", "ms", "us", "ns"], default_value = "ms", requires = "number")]
    pub(crate) unit: String,
    /// A shell command that keeps the server busy; it ends with the measuring
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub(crate) busy: Option<String>,
    /// A database of our own, which our clients ask, instead of a command
    #[arg(long, value_name = "WHICH", value_parser = ["mariadb", "postgres"], conflicts_with_all = ["command", "reads", "connection", "url", "count", "number", "busy"])]
    pub(crate) start: Option<String>,
    /// What a transaction of it is, as `tickmark sql` has it
    #[arg(long, value_name = "LOAD", value_parser = ["select-index", "point-select", "insert", "read-write"], default_value = "select-index", requires = "start")]
    pub(crate) load: String,
    /// Our client: a new connection for each request, or the same
    #[arg(long, value_name = "HOW", value_parser = ["close", "keep-alive"], default_value = "keep-alive")]
    pub(crate) connection: String,
    /// Its connections at the same time, 1 to 1024
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), default_value = "1")]
    pub(crate) connections: u32,
    /// Clock reads of our own server for each request
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000), default_value = "10", conflicts_with = "command")]
    pub(crate) reads: u32,
    /// The server's CPU: that of our client; another one; any [default: same where our client asks, else any]
    #[arg(long, value_name = "PLACE", value_parser = ["same", "across", "any"])]
    pub(crate) place: Option<String>,
    /// ns by which reads take longer, at most 1000000; syscall: each is a system call; with --op numbers of operations [default: 0,60,300,1000,3000,syscall; with --in-kernel no syscall; with --op 0,100,1000,10000]
    #[arg(long, value_name = "NS")]
    pub(crate) doses: Option<String>,
    /// Add timestamp operations to each read instead of a delay: normalise (take whole seconds out of the ns), compare, or bintime (ns to a fraction of 64 bits, and its sum)
    #[arg(long, value_name = "OPERATION", value_parser = ["normalise", "compare", "bintime"], conflicts_with = "clock_sources")]
    pub(crate) op: Option<String>,
    /// Make every read of the whole machine's clock longer, the kernel's own among them, by the module kernel/tickmark_clock, which is loaded and selected already
    #[arg(long, conflicts_with_all = ["op", "clock_sources"])]
    pub(crate) in_kernel: bool,
    /// Measure what a read costs by each clock source of this machine, and predict with it: as root; each is selected for
    /// a moment, and then the one that was
    #[arg(long)]
    pub(crate) clock_sources: bool,
    /// How long each dose lasts in a block
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "350ms")]
    pub(crate) slice: Nanos,
    /// Blocks, each with every dose once in random order [default: 25; with --quick 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub(crate) blocks: Option<u32>,
    /// Eight blocks
    #[arg(long, conflicts_with = "blocks")]
    pub(crate) quick: bool,
    /// Skip the pilot, which says what can be told apart before it begins
    #[arg(long)]
    pub(crate) no_pilot: bool,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["command", "url", "count", "number", "busy", "start", "load", "connection", "connections", "reads", "place", "doses", "op", "in_kernel", "slice", "blocks", "quick", "no_pilot", "clock_sources", "name"], add = recordings())]
    pub(crate) of: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
    /// The server [default: our own]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

//! What messages and their load are asked.

use super::complete::recordings;
use super::timers::ScenarioOutput;
use super::values::duration;
use super::{Output, Settings};
use clap::Args;
use std::path::PathBuf;
use tickmark_wire::Nanos;

pub(super) const COMMS_EXAMPLES: &str = "\
Comms1: a message goes there and comes back; its time is half of that. Comms2: both sides send and receive, and return what they got: a quarter.
Beside them a task computes on each CPU (--load): what it does not get is the load.

Examples:
  tickmark comms                                       Comms1 and Comms2 over TCP, 1 byte to 1 MiB, some 20 s
  tickmark comms comms1 --over tcp,unix,memory --load none
  tickmark comms comms2 --load none,thread,process --class fifo     does a computing thread disturb less than a process?
  tickmark comms comms1 --place same,across --sizes 1,4096,65536
  tickmark comms comms1 --link veth --mtu 512,1500,9000 --offloads off --class fifo --sizes 1048576    load against packet size
  tickmark comms comms1 --stream none,yes --sizes 1    latency while a stream runs
  tickmark comms --serve --listen 0.0.0.0:7271         on another host: prints what to type on this one
  tickmark comms comms1 --peer node7                   with another host, over ssh; both hosts' loads
  tickmark comms --of last --output plot               a recording again";

#[derive(Debug, Args)]
pub(crate) struct Comms {
    /// Benchmarks
    #[arg(value_name = "BENCHMARK", value_parser = ["comms1", "comms2"], default_values = ["comms1", "comms2"])]
    pub(crate) benchmarks: Vec<String>,
    /// What carries the messages
    #[arg(long, value_name = "TRANSPORT", value_delimiter = ',', value_parser = ["tcp", "udp", "unix", "unix-dgram", "pipe", "memory", "vsock"], default_value = "tcp")]
    pub(crate) over: Vec<String>,
    /// What the other side is: process, thread, or another host: HOST over ssh, HOST:PORT where `tickmark comms --serve` listens
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "process")]
    pub(crate) peer: Vec<String>,
    /// An option of ssh to that host, such as -p2222
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) ssh: Vec<String>,
    /// The file with the token of both hosts [default: the environment's TICKMARK_TOKEN]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Answer who has the token, until Ctrl-C: on this host, and with --listen on others
    #[arg(long, conflicts_with_all = ["benchmarks", "peer", "ssh", "over", "peer", "place", "load", "step", "class", "link", "mtu", "offloads", "rps", "rate", "stream", "sizes", "duration", "runs", "name", "of"])]
    pub(crate) serve: bool,
    /// Where --serve listens: give 0.0.0.0:7271, or an address of this host, for other hosts
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7271", requires = "serve")]
    pub(crate) listen: std::net::SocketAddr,
    /// The CPU of the other side: the same, or another [default: another, where there is one]
    #[arg(long, value_name = "PLACE", value_delimiter = ',', value_parser = ["same", "across"])]
    pub(crate) place: Vec<String>,
    /// What computes beside them, on each CPU
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["none", "thread", "process"], default_value = "process")]
    pub(crate) load: Vec<String>,
    /// How it computes: a chain of multiplications, or a counter in memory
    #[arg(long, value_name = "HOW", value_delimiter = ',', value_parser = ["multiply", "increment"], default_value = "multiply")]
    pub(crate) step: Vec<String>,
    /// Scheduling of the communicating tasks, interleaved: as --priority has it, ordinary, or fifo:50; what computes is ordinary
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = ["plan", "other", "fifo"], default_value = "plan", hide_default_value = true)]
    pub(crate) class: Vec<String>,
    /// What lies between: this machine's own network, or a veth pair between two network namespaces (tcp and udp)
    #[arg(long, value_name = "LINK", value_delimiter = ',', value_parser = ["own", "veth"], default_value = "own")]
    pub(crate) link: Vec<String>,
    /// Bytes of a packet on the veth pair [default: 1500]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(68..=65535))]
    pub(crate) mtu: Vec<u32>,
    /// Whether the kernel may join and split segments there and leave out checksums [default: on]
    #[arg(long, value_name = "WHETHER", value_delimiter = ',', value_parser = ["on", "off"])]
    pub(crate) offloads: Vec<String>,
    /// Whether what comes there is handled on the CPU of who reads it (receive packet steering; root), and not on the sender's [default: off]
    #[arg(long, value_name = "WHETHER", value_delimiter = ',', value_parser = ["off", "on"])]
    pub(crate) rps: Vec<String>,
    /// Mbit a second that pass there each way at most [default: as many as do]
    #[arg(long, value_name = "MBIT/S", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub(crate) rate: Vec<u32>,
    /// What else goes to the other side: a TCP stream as fast as it can
    #[arg(long, value_name = "WHETHER", value_delimiter = ',', value_parser = ["none", "yes"], default_value = "none")]
    pub(crate) stream: Vec<String>,
    /// Bytes of the messages [default: four for each doubling, 1 byte to 1 MiB]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64 << 20))]
    pub(crate) sizes: Vec<u32>,
    /// How long to measure, all together [default: 10s for each combination]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Nanos>,
    /// Runs of each, in processes of their own and in random order
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// A table, columns for gnuplot, or plots
    #[arg(long = "output", value_enum, default_value_t = ScenarioOutput::Summary)]
    pub(crate) shown: ScenarioOutput,
    /// Write the plots to this folder, as SVG
    #[arg(long, value_name = "DIR")]
    pub(crate) plots: Option<PathBuf>,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["over", "peer", "place", "load", "step", "class", "link", "mtu", "offloads", "rps", "rate", "stream", "sizes", "duration", "runs", "name"], add = recordings())]
    pub(crate) of: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
}

//! What transactions over HTTP are asked.

use super::complete::recordings;
use super::values::{Goal, duration, goal};
use super::{Output, Settings};
use clap::Args;
use std::path::PathBuf;
use tickmark_wire::Nanos;

pub(super) const HTTP_EXAMPLES: &str = "\
A server of our own with workers on one socket, and a client with many connections; or the client against a server that runs already (--url). Both read no clock but
for latencies. Without --rate the next request is sent when an answer has come (closed loop): a slow server is asked less. With it requests are due at times of their own (open loop).

Examples:
  tickmark http                                   a connection each, on one CPU and on two, 10 runs of 2.5 s each
  tickmark http --duration 30s                    the same as long as netrate did
  tickmark http --quick                           3 runs of 2 s
  tickmark http --quick --connection keep-alive --connections 1,32
  tickmark http --rate 5000 --arrivals poisson --connection keep-alive
  tickmark http --find-capacity p99=5ms --connection keep-alive   how many requests a second it takes
  tickmark http --url http://127.0.0.1:8080/index.html --pid $(pgrep -o nginx)
  tickmark http --peer node7 --rate 5000          our server on another host, started over ssh
  tickmark http --of last --format json           a recording again";

#[derive(Debug, Args)]
pub(crate) struct Http {
    /// A new connection for each request, or the same
    #[arg(long, value_name = "HOW", value_delimiter = ',', value_parser = ["close", "keep-alive"], default_value = "close")]
    pub(crate) connection: Vec<String>,
    /// Connections at the same time, 1 to 1024
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1024), default_value = "32")]
    pub(crate) connections: Vec<u32>,
    /// Requests after which the client closes one that is kept [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) requests_per_connection: Option<u32>,
    /// Requests a second that are due, whatever becomes of the others
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=10_000_000), group = "paced")]
    pub(crate) rate: Vec<u32>,
    /// Find the highest rate at which a quantile of the response latency keeps a limit: p99=5ms
    #[arg(long, value_name = "QUANTILE=TIME", value_parser = goal, group = "paced", conflicts_with_all = ["requests_per_connection", "patience"])]
    pub(crate) find_capacity: Option<Goal>,
    /// At even times, or as from independent users
    #[arg(long, value_name = "HOW", value_parser = ["fixed", "poisson"], default_value = "fixed", requires = "paced")]
    pub(crate) arrivals: String,
    /// Measure no latency: the client reads no clock at all
    #[arg(long, conflicts_with = "paced")]
    pub(crate) count_only: bool,
    /// Seconds after which a request without an answer counts as failed
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600), default_value = "5")]
    pub(crate) patience: u32,
    /// A server that runs already: http://HOST:PORT/PATH
    #[arg(long, value_name = "URL", conflicts_with_all = ["bytes", "workers", "by", "place"])]
    pub(crate) url: Option<String>,
    /// Its process, whose CPU time and that of those that it started is read
    #[arg(long, value_name = "PID", requires = "url", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// Our own server on another host: HOST over ssh, HOST:PORT where `tickmark comms --serve` listens
    #[arg(long, value_name = "HOST", conflicts_with_all = ["url", "place"])]
    pub(crate) peer: Option<String>,
    /// An option of ssh to that host, such as -p2222
    #[arg(long, value_name = "OPTION", requires = "peer", allow_hyphen_values = true)]
    pub(crate) ssh: Vec<String>,
    /// The file with the token of both hosts [default: the environment's TICKMARK_TOKEN]
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub(crate) token_file: Option<PathBuf>,
    /// Bytes of our own server's page
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=16 << 20), default_value = "100")]
    pub(crate) bytes: u32,
    /// Its workers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2048), default_value = "128")]
    pub(crate) workers: u32,
    /// Workers of our own server: processes or threads
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = ["processes", "threads"], default_value = "processes")]
    pub(crate) by: Vec<String>,
    /// Its CPU: the client's own (UP), or another one (SMP) [default: both, where there are two]
    #[arg(long, value_name = "PLACE", value_delimiter = ',', value_parser = ["same", "across"])]
    pub(crate) place: Vec<String>,
    /// Only serve, by threads, until it is ended: for the client on another machine (--url), and for `tickmark dose`
    #[arg(long, conflicts_with_all = ["url", "peer", "place", "by", "duration", "runs", "quick", "paced", "of", "name"])]
    pub(crate) serve: bool,
    /// Where; port 0 is any
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", requires = "serve")]
    pub(crate) listen: std::net::SocketAddrV4,
    /// How often it reads a clock for each request
    #[arg(long, value_name = "N", default_value = "0", requires = "serve", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub(crate) reads: u32,
    /// How long each run measures [default: 2.5s, with --quick 2s; with --find-capacity 30s, with both 6s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Nanos>,
    /// Runs of each, in random order [default: 10; with --quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// Three runs of two seconds, or of six where they search
    #[arg(long)]
    pub(crate) quick: bool,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["connection", "connections", "requests_per_connection", "paced", "count_only", "url", "peer", "bytes", "workers", "by", "place", "duration", "runs", "quick", "name"], add = recordings())]
    pub(crate) of: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
}

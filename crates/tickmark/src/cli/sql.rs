//! What transactions of databases are asked.

use super::complete::recordings;
use super::values::duration;
use super::{Output, Settings};
use clap::Args;
use tickmark_wire::Nanos;

pub(super) const SQL_EXAMPLES: &str = "\
The select_index of super-smack, which Losh ran in 2006 (see `tickmark experiments timecounter-cost`), and three other loads, by connections that are threads and block; the clock is read once for each transaction.
SQLite is part of tickmark. A server of our own (--start) is started for each run, in a temporary folder and on a socket there, and is gone after it. One that runs already (--url) needs
the tables http_auth and http_log, which --create makes.

Examples:
  tickmark sql                                    SQLite, select_index: 10 runs of 4 s
  tickmark sql --duration 30s                     as the document: 10 runs of 30 s
  tickmark sql --quick --start mariadb,postgres   servers of our own: 3 runs of 2 s each
  tickmark sql --start mariadb --queries 20000 --runs 5
  tickmark sql --start postgres --load point-select,read-write --connections 1,8 --quick
  tickmark sql --url postgres://me@127.0.0.1:5432/test --password-file secret --pid $(pgrep -o postgres) --create
  tickmark sql --url mysql://me@localhost/test --socket /run/mysqld/mysqld.sock";

#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// Databases of our own
    #[arg(long, value_name = "WHICH", value_delimiter = ',', value_parser = ["sqlite", "mariadb", "postgres"], default_value = "sqlite")]
    pub(crate) start: Vec<String>,
    /// A server that runs already: mysql://USER@HOST:PORT/DATABASE or postgres://USER@HOST:PORT/DATABASE
    #[arg(long, value_name = "URL", conflicts_with_all = ["start", "place"])]
    pub(crate) url: Option<String>,
    /// Its socket, instead of host and port
    #[arg(long, value_name = "PATH", requires = "url")]
    pub(crate) socket: Option<std::path::PathBuf>,
    /// The user's password is its first line [default: the environment's TICKMARK_SQL_PASSWORD]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) password_file: Option<std::path::PathBuf>,
    /// Its process, whose CPU time and that of those that it started is read
    #[arg(long, value_name = "PID", requires = "url", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,
    /// Make the tables http_auth and http_log there first; they stay
    #[arg(long, requires = "url")]
    pub(crate) create: bool,
    /// What a transaction is: a row by its name; a part of one by its number; a new row; two rows and a change
    #[arg(long, value_name = "LOAD", value_delimiter = ',', value_parser = ["select-index", "point-select", "insert", "read-write"], default_value = "select-index")]
    pub(crate) load: Vec<String>,
    /// Connections at the same time, 1 to 64
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64), default_value = "1")]
    pub(crate) connections: Vec<u32>,
    /// Rows of the table
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=9_999_999), default_value = "90000")]
    pub(crate) rows: u32,
    /// Transactions of each run, instead of a time
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) queries: Option<u32>,
    /// The CPU of our own server: the client's, or another one [default: another one, where there are two]
    #[arg(long, value_name = "PLACE", value_delimiter = ',', value_parser = ["same", "across"])]
    pub(crate) place: Vec<String>,
    /// How long each run measures [default: 4s; with --quick 2s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Nanos>,
    /// Runs of each, in random order [default: 10; with --quick 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// Three runs of two seconds
    #[arg(long)]
    pub(crate) quick: bool,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["start", "url", "load", "connections", "rows", "queries", "place", "duration", "runs", "quick", "name"], add = recordings())]
    pub(crate) of: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
}

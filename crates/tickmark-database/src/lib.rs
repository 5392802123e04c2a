//! Clients of PostgreSQL and MariaDB over sockets that block: the loads of `tickmark sql` and a team's store.
//!
//! A server may be anything that listens: lengths are checked before memory is reserved, answers have a size and a time. Where things
//! are: `stream.rs` has the socket and its deadlines, `postgres.rs` and `mariadb.rs` a protocol each.
#![forbid(unsafe_code)]

mod mariadb;
mod postgres;
mod stream;

pub use mariadb::Mariadb;
pub use postgres::{Parameter, Postgres, Row};

use std::path::PathBuf;
use std::time::Duration;

/// Address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket of the UNIX domain.
    Socket(PathBuf),
    /// A host's name or IP address, and a port.
    Host(String, u16),
}

/// The user of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password, where there is one.
    pub password: Option<String>,
    /// The database to begin with; MariaDB needs none.
    pub database: String,
    /// PostgreSQL's `options`, such as `-c statement_timeout=1000`.
    pub options: Option<&'static str>,
}

/// How long a connection and its first answers may take: a server that was stopped accepts connections and says nothing.
pub const CONNECT: Duration = Duration::from_secs(10);

/// Limits of what a server sends after the login.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest time without a byte.
    pub silence: Duration,
    /// The longest time of one answer. It is looked at every [`Limits::reads`] reads.
    pub answer: Duration,
    /// Reads between two looks at the clock: the experiments on databases make clock reads slow.
    pub reads: u64,
    /// Longest message of a server (a message length above it is refused before memory is reserved), and most bytes of the rows of one answer that are kept.
    pub max_message_bytes: u32,
}

impl Limits {
    /// For statements with short answers that are timed.
    pub const LOAD: Self =
        Self { silence: CONNECT, answer: Duration::from_secs(60), reads: 16, max_message_bytes: 16 << 20 };
}

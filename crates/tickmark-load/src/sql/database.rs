//! Connections to databases: each statement is sent, and all that comes of it taken, by calls that block.

use super::mariadb::Mariadb;
use super::postgres::Postgres;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickmark_probe::Params;

/// Which database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In this process.
    Sqlite,
    /// MariaDB or MySQL.
    Mariadb,
    Postgres,
}

impl Kind {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "mariadb" => Self::Mariadb,
            "postgres" => Self::Postgres,
            _ => Self::Sqlite,
        }
    }

    /// What begins a transaction that writes.
    pub(super) const fn begin(self) -> &'static str {
        match self {
            // It has one writer: who only reads at first may find another one there.
            Self::Sqlite => "begin immediate",
            Self::Mariadb | Self::Postgres => "begin",
        }
    }
}

/// Where one is, and as whom it is asked.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(super) kind: Kind,
    pub(super) at: At,
    pub(super) user: String,
    pub(super) password: Option<String>,
    pub(super) database: String,
}

/// Address of a database.
#[derive(Debug, Clone)]
pub(super) enum At {
    /// A file of SQLite's, or a socket of the UNIX domain.
    Path(PathBuf),
    /// A name or address, and a port.
    Host(String, u16),
}

/// An answer that takes longer is none.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// One connection.
pub(super) trait Connection: Send {
    /// Carries out a statement; how many rows came.
    ///
    /// # Errors
    /// What the database says, in words.
    fn run(&mut self, statement: &str) -> Result<u64, String>;
}

impl Place {
    /// Of a server that runs already.
    ///
    /// # Errors
    /// What is told is no place, or the password cannot be read.
    pub(super) fn from_params(params: &Params) -> Result<Self, String> {
        let target = params.argument("target");
        let at = match target.strip_prefix("unix:") {
            Some(path) => At::Path(path.into()),
            None => {
                let (host, port) =
                    target.rsplit_once(':').ok_or_else(|| format!("{target:?} is no HOST:PORT"))?;
                At::Host(host.to_owned(), port.parse().map_err(|_| format!("{port:?} is no port"))?)
            }
        };
        let password = match params.argument("password_file") {
            "" => std::env::var("TICKMARK_SQL_PASSWORD").ok(),
            file => {
                let text = first_line(file).map_err(|error| format!("{file}: {error}"))?;
                Some(text.lines().next().unwrap_or_default().to_owned())
            }
        };
        let text = |name: &str| params.argument(name).to_owned();
        Ok(Self {
            kind: Kind::from_name(params.argument("server")),
            at,
            user: text("user"),
            password,
            database: text("database"),
        })
    }

    /// SQLite's file.
    pub(super) fn file(path: &Path) -> Self {
        let at = At::Path(path.to_owned());
        Self { kind: Kind::Sqlite, at, user: String::new(), password: None, database: String::new() }
    }

    /// Makes a connection.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(super) fn connect(&self) -> Result<Box<dyn Connection>, String> {
        match (self.kind, &self.at) {
            (Kind::Postgres, _) => Ok(Box::new(Postgres::connect(self)?)),
            (Kind::Mariadb, _) => Ok(Box::new(Mariadb::connect(self)?)),
            (Kind::Sqlite, At::Path(path)) => {
                let database = rusqlite::Connection::open(path).map_err(|error| error.to_string())?;
                let set =
                    "pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = 5000";
                database.execute_batch(set).map_err(|error| error.to_string())?;
                Ok(Box::new(database))
            }
            (Kind::Sqlite, At::Host(..)) => Err("SQLite has no server".to_owned()),
        }
    }
}

/// So long a whole answer may take, however it is cut into pieces.
pub(super) const WHOLE: Duration = Duration::from_secs(60);
/// Bytes of a message of a server that are believed: no statement here has an answer as long.
pub(super) const LONGEST: u32 = 16 << 20;
/// Bytes of a password's file that are read.
const MOST_PASSWORD: u64 = 64 << 10;

/// The beginning of a file, as far as a password goes.
fn first_line(file: &str) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(file)?.take(MOST_PASSWORD).read_to_string(&mut text)?;
    Ok(text)
}

/// An error of a connection in words; a time that is over is called so.
pub(super) fn late(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    match error.kind() {
        WouldBlock | TimedOut => format!("no answer within {} s", PATIENCE.as_secs()),
        _ => error.to_string(),
    }
}

impl Connection for rusqlite::Connection {
    fn run(&mut self, statement: &str) -> Result<u64, String> {
        let words = |error: rusqlite::Error| error.to_string();
        let mut statement = self.prepare(statement).map_err(words)?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).map_err(words)?;
        let mut count = 0;
        while let Some(row) = rows.next().map_err(words)? {
            for column in 0..columns {
                std::hint::black_box(row.get_ref(column).map_err(words)?);
            }
            count += 1;
        }
        Ok(count)
    }
}

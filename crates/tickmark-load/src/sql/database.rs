//! Connections to databases: each statement is sent, and all that comes of it taken, by calls that block.

use std::path::{Path, PathBuf};
use tickmark_database::{Address, Limits, Login, Mariadb, Postgres};
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

    /// The statement that begins a writing transaction.
    pub(super) const fn begin(self) -> &'static str {
        match self {
            // It has one writer: who only reads at first may find another one there.
            Self::Sqlite => "begin immediate",
            Self::Mariadb | Self::Postgres => "begin",
        }
    }
}

/// A database, and the user who connects to it.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseTarget {
    pub(super) kind: Kind,
    pub(super) at: At,
    pub(super) login: Login,
}

/// Where a database is.
#[derive(Debug, Clone)]
pub(super) enum At {
    /// SQLite's file.
    File(PathBuf),
    Server(Address),
}

/// One connection.
pub(super) trait Connection: Send {
    /// Carries out a statement; how many rows came.
    ///
    /// # Errors
    /// The database's error, in words.
    fn run(&mut self, statement: &str) -> Result<u64, String>;
}

impl DatabaseTarget {
    /// Of a server that runs already.
    ///
    /// # Errors
    /// What is told is no place, or the password cannot be read.
    pub(super) fn from_params(params: &Params) -> Result<Self, String> {
        let target = params.argument("target");
        let at = match target.strip_prefix("unix:") {
            Some(path) => Address::Socket(path.into()),
            None => {
                let (host, port) =
                    target.rsplit_once(':').ok_or_else(|| format!("{target:?} is no HOST:PORT"))?;
                Address::Host(host.to_owned(), port.parse().map_err(|_| format!("{port:?} is no port"))?)
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
            at: At::Server(at),
            login: Login { user: text("user"), password, database: text("database"), options: None },
        })
    }

    /// SQLite's file.
    pub(super) fn file(path: &Path) -> Self {
        let nobody = Login { user: String::new(), password: None, database: String::new(), options: None };
        Self { kind: Kind::Sqlite, at: At::File(path.to_owned()), login: nobody }
    }

    /// Makes a connection.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(super) fn connect(&self) -> Result<Box<dyn Connection>, String> {
        match (self.kind, &self.at) {
            (Kind::Postgres, At::Server(address)) => {
                Ok(Box::new(Postgres::connect(address, &self.login, Limits::LOAD)?))
            }
            (Kind::Mariadb, At::Server(address)) => {
                Ok(Box::new(Mariadb::connect(address, &self.login, Limits::LOAD)?))
            }
            (_, At::File(path)) => {
                let database = rusqlite::Connection::open(path).map_err(|error| error.to_string())?;
                let set =
                    "pragma journal_mode = wal; pragma synchronous = normal; pragma busy_timeout = 5000";
                database.execute_batch(set).map_err(|error| error.to_string())?;
                Ok(Box::new(database))
            }
            (Kind::Sqlite, At::Server(_)) => Err("SQLite has no server".to_owned()),
        }
    }
}

/// Bytes of a password's file that are read.
const MOST_PASSWORD: u64 = 64 << 10;

/// The beginning of a file, as far as a password goes.
fn first_line(file: &str) -> std::io::Result<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(file)?.take(MOST_PASSWORD).read_to_string(&mut text)?;
    Ok(text)
}

impl Connection for Postgres {
    fn run(&mut self, statement: &str) -> Result<u64, String> {
        Postgres::run(self, statement)
    }
}

impl Connection for Mariadb {
    fn run(&mut self, statement: &str) -> Result<u64, String> {
        Mariadb::run(self, statement)
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

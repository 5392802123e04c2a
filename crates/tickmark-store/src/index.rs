//! The index over recordings: SQLite, made again at any time from the folders.

use super::recording::{Recording, Status};
use crate::{Error, Id};
use rusqlite::{Connection, OpenFlags, params};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What a list of recordings shows of one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its id.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// Whether nothing is to be done any more.
    pub complete: bool,
    /// Runs that ended in whatever way.
    pub runs_done: u32,
    /// Runs of its plan.
    pub runs_planned: u32,
    /// Metrics of its plan.
    pub metrics: u32,
    /// The machine's name.
    pub host: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The clock source.
    pub clock_source: Option<String>,
}

impl Entry {
    pub(super) fn of(recording: &Recording) -> Self {
        let fact = |name: &str| recording.environment().and_then(|facts| facts.get(name)).map(str::to_owned);
        let done = recording.runs.iter().filter(|run| run.status != Status::Open).count();
        Self {
            id: recording.meta.id.clone(),
            name: recording.meta.name.clone(),
            created: recording.meta.created.to_string(),
            complete: recording.complete(),
            runs_done: done as u32,
            runs_planned: recording.runs.len() as u32,
            metrics: recording.meta.plan.metrics.len() as u32,
            host: fact("host.name"),
            kernel: fact("kernel.release"),
            clock_source: fact("clock.source"),
        }
    }
}

const SCHEMA: &str = "
create table if not exists recordings (
  id text primary key, name text not null, created text not null, complete integer not null,
  runs_done integer not null, runs_planned integer not null, metrics integer not null,
  host text, kernel text, clock_source text
) strict;
pragma user_version = 1;
";

pub(super) struct Index {
    path: PathBuf,
    connection: Connection,
}

impl Index {
    /// Opens the index, making it where it is missing.
    pub(super) fn open(root: &Path) -> Result<Self, Error> {
        Self::connect(root, OpenFlags::default()).and_then(|index| {
            index.execute(SCHEMA)?;
            Ok(index)
        })
    }

    /// Opens the index to read.
    pub(super) fn open_existing(root: &Path) -> Result<Self, Error> {
        Self::connect(root, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
    }

    /// Throws the index away and begins an empty one.
    pub(super) fn fresh(root: &Path) -> Result<Self, Error> {
        let path = root.join("index.sqlite");
        std::fs::create_dir_all(root).map_err(Error::file("make", root))?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("remove", path)(error));
            }
            _ => {}
        }
        Self::open(root)
    }

    fn connect(root: &Path, flags: OpenFlags) -> Result<Self, Error> {
        let path = root.join("index.sqlite");
        // An index through a link is not ours.
        match Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW) {
            Ok(connection) => Self { path, connection }.checked(),
            Err(source) => Err(Error::Index { path, source }),
        }
    }

    /// Only a table that this program made is read: what calls itself one may compute anything.
    fn checked(self) -> Result<Self, Error> {
        let query = "select count(*) from sqlite_master where name = 'recordings' and type != 'table'";
        let others: i64 = self.connection.query_row(query, [], |row| row.get(0)).map_err(self.failed())?;
        match others {
            0 => Ok(self),
            _ => Err(self.failed()(rusqlite::Error::InvalidQuery)),
        }
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> Error + '_ {
        |source| Error::Index { path: self.path.clone(), source }
    }

    fn execute(&self, statements: &str) -> Result<(), Error> {
        self.connection.execute_batch(statements).map_err(self.failed())
    }

    /// Adds a recording or brings it up to date.
    pub(super) fn put(&self, e: &Entry) -> Result<(), Error> {
        let statement = "insert or replace into recordings values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let values = params![
            e.id.as_str(),
            e.name,
            e.created,
            e.complete,
            e.runs_done,
            e.runs_planned,
            e.metrics,
            e.host,
            e.kernel,
            e.clock_source
        ];
        self.connection.execute(statement, values).map(drop).map_err(self.failed())
    }

    /// Takes a recording out.
    pub(super) fn remove(&self, id: &Id) -> Result<(), Error> {
        self.connection
            .execute("delete from recordings where id = ?1", [id.as_str()])
            .map(drop)
            .map_err(self.failed())
    }

    /// Every recording.
    pub(super) fn all(&self) -> Result<Vec<Entry>, Error> {
        let query = "select id, name, created, complete, runs_done, runs_planned, metrics, host, kernel, \
                     clock_source from recordings";
        let mut statement = self.connection.prepare(query).map_err(self.failed())?;
        let rows = statement.query_map([], |row| {
            Ok(Entry {
                id: Id::try_from(row.get::<_, String>(0)?).map_err(|_| rusqlite::Error::InvalidQuery)?,
                name: row.get(1)?,
                created: row.get(2)?,
                complete: row.get(3)?,
                runs_done: row.get(4)?,
                runs_planned: row.get(5)?,
                metrics: row.get(6)?,
                host: row.get(7)?,
                kernel: row.get(8)?,
                clock_source: row.get(9)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(self.failed())
    }
}

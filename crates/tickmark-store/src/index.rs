//! The index over recordings: SQLite, made again at any time from the folders.

use super::recording::{Arm, Recording, Status};
use crate::{Error, Id, signature};
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, Row, params};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Summary of a recording for a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// Its id.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// When it was begun; RFC 3339, UTC.
    pub created: Timestamp,
    /// True if nothing is to be done any more.
    pub complete: bool,
    /// Runs that ended in whatever way.
    pub runs_done: u32,
    /// Runs that gave a figure.
    pub runs_ok: u32,
    /// Runs of its plan.
    pub runs_planned: u32,
    /// Metrics of its plan.
    pub metrics: u32,
    /// The machine's name.
    pub host: Option<String>,
    /// The operating system: of imported ones as their file says.
    pub system: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The clock source.
    pub clock_source: Option<String>,
    /// Its place in an experiment.
    pub arm: Option<Arm>,
    /// True if another program measured.
    pub imported: bool,
    /// True if the doctor measured for itself.
    pub doctor: bool,
    /// In which session of its machine it was made.
    pub boot: Option<String>,
    /// The same for replicates of one configuration: machine, settings, what was measured, how often and how long.
    pub signature: String,
}

impl Entry {
    /// As [`Recording::is_history`].
    #[must_use]
    pub fn is_history(&self) -> bool {
        self.arm.as_ref().is_none_or(Arm::is_command)
    }

    /// Entry of the index about a recording.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let fact = |name: &str| recording.environment().and_then(|facts| facts.get(name)).map(str::to_owned);
        let done = recording.runs.iter().filter(|run| run.status != Status::Open).count();
        Self {
            id: recording.meta.id.clone(),
            name: recording.meta.name.clone(),
            created: recording.meta.created,
            complete: recording.complete(),
            runs_done: done as u32,
            runs_ok: runs_ok(recording),
            runs_planned: recording.runs.len() as u32,
            metrics: recording.meta.plan.metrics.len() as u32,
            host: fact("host.name"),
            system: fact("kernel.name").or_else(|| recording.imported.is_none().then(|| "Linux".to_owned())),
            kernel: fact("kernel.release"),
            clock_source: fact("clock.source"),
            arm: recording.meta.arm.clone(),
            imported: recording.imported.is_some(),
            doctor: recording.meta.select == [crate::DOCTOR],
            boot: fact("boot.id"),
            signature: signature::signature(recording),
        }
    }

    /// True if its runs ended and none of them gave a figure.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.complete && self.runs_ok == 0
    }

    /// True if `last` may mean it.
    pub(super) fn may_be_last(&self) -> bool {
        !self.failed() && !self.doctor
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let wrong = |_| rusqlite::Error::InvalidQuery;
        let arm: Option<String> = row.get(10)?;
        Ok(Self {
            id: Id::try_from(row.get::<_, String>(0)?).map_err(|_| rusqlite::Error::InvalidQuery)?,
            name: row.get(1)?,
            created: row.get::<_, String>(2)?.parse().map_err(|_| rusqlite::Error::InvalidQuery)?,
            complete: row.get(3)?,
            runs_done: row.get(4)?,
            runs_planned: row.get(5)?,
            metrics: row.get(6)?,
            host: row.get(7)?,
            kernel: row.get(8)?,
            clock_source: row.get(9)?,
            arm: arm.map(|text| serde_json::from_str(&text)).transpose().map_err(wrong)?,
            imported: row.get(11)?,
            boot: row.get(12)?,
            signature: row.get(13)?,
            runs_ok: row.get(14)?,
            system: row.get(15)?,
            doctor: row.get(16)?,
        })
    }
}

/// The facts of a recording by which it may be looked for: what changes by itself is none.
pub(super) fn facts(recording: &Recording) -> impl Iterator<Item = (&str, &str)> {
    let all = recording.environment().into_iter().flat_map(tickmark_wire::Environment::iter);
    all.filter_map(|(name, fact)| Some((name, fact.value.as_deref()?)))
        .filter(|(name, _)| !name.starts_with("state."))
}

/// The tables of this version; an index of another is made again.
const VERSION: i64 = 5;

const SCHEMA: &str = "
create table if not exists recordings (
  id text primary key, name text not null, created text not null, complete integer not null,
  runs_done integer not null, runs_planned integer not null, metrics integer not null,
  host text, kernel text, clock_source text, arm text, imported integer not null, boot text, signature text not null,
  runs_ok integer not null, system text, doctor integer not null
) strict;
create table if not exists facts (
  recording text not null, name text not null, value text not null, primary key (recording, name)
) strict, without rowid;
create index if not exists facts_by_name on facts (name, value);
pragma user_version = 5;
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
        // A pipe would be waited for.
        let files = ["", "-journal", "-wal", "-shm"].map(|end| root.join(format!("index.sqlite{end}")));
        if files.iter().any(|file| std::fs::symlink_metadata(file).is_ok_and(|is| !is.is_file())) {
            return Err(Error::Index { path, source: rusqlite::Error::InvalidQuery });
        }
        // An index through a link is not ours.
        match Connection::open_with_flags(&path, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW) {
            Ok(connection) => Self { path, connection }.checked(),
            Err(source) => Err(Error::Index { path, source }),
        }
    }

    /// Only tables that this version made are read: what calls itself one may compute anything.
    fn checked(self) -> Result<Self, Error> {
        let number = |query: &str| self.connection.query_row(query, [], |row| row.get::<_, i64>(0));
        let others = number(
            "select count(*) from sqlite_master where name in ('recordings', 'facts') and type != 'table'",
        );
        let tables = number("select count(*) from sqlite_master");
        let version = number("pragma user_version");
        let fits = others.and_then(|others| Ok(others == 0 && (tables? == 0 || version? == VERSION)));
        match fits.map_err(self.failed())? {
            true => Ok(self),
            false => Err(self.failed()(rusqlite::Error::InvalidQuery)),
        }
    }

    fn failed(&self) -> impl Fn(rusqlite::Error) -> Error + '_ {
        |source| Error::Index { path: self.path.clone(), source }
    }

    fn execute(&self, statements: &str) -> Result<(), Error> {
        self.connection.execute_batch(statements).map_err(self.failed())
    }

    /// Adds recordings or brings them up to date, all or none.
    pub(super) fn put<'a>(&self, recordings: impl Iterator<Item = &'a Recording>) -> Result<(), Error> {
        let all = || -> rusqlite::Result<()> {
            let change = self.connection.unchecked_transaction()?;
            for recording in recordings {
                self.put_one(recording)?;
            }
            change.commit()
        };
        all().map_err(self.failed())
    }

    fn put_one(&self, recording: &Recording) -> rusqlite::Result<()> {
        let e = Entry::from_recording(recording);
        let arm = e.arm.as_ref().and_then(|arm| serde_json::to_string(arm).ok());
        let mut row = self.connection.prepare_cached(
            "insert or replace into recordings values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        )?;
        row.execute(params![
            e.id.as_str(),
            e.name,
            e.created.to_string(),
            e.complete,
            e.runs_done,
            e.runs_planned,
            e.metrics,
            e.host,
            e.kernel,
            e.clock_source,
            arm,
            e.imported,
            e.boot,
            e.signature,
            e.runs_ok,
            e.system,
            e.doctor
        ])?;
        self.connection.execute("delete from facts where recording = ?1", [e.id.as_str()])?;
        let mut fact = self.connection.prepare_cached("insert or replace into facts values (?1, ?2, ?3)")?;
        facts(recording).try_for_each(|(name, value)| fact.execute([e.id.as_str(), name, value]).map(drop))
    }

    /// Takes a recording out.
    pub(super) fn remove(&self, id: &Id) -> Result<(), Error> {
        let gone = |table: &str, key: &str| {
            self.connection.execute(&format!("delete from {table} where {key} = ?1"), [id.as_str()])
        };
        gone("recordings", "id").and_then(|_| gone("facts", "recording")).map(drop).map_err(self.failed())
    }

    /// The value of a fact in each recording that is known as finished; none where that has no such fact.
    pub(super) fn fact(&self, name: &str) -> Result<BTreeMap<String, Option<String>>, Error> {
        let query = "select id, value from recordings left join facts on recording = id and facts.name = ?1 where complete";
        let mut statement = self.connection.prepare(query).map_err(self.failed())?;
        let rows = statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(self.failed())
    }

    /// Every recording.
    pub(super) fn all(&self) -> Result<Vec<Entry>, Error> {
        let query = "select id, name, created, complete, runs_done, runs_planned, metrics, host, kernel, clock_source, \
                     arm, imported, boot, signature, runs_ok, system, doctor from recordings";
        let mut statement = self.connection.prepare(query).map_err(self.failed())?;
        let rows = statement.query_map([], Entry::read);
        rows.and_then(Iterator::collect).map_err(self.failed())
    }
}
/// Runs that were requested and gave a figure.
fn runs_ok(recording: &Recording) -> u32 {
    recording.requested_runs().filter(|run| run.status == Status::Ok).count() as u32
}

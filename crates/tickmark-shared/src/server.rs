//! The tables of the server.

use crate::{Error, Shared};
use postgres::{Client, NoTls, Transaction};
use std::collections::BTreeMap;

/// What is sent at once.
const PIECE: usize = 1 << 20;
/// What makes two programs that make the tables wait for each other: any number that nobody else has.
const LOCK: i64 = 0x7469_636b_6d61_726b;

/// Changes of the tables, each from the version before: the first makes them.
const MIGRATIONS: &[&str] = &["
    create table tickmark_recordings (
      id text primary key,
      meta text not null,
      bytes bigint not null,
      deleted boolean not null default false,
      made timestamptz not null default now()
    );
    create table tickmark_pieces (
      recording text not null references tickmark_recordings (id) on delete cascade,
      at bigint not null,
      content bytea not null,
      primary key (recording, at)
    );
"];

/// A connection.
pub(crate) struct Server {
    client: Client,
    place: String,
}

/// A recording as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) meta: String,
    pub(crate) bytes: u64,
    pub(crate) deleted: bool,
}

/// In a line, without what a server may have in its hints.
fn words(error: &postgres::Error) -> String {
    let said = error.as_db_error().map_or_else(|| error.to_string(), |known| known.message().to_owned());
    let cause = std::error::Error::source(error).filter(|_| error.as_db_error().is_none());
    let said = cause.map_or(said.clone(), |cause| format!("{said}: {cause}"));
    said.lines().next().unwrap_or_default().to_owned()
}

impl Server {
    /// Connects, and brings the tables to this version.
    pub(crate) fn connect(shared: &Shared) -> Result<Self, Error> {
        let place = shared.place.clone();
        let failed = |error: postgres::Error| Error::Server { place: place.clone(), why: words(&error) };
        let client = shared.configuration.connect(NoTls).map_err(failed)?;
        let mut server = Self { client, place: shared.place.clone() };
        server.migrate()?;
        Ok(server)
    }

    fn failed(&self) -> impl Fn(postgres::Error) -> Error + use<> {
        let place = self.place.clone();
        move |error| Error::Server { place: place.clone(), why: words(&error) }
    }

    fn migrate(&mut self) -> Result<(), Error> {
        let failed = self.failed();
        let mut change = self.client.transaction().map_err(&failed)?;
        change.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).map_err(&failed)?;
        change
            .batch_execute("create table if not exists tickmark_schema (version integer not null)")
            .map_err(&failed)?;
        let known = change.query_opt("select max(version) from tickmark_schema", &[]).map_err(&failed)?;
        let known = known.and_then(|row| row.get::<_, Option<i32>>(0)).unwrap_or(0);
        let newest = MIGRATIONS.len() as i32;
        if known > newest {
            let why = format!(
                "its tables are of version {known}, and this tickmark knows {newest}: use a newer one"
            );
            return Err(Error::Server { place: self.place.clone(), why });
        }
        for (version, statements) in (1..).zip(MIGRATIONS).skip(known as usize) {
            change.batch_execute(statements).map_err(&failed)?;
            change.execute("insert into tickmark_schema values ($1)", &[&version]).map_err(&failed)?;
        }
        change.commit().map_err(failed)
    }

    /// Every recording, with those that were deleted.
    pub(crate) fn list(&mut self) -> Result<BTreeMap<String, Row>, Error> {
        let rows = self.client.query("select id, meta, bytes, deleted from tickmark_recordings", &[]);
        let rows = rows.map_err(self.failed())?;
        let one = |row: &postgres::Row| {
            let bytes = u64::try_from(row.get::<_, i64>(2)).unwrap_or(0);
            (row.get(0), Row { meta: row.get(1), bytes, deleted: row.get(3) })
        };
        Ok(rows.iter().map(one).collect())
    }

    /// Sends a recording's meta.json, and of its events what the server has not; how many bytes it has then. One that was deleted there stays so.
    pub(crate) fn send(&mut self, id: &str, meta: &str, events: &[u8]) -> Result<u64, Error> {
        let failed = self.failed();
        let mut change = self.client.transaction().map_err(&failed)?;
        let there = lock(&mut change, id, meta).map_err(&failed)?;
        let (mut at, deleted) = there;
        if !deleted {
            while (at as usize) < events.len() {
                let piece = &events[at as usize..events.len().min(at as usize + PIECE)];
                change
                    .execute("insert into tickmark_pieces values ($1, $2, $3)", &[&id, &at, &piece])
                    .map_err(&failed)?;
                at += piece.len() as i64;
            }
            change
                .execute(
                    "update tickmark_recordings set meta = $2, bytes = $3 where id = $1",
                    &[&id, &meta, &at],
                )
                .map_err(&failed)?;
        }
        change.commit().map_err(failed)?;
        Ok(at as u64)
    }

    /// The events of a recording from an offset on.
    pub(crate) fn events(&mut self, id: &str, from: u64) -> Result<Vec<u8>, Error> {
        let failed = self.failed();
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let rows = self
            .client
            .query(
                "select at, content from tickmark_pieces where recording = $1 and at + length(content) > $2 order by at",
                &[&id, &from],
            )
            .map_err(failed)?;
        let mut events = Vec::new();
        for row in rows {
            let (at, content): (i64, Vec<u8>) = (row.get(0), row.get(1));
            let skipped = usize::try_from(from - at).unwrap_or(0);
            events.extend_from_slice(content.get(skipped..).unwrap_or_default());
        }
        Ok(events)
    }

    /// Deletes a recording for everybody.
    pub(crate) fn delete(&mut self, id: &str) -> Result<(), Error> {
        let failed = self.failed();
        let mut change = self.client.transaction().map_err(&failed)?;
        change
            .execute(
                "update tickmark_recordings set deleted = true, meta = '', bytes = 0 where id = $1",
                &[&id],
            )
            .map_err(&failed)?;
        change.execute("delete from tickmark_pieces where recording = $1", &[&id]).map_err(&failed)?;
        change.commit().map_err(failed)
    }
}

/// Makes the row of a recording where it is missing, and locks it; how many bytes it has, and whether it was deleted.
fn lock(change: &mut Transaction<'_>, id: &str, meta: &str) -> Result<(i64, bool), postgres::Error> {
    change.execute(
        "insert into tickmark_recordings (id, meta, bytes) values ($1, $2, 0) on conflict (id) do nothing",
        &[&id, &meta],
    )?;
    let row = change
        .query_one("select bytes, deleted from tickmark_recordings where id = $1 for update", &[&id])?;
    Ok((row.get(0), row.get(1)))
}

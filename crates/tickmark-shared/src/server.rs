//! The tables of the server.

use crate::{Error, Shared};
use std::collections::BTreeMap;
use std::time::Duration;
use tickmark_database::Parameter::{Bytes, Flag, Number, Text};
use tickmark_database::{Limits, Postgres};

/// Bytes that are sent at once.
const PIECE: usize = 1 << 20;
/// A statement is ended by the server after 60 s; 8 pieces come within the two minutes from 70 kB/s on.
const LIMITS: Limits = Limits {
    silence: Duration::from_secs(65),
    answer: Duration::from_secs(120),
    reads: 1,
    max_message_bytes: 64 << 20,
};
/// Bytes of a recording's events at most.
const MOST: usize = 1 << 30;
/// The advisory lock under which tables are made: any number that no other program uses.
const LOCK: i64 = 0x7469_636b_6d61_726b;

/// Changes of the tables, each from the version before: the first makes them.
const MIGRATIONS: &[&str] = &["
    create table if not exists tickmark_schema (
      version integer not null,
      store text not null default md5(random()::text || clock_timestamp()::text || pg_backend_pid()::text)
    );
    create table if not exists tickmark_recordings (
      id text primary key,
      meta text not null,
      bytes bigint not null,
      digest text not null default '',
      deleted boolean not null default false,
      made timestamptz not null default now()
    );
    create table if not exists tickmark_pieces (
      recording text not null references tickmark_recordings (id) on delete cascade,
      at bigint not null,
      content bytea not null,
      primary key (recording, at)
    );
"];

/// A connection.
pub(crate) struct Server {
    client: Postgres,
    place: String,
}

/// A recording as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    /// The [`digest`] of its meta.json.
    pub(crate) meta: String,
    pub(crate) bytes: u64,
    pub(crate) deleted: bool,
}

impl Server {
    /// Connects, and brings the tables to this version.
    pub(crate) fn connect(shared: &Shared) -> Result<Self, Error> {
        let place = shared.place.clone();
        let client = Postgres::connect(&shared.server, &shared.login, LIMITS)
            .map_err(|why| Error::Server { place: place.clone(), why })?;
        let mut server = Self { client, place };
        server.ask(migrate)?;
        Ok(server)
    }

    /// Does something with the connection; an error names the server.
    fn ask<T>(&mut self, work: impl FnOnce(&mut Postgres) -> Result<T, String>) -> Result<T, Error> {
        work(&mut self.client).map_err(|why| Error::Server { place: self.place.clone(), why })
    }

    /// Identity of this database among others.
    pub(crate) fn identity(&mut self) -> Result<String, Error> {
        self.ask(|client| {
            let rows = client.query("select store from tickmark_schema order by version limit 1", &[])?;
            Ok(rows.first().ok_or("tickmark_schema is empty")?.text(0)?.to_owned())
        })
    }

    /// Every recording, with those that were deleted.
    pub(crate) fn list(&mut self) -> Result<BTreeMap<String, Row>, Error> {
        let query = "select id, left(encode(sha256(convert_to(meta, 'UTF8')), 'hex'), 32), bytes, deleted from tickmark_recordings";
        self.ask(|client| {
            let rows = client.query(query, &[])?;
            let one = |row: &tickmark_database::Row| {
                let bytes = u64::try_from(row.number(2)?).unwrap_or(0);
                let meta = row.text(1)?.to_owned();
                Ok((row.text(0)?.to_owned(), Row { meta, bytes, deleted: row.flag(3)? }))
            };
            rows.iter().map(one).collect()
        })
    }

    /// Sends a recording's events beyond what the server has, and its meta.json where that was changed here; what it has then, and none where the two are
    /// different recordings of one id: both stay as they are. One that was deleted there stays so.
    pub(crate) fn send(
        &mut self,
        id: &str,
        meta: &str,
        is_changed: bool,
        events: &[u8],
    ) -> Result<Option<u64>, Error> {
        if events.len() > MOST {
            return self.ask(|_| {
                Err(format!("recording {id} has more than {MOST} bytes, which is too much for it"))
            });
        }
        self.ask(|client| client.transaction(|change| send(change, id, meta, is_changed, events)))
    }

    /// The meta.json of a recording; none of one that was deleted meanwhile.
    pub(crate) fn meta(&mut self, id: &str) -> Result<Option<String>, Error> {
        let query = "select meta from tickmark_recordings where id = $1 and not deleted";
        self.ask(|client| {
            let rows = client.query(query, &[Text(id)])?;
            rows.first().map(|row| row.text(0).map(str::to_owned)).transpose()
        })
    }

    /// The events of a recording, some pieces at a time: an answer has an end. None of one that was deleted, or went on, meanwhile.
    pub(crate) fn events(&mut self, id: &str) -> Result<Option<Vec<u8>>, Error> {
        self.ask(|client| {
            let pieces =
                "select content from tickmark_pieces where recording = $1 and at >= $2 order by at limit 8";
            let mut bytes = Vec::new();
            loop {
                let before = bytes.len();
                for row in client.query_binary(pieces, &[Text(id), Number(before as i64)])? {
                    bytes.extend_from_slice(row.bytes(0)?);
                }
                if bytes.len() == before {
                    let query =
                        "select 1 from tickmark_recordings where id = $1 and not deleted and bytes = $2";
                    let is_same = !client.query(query, &[Text(id), Number(before as i64)])?.is_empty();
                    return Ok(is_same.then_some(bytes));
                }
                if bytes.len() > MOST {
                    return Err(format!("recording {id} has more than {MOST} bytes there"));
                }
            }
        })
    }

    /// Deletes a recording for everybody.
    pub(crate) fn delete(&mut self, id: &str) -> Result<(), Error> {
        let row = "update tickmark_recordings set deleted = true, meta = '', bytes = 0 where id = $1";
        let pieces = "delete from tickmark_pieces where recording = $1";
        self.ask(|client| {
            client.transaction(|change| {
                change.query(row, &[Text(id)])?;
                change.query(pieces, &[Text(id)]).map(drop)
            })
        })
    }
}

/// Brings the tables to this version. Who may only read and write needs no right to make tables where they are as this version has them.
fn migrate(client: &mut Postgres) -> Result<(), String> {
    let newest = MIGRATIONS.len() as i64;
    let known = version(client)?;
    if known > newest {
        return Err(format!(
            "its tables are of version {known}, and this tickmark knows {newest}: use a newer one"
        ));
    }
    if known == newest {
        return Ok(());
    }
    client.transaction(|change| {
        change.query("select pg_advisory_xact_lock($1)", &[Number(LOCK)])?;
        // Another may have done it meanwhile.
        let known = version(change)?;
        for (version, statements) in (1..).zip(MIGRATIONS).skip(known as usize) {
            change.run(statements)?;
            change.query("insert into tickmark_schema (version) values ($1)", &[Number(version)])?;
        }
        Ok(())
    })
}

/// The version of the tables; 0 where there are none.
fn version(client: &mut Postgres) -> Result<i64, String> {
    let number = |client: &mut Postgres, query: &str| -> Result<i64, String> {
        client.query(query, &[])?.first().ok_or("no row")?.number(0)
    };
    if number(client, "select count(to_regclass('tickmark_schema'))")? == 0 {
        return Ok(0);
    }
    Ok(number(client, "select coalesce(max(version), 0) from tickmark_schema")?.max(0))
}

/// Makes the row of a recording where it is missing, locks it, and sends what it lacks.
fn send(
    change: &mut Postgres,
    id: &str,
    meta: &str,
    is_changed: bool,
    events: &[u8],
) -> Result<Option<u64>, String> {
    change.query(
        "insert into tickmark_recordings (id, meta, bytes) values ($1, $2, 0) on conflict (id) do nothing",
        &[Text(id), Text(meta)],
    )?;
    let query = "select bytes, digest, deleted from tickmark_recordings where id = $1 for update";
    let rows = change.query(query, &[Text(id)])?;
    let row = rows.first().ok_or("the row of a recording is gone")?;
    let (there, known, deleted) = (row.number(0)?, row.text(1)?, row.flag(2)?);
    let Some(same) = events.get(..there as usize).filter(|same| there == 0 || digest(same) == known) else {
        return Ok(None);
    };
    let mut at = same.len();
    if deleted {
        return Ok(Some(at as u64));
    }
    while at < events.len() {
        let piece = &events[at..events.len().min(at + PIECE)];
        change.query(
            "insert into tickmark_pieces values ($1, $2, $3)",
            &[Text(id), Number(at as i64), Bytes(piece)],
        )?;
        at += piece.len();
    }
    change.query(
        "update tickmark_recordings set bytes = $2, digest = $3, meta = case when $4 then $5 else meta end where id = $1",
        &[Text(id), Number(at as i64), Text(&digest(events)), Flag(is_changed), Text(meta)],
    )?;
    Ok(Some(at as u64))
}

/// A digest of bytes, as text.
pub(crate) fn digest(bytes: &[u8]) -> String {
    use sha2::Digest;
    use std::fmt::Write;
    sha2::Sha256::digest(bytes).iter().take(16).fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

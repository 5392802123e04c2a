//! The tables of the server.

use crate::{Error, LIMIT, Shared, relay};
use postgres::{Client, GenericClient, NoTls, Transaction};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What is sent at once.
const PIECE: usize = 1 << 20;
/// Bytes of a recording's events at most.
const MOST: usize = 1 << 30;
/// What makes two programs that make the tables wait for each other: any number that nobody else has.
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
    client: Client,
    /// Why the relay ended it.
    ended: relay::Why,
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

/// In a line, without what a server may have in its hints.
fn words(error: &postgres::Error) -> String {
    let said = error.as_db_error().map_or_else(|| error.to_string(), |known| known.message().to_owned());
    let cause = std::error::Error::source(error).filter(|_| error.as_db_error().is_none());
    let said = cause.map_or(said.clone(), |cause| format!("{said}: {cause}"));
    said.lines().next().unwrap_or_default().to_owned()
}

/// A folder for a socket, whose path has to be short (unix(7): 108 bytes).
fn folder() -> Result<tempfile::TempDir, Error> {
    let usual = std::env::temp_dir();
    let place = if usual.as_os_str().len() < 80 { usual } else { PathBuf::from("/tmp") };
    tempfile::tempdir_in(&place).map_err(Error::file("make a folder in", place))
}

impl Server {
    /// Connects, and brings the tables to this version.
    pub(crate) fn connect(shared: &Shared) -> Result<Self, Error> {
        let place = shared.place.clone();
        let refused = |why: String| Error::Server { place: place.clone(), why };
        let mut error = refused("no address".to_owned());
        for peer in shared.peers() {
            // The client believes what a server says of lengths: it gets what a relay has looked at.
            let (folder, ended) = (folder()?, relay::Why::default());
            if let Err(why) = relay::offer(&peer, folder.path(), LIMIT, Arc::clone(&ended)) {
                error = refused(why.to_string());
                continue;
            }
            // The limit of the library is that of the socket alone: a server that was stopped takes connections and says nothing.
            let (send, connected) = std::sync::mpsc::channel();
            let configuration = shared.relayed(folder.path());
            std::thread::spawn(move || {
                let _ = send.send(configuration.connect(NoTls));
            });
            match connected.recv_timeout(LIMIT) {
                Ok(Ok(client)) => {
                    let mut server = Self { client, ended, place: shared.place.clone() };
                    server.migrate()?;
                    return Ok(server);
                }
                Ok(Err(why)) => error = refused(ended.get().cloned().unwrap_or_else(|| words(&why))),
                Err(_) => error = refused(format!("no answer within {} s", LIMIT.as_secs())),
            }
        }
        Err(error)
    }

    fn failed(&self) -> impl Fn(postgres::Error) -> Error + use<> {
        let (place, ended) = (self.place.clone(), Arc::clone(&self.ended));
        move |error| {
            let why = ended.get().cloned().unwrap_or_else(|| words(&error));
            Error::Server { place: place.clone(), why }
        }
    }

    /// Who may only read and write needs no right to make tables where they are as this version has them.
    fn migrate(&mut self) -> Result<(), Error> {
        let failed = self.failed();
        let newest = MIGRATIONS.len() as i32;
        let known = version(&mut self.client).map_err(&failed)?;
        if known > newest {
            let why = format!(
                "its tables are of version {known}, and this tickmark knows {newest}: use a newer one"
            );
            return Err(Error::Server { place: self.place.clone(), why });
        }
        if known == newest {
            return Ok(());
        }
        let mut change = self.client.transaction().map_err(&failed)?;
        change.execute("select pg_advisory_xact_lock($1)", &[&LOCK]).map_err(&failed)?;
        // Another may have done it meanwhile.
        let known = version(&mut change).map_err(&failed)?;
        for (version, statements) in (1..).zip(MIGRATIONS).skip(known as usize) {
            change.batch_execute(statements).map_err(&failed)?;
            change
                .execute("insert into tickmark_schema (version) values ($1)", &[&version])
                .map_err(&failed)?;
        }
        change.commit().map_err(failed)
    }

    /// What tells this database from others.
    pub(crate) fn identity(&mut self) -> Result<String, Error> {
        let row = self.client.query_one("select store from tickmark_schema order by version limit 1", &[]);
        Ok(row.map_err(self.failed())?.get(0))
    }

    /// Every recording, with those that were deleted.
    pub(crate) fn list(&mut self) -> Result<BTreeMap<String, Row>, Error> {
        let query = "select id, left(encode(sha256(convert_to(meta, 'UTF8')), 'hex'), 32), bytes, deleted from tickmark_recordings";
        let rows = self.client.query(query, &[]);
        let rows = rows.map_err(self.failed())?;
        let one = |row: &postgres::Row| {
            let bytes = u64::try_from(row.get::<_, i64>(2)).unwrap_or(0);
            (row.get(0), Row { meta: row.get(1), bytes, deleted: row.get(3) })
        };
        Ok(rows.iter().map(one).collect())
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
        let failed = self.failed();
        if events.len() > MOST {
            let why = format!("recording {id} has more than {MOST} bytes, which is too much for it");
            return Err(Error::Server { place: self.place.clone(), why });
        }
        let mut change = self.client.transaction().map_err(&failed)?;
        let Locked { bytes: there, digest: known, deleted } = lock(&mut change, id, meta).map_err(&failed)?;
        let Some(same) = events.get(..there as usize).filter(|same| there == 0 || digest(same) == known)
        else {
            return Ok(None);
        };
        let mut at = same.len() as i64;
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
                    "update tickmark_recordings set bytes = $2, digest = $3, meta = case when $4 then $5 else meta end where id = $1",
                    &[&id, &at, &digest(events), &is_changed, &meta],
                )
                .map_err(&failed)?;
        }
        change.commit().map_err(failed)?;
        Ok(Some(at as u64))
    }

    /// The meta.json of a recording; none of one that was deleted meanwhile.
    pub(crate) fn meta(&mut self, id: &str) -> Result<Option<String>, Error> {
        let query = "select meta from tickmark_recordings where id = $1 and not deleted";
        let row = self.client.query_opt(query, &[&id]).map_err(self.failed())?;
        Ok(row.map(|row| row.get(0)))
    }

    /// The events of a recording, some pieces at a time: an answer has an end. None of one that was deleted, or went on, meanwhile.
    pub(crate) fn events(&mut self, id: &str) -> Result<Option<Vec<u8>>, Error> {
        let query =
            "select content from tickmark_pieces where recording = $1 and at >= $2 order by at limit 32";
        let mut bytes = Vec::new();
        loop {
            let rows = self.client.query(query, &[&id, &(bytes.len() as i64)]).map_err(self.failed())?;
            let before = bytes.len();
            rows.iter().for_each(|row| bytes.extend_from_slice(row.get::<_, &[u8]>(0)));
            if bytes.len() == before {
                let query = "select 1 from tickmark_recordings where id = $1 and not deleted and bytes = $2";
                let same = self.client.query_opt(query, &[&id, &(before as i64)]).map_err(self.failed())?;
                return Ok(same.map(|_| bytes));
            }
            if bytes.len() > MOST {
                let why = format!("recording {id} has more than {MOST} bytes there");
                return Err(Error::Server { place: self.place.clone(), why });
            }
        }
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

/// The version of the tables; 0 where there are none.
fn version(client: &mut impl GenericClient) -> Result<i32, postgres::Error> {
    if !client.query_one("select to_regclass('tickmark_schema') is not null", &[])?.get::<_, bool>(0) {
        return Ok(0);
    }
    let row = client.query_one("select max(version) from tickmark_schema", &[])?;
    Ok(row.get::<_, Option<i32>>(0).unwrap_or(0))
}

/// A recording whose row is locked.
struct Locked {
    bytes: i64,
    digest: String,
    deleted: bool,
}

/// Makes the row of a recording where it is missing, and locks it.
fn lock(change: &mut Transaction<'_>, id: &str, meta: &str) -> Result<Locked, postgres::Error> {
    change.execute(
        "insert into tickmark_recordings (id, meta, bytes) values ($1, $2, 0) on conflict (id) do nothing",
        &[&id, &meta],
    )?;
    let query = "select bytes, digest, deleted from tickmark_recordings where id = $1 for update";
    let row = change.query_one(query, &[&id])?;
    Ok(Locked { bytes: row.get(0), digest: row.get(1), deleted: row.get(2) })
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

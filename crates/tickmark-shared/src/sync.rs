//! Makes the copy and the server alike.

use crate::server::{Row, Server, digest};
use crate::{Error, Shared};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tickmark_store::files::{SMALL, open_regular, read_regular, write_whole};
use tickmark_store::{Id, Store};

/// File of the last common state: a line `ID DIGEST` for each recording. A meta.json of another digest was changed here.
const SYNCED: &str = "synced";

/// Which database the copy is of.
const IDENTITY: &str = "server";
/// How long another command may be at the copy.
const PATIENCE: Duration = Duration::from_secs(60);

/// Result of a sync.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Synced {
    /// Recordings that were sent, wholly or in part.
    pub sent: usize,
    /// Recordings that came.
    pub fetched: usize,
    /// Recordings that were deleted, here or there.
    pub deleted: usize,
    /// Recordings that went on here and there in two ways: both stay as they are.
    pub conflicts: usize,
}

impl Shared {
    /// Deletes for everybody what was `deleted` here, sends what the server has not, and fetches what the copy has not; `store` is the copy. What goes wrong
    /// leaves both as they are, and the next time goes on. A recording that is missing here for another reason comes back.
    ///
    /// # Errors
    /// The server does not answer, or a file of the copy cannot be used.
    pub fn sync(&self, store: &Store, deleted: &[String]) -> Result<Synced, Error> {
        let root = store.root();
        std::fs::create_dir_all(root.join("recordings")).map_err(Error::file("make", root))?;
        // Two at once would fetch the same twice.
        let path = root.join("sync.lock");
        let lock =
            File::options().create(true).append(true).open(&path).map_err(Error::file("open", &path))?;
        let since = Instant::now();
        while lock.try_lock().is_err() {
            if since.elapsed() > PATIENCE {
                let busy = std::io::Error::other("another tickmark is at it for a minute");
                return Err(Error::file("lock", &path)(busy));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let mut server = Server::connect(self)?;
        let (own, identity) = (root.join(IDENTITY), server.identity()?);
        match text(&own) {
            Ok(known) if known.trim() != identity => {
                return Err(Error::Another { place: self.place().to_owned(), path: root.to_owned() });
            }
            Ok(_) => {}
            Err(_) => write(&own, identity.as_bytes())?,
        }
        let known = read_synced(root)?;
        let mut done = Synced::default();
        for id in deleted {
            server.delete(id)?;
            done.deleted += 1;
        }
        let there = server.list()?;
        let mut now = BTreeMap::new();
        for id in here(root)? {
            match there.get(&id) {
                Some(row) if row.deleted => done.deleted += usize::from(forget(store, &id)),
                row => {
                    let digest = sync_recording(store, &mut server, &id, row, known.get(&id), &mut done)?;
                    now.insert(id, digest);
                }
            }
        }
        for (id, _) in there.iter().filter(|(id, row)| !row.deleted && !is_here(root, id)) {
            // A name that is no id would be a path.
            if Id::try_from(id.clone()).is_err() {
                continue;
            }
            if let Some(digest) = fetch(store, &mut server, id)? {
                now.insert(id.clone(), digest);
                done.fetched += 1;
            }
        }
        let text: String = now.iter().map(|(id, digest)| format!("{id} {digest}\n")).collect();
        write(&root.join(SYNCED), text.as_bytes())?;
        Ok(done)
    }
}

fn folder(root: &Path, id: &str) -> PathBuf {
    root.join("recordings").join(id)
}

fn is_here(root: &Path, id: &str) -> bool {
    folder(root, id).join("meta.json").exists()
}

/// The recordings of the copy.
fn here(root: &Path) -> Result<Vec<String>, Error> {
    let path = root.join("recordings");
    let entries = std::fs::read_dir(&path).map_err(Error::file("read", &path))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| is_here(root, name) && Id::try_from(name.clone()).is_ok()).collect())
}

fn read_synced(root: &Path) -> Result<BTreeMap<String, String>, Error> {
    let path = root.join(SYNCED);
    let all = match text(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        all => all.map_err(Error::file("read", path))?,
    };
    let line = |line: &str| line.split_once(' ').map(|(id, digest)| (id.to_owned(), digest.to_owned()));
    Ok(all.lines().filter_map(line).collect())
}

/// A recording that is here; the digest of its meta.json when both are alike.
fn sync_recording(
    store: &Store,
    server: &mut Server,
    id: &str,
    row: Option<&Row>,
    known: Option<&String>,
    done: &mut Synced,
) -> Result<String, Error> {
    let folder = folder(store.root(), id);
    let path = folder.join("meta.json");
    let meta = text(&path).map_err(Error::file("read", &path))?;
    let own = digest(meta.as_bytes());
    let events = folder.join("events.jsonl");
    let changed_here = known != Some(&own);
    // One that is being written is sent when it is whole.
    let Some(_still) = unlocked(&events) else { return Ok(known.cloned().unwrap_or_default()) };
    let mut bytes = match open_regular(&events, File::options().read(true)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        file => {
            let mut bytes = Vec::new();
            file.and_then(|mut file| file.read_to_end(&mut bytes)).map_err(Error::file("read", &events))?;
            bytes
        }
    };
    let length = bytes.len();
    if row.is_some_and(|row| row.bytes > length as u64) {
        // Deleted there meanwhile: the next time says so.
        let Some(all) = server.events(id)? else { return Ok(known.cloned().unwrap_or_default()) };
        let Some(more) = all.strip_prefix(&bytes[..]) else {
            done.conflicts += 1;
            return Ok(own);
        };
        let appended = open_regular(&events, File::options().create(true).append(true))
            .and_then(|mut file| file.write_all(more));
        appended.map_err(Error::file("write", &events))?;
        bytes = all;
    }
    let Some(row) = row.filter(|row| row.bytes >= bytes.len() as u64 && (row.meta == own || !changed_here))
    else {
        match server.send(id, &meta, changed_here || row.is_none(), &bytes)? {
            Some(_) => done.sent += 1,
            None => done.conflicts += 1,
        }
        return Ok(own);
    };
    let is_changed_there = row.meta != own;
    let theirs = if is_changed_there { server.meta(id)? } else { None };
    let is_changed_there = theirs.is_some();
    let meta = theirs.unwrap_or(meta);
    if is_changed_there {
        write(&path, meta.as_bytes())?;
    }
    if bytes.len() > length || is_changed_there {
        store.index(&folder);
        done.fetched += 1;
    }
    Ok(digest(meta.as_bytes()))
}

/// The lock of a recording's events; none where somebody writes them.
fn unlocked(events: &Path) -> Option<Option<File>> {
    match open_regular(events, File::options().read(true)) {
        Ok(file) => file.try_lock().is_ok().then_some(Some(file)),
        Err(_) => Some(None),
    }
}

/// Fetches a recording that is not here, whole or not at all; the digest of its meta.json. None of one that was deleted there meanwhile.
fn fetch(store: &Store, server: &mut Server, id: &str) -> Result<Option<String>, Error> {
    let (Some(events), Some(meta)) = (server.events(id)?, server.meta(id)?) else { return Ok(None) };
    let (folder, draft) = (folder(store.root(), id), store.root().join("fetching"));
    let _ = std::fs::remove_dir_all(&draft);
    std::fs::create_dir_all(&draft).map_err(Error::file("make", &draft))?;
    write(&draft.join("events.jsonl"), &events)?;
    write(&draft.join("meta.json"), meta.as_bytes())?;
    // What a kill left there is no recording.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::rename(&draft, &folder).map_err(Error::file("make", &folder))?;
    store.index(&folder);
    Ok(Some(digest(meta.as_bytes())))
}

/// Removes a recording that others deleted; one that is being written stays until the next time.
fn forget(store: &Store, id: &str) -> bool {
    Id::try_from(id.to_owned()).is_ok_and(|id| store.delete(&id).is_ok())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_whole(path, bytes).map_err(Error::file("write", path))
}

/// A small file of the copy.
fn text(path: &Path) -> std::io::Result<String> {
    read_regular(path, SMALL).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

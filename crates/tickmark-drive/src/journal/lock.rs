//! Locks of what is changed, on the whole machine: also other stores are told. A lock says where the journal of its
//! experiment is, so that what a killed one left is known, whatever store it had.

use super::{Page, Undo};
use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tickmark_probe::sys::host::{OPEN_CAREFULLY, effective_user as own_id};

/// Bytes of a lock or a journal that are read at most; an experiment writes a few thousand.
pub(super) const LONGEST: u64 = 16 << 20;

/// One thing that is changed.
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

/// Content of a lock.
#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    journal: PathBuf,
    /// The first line of the journal; it is known also where the journal is gone.
    page: Page,
}

impl Lock {
    /// Locks a thing by its name.
    ///
    /// # Errors
    /// An experiment that runs has it, or one that was killed left it changed; no folder is safe to keep a lock in.
    pub(super) fn take(target: &str) -> Result<Self, Error> {
        Self::take_in(&folder()?, target)
    }

    fn take_in(folder: &Path, target: &str) -> Result<Self, Error> {
        // FNV-1a: the same name from every version of this program (Fowler, Noll and Vo, 1991).
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = target.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        let path = folder.join(format!("{hash:016x}.lock"));
        loop {
            let file = open_own(&path)?;
            if !tried(&file) {
                return Err(Error::Refused(format!(
                    "another experiment is changing {target}; wait for it to end"
                )));
            }
            // Whoever had it may have taken its file away meanwhile.
            if std::fs::symlink_metadata(&path).map(|now| now.ino()).ok() != Some(inode(&file, &path)?) {
                continue;
            }
            if let Some(holder) = Holder::read(&file) {
                holder.refuse_leftover(target, &path)?;
            }
            return Ok(Self { path, file });
        }
    }

    /// Says which journal has what is put back, and that.
    pub(super) fn name(&mut self, journal: &Path, page: &Page) -> Result<(), Error> {
        let failed = || Error::file("write", &self.path);
        let journal = std::path::absolute(journal).map_err(failed())?;
        let holder = Holder { journal, page: page.clone() };
        let text = serde_json::to_vec(&holder).map_err(|error| failed()(error.into()))?;
        let mut write = || {
            self.file.set_len(0)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&text)
        };
        write().map_err(failed())
    }

    /// Takes its file away: everything is as it was.
    pub(super) fn give_back(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// How often, and how far apart, a lock is tried: a process that was just killed holds it until the kernel has taken it apart, and
/// one that is being started until it executes.
const TRIES: u32 = 20;
const APART: Duration = Duration::from_millis(25);

/// True if a file could be locked.
pub(super) fn tried(file: &File) -> bool {
    (0..TRIES).any(|attempt| {
        if attempt > 0 {
            std::thread::sleep(APART);
        }
        file.try_lock().is_ok()
    })
}

/// The journals that the locks of this user name, in any store.
#[derive(Default)]
pub(super) struct Named {
    /// Journals that are there, each once.
    pub(super) journals: BTreeSet<PathBuf>,
    /// Settings that are still changed although their journal is gone, and folders that cannot be read, a line each.
    pub(super) wrong: Vec<String>,
}

/// Reads every lock of this user, in each folder where one may lie. One that an experiment holds names its journal too.
pub(super) fn named() -> Named {
    let mut named = Named::default();
    // In another user's there is no lock of this one.
    let there = |place: &PathBuf| std::fs::symlink_metadata(place).is_ok_and(|is| is.uid() == own_id());
    let mut entries = Vec::new();
    for place in folders().into_iter().filter(there) {
        match own_folder(&place).and_then(|()| std::fs::read_dir(&place).map_err(Error::file("read", &place)))
        {
            Ok(all) => entries.extend(all.flatten()),
            Err(error) => named.wrong.push(format!("{error}: what locks it has is not known")),
        }
    }
    for path in entries.iter().map(std::fs::DirEntry::path) {
        let Ok(file) = open_careful(&path) else { continue };
        let Some(holder) = Holder::read(&file) else { continue };
        if holder.journal.exists() {
            named.journals.insert(holder.journal);
        } else if tried(&file)
            && let Err(error) = holder.refuse_leftover("", &path)
        {
            named.wrong.push(error.to_string());
        }
    }
    named
}

/// Takes the locks away that name a journal, which has been carried out: what somebody sets from now on is no leftover of it.
pub(super) fn forget(journal: &Path) {
    let Ok(journal) = std::path::absolute(journal) else { return };
    let own = folders().into_iter().filter(|place| is_own(place));
    let locks = own.filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    for path in locks.map(|entry| entry.path()) {
        let names_it = |file: &File| Holder::read(file).is_some_and(|holder| holder.journal == journal);
        let Ok(file) = open_own(&path) else { continue };
        // Read again under the lock: who had it may have written another.
        if names_it(&file) && tried(&file) && names_it(&file) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

impl Holder {
    /// Reads a lock, if an experiment wrote it.
    fn read(mut file: &File) -> Option<Self> {
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(LONGEST).read_to_string(&mut text).ok()?;
        serde_json::from_slice(text.as_bytes()).ok()
    }

    /// Refuses to take a value that a killed experiment left changed for the original: its journal says so, or, where that is gone, the
    /// files themselves do.
    fn refuse_leftover(&self, target: &str, lock: &Path) -> Result<(), Error> {
        let store =
            self.journal.parent().and_then(Path::parent).unwrap_or(Path::new("?")).display().to_string();
        if self.journal.exists() {
            return match Page::read(&self.journal) {
                Ok(page) if page.pending().next().is_none() => Ok(()),
                _ => Err(Error::Refused(format!(
                    "an experiment that was killed left {target} changed; `tickmark experiment --restore --store {}` restores it",
                    tickmark_wire::text::quoted(&store)
                ))),
            };
        }
        match self.page.pending().find_map(Undo::differs) {
            None => Ok(()),
            Some(difference) => Err(Error::Refused(format!(
                "an experiment that was killed left {difference}, and its journal in {store} is gone: restore it by hand, or remove {} to accept it",
                lock.display()
            ))),
        }
    }
}

fn inode(file: &File, path: &Path) -> Result<u64, Error> {
    Ok(file.metadata().map_err(Error::file("read", path))?.ino())
}

/// Opens or makes a file of our own that nobody else can open: no link, no pipe, no other user's.
fn open_own(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(OPEN_CAREFULLY);
    let file = options.open(path).map_err(Error::file("open", path))?;
    let is = file.metadata().map_err(Error::file("read", path))?;
    if !is.is_file() || is.uid() != own_id() || is.nlink() > 1 {
        return Err(Error::Refused(format!("{} is no lock of this user; remove it", path.display())));
    }
    Ok(file)
}

/// Where locks may lie: of root in one that only root can write, of a user in the user's own while the user is logged in, and on a system
/// without those in the last. They are the same whatever the environment says.
fn folders() -> [PathBuf; 2] {
    let user = own_id();
    let place = match user {
        0 => PathBuf::from("/run/tickmark"),
        _ => PathBuf::from(format!("/run/user/{user}/tickmark")),
    };
    [place, PathBuf::from(format!("/tmp/tickmark-{user}"))]
}

/// The folder of locks.
fn folder() -> Result<PathBuf, Error> {
    let [place, temporary] = folders();
    own_folder(&place).map(|()| place).or_else(|_| own_folder(&temporary).map(|()| temporary)).map_err(
        |error| match error {
            Error::Refused(why) => Error::Refused(format!(
                "{why}, and locks stand there; its owner (ls -ld shows whose it is) or root can remove it"
            )),
            other => other,
        },
    )
}

/// Makes a folder that only this user can write, or finds that it is one.
pub(super) fn own_folder(path: &Path) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(Error::file("make", path)(error));
        }
        _ => {}
    }
    let is = std::fs::symlink_metadata(path).map_err(Error::file("read", path))?;
    if is.is_dir() && is.uid() == own_id() && is.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(Error::Refused(format!("{} is not a folder that only this user can write", path.display())))
}

/// Opens what may have been put there by another: through no link, without waiting, and only a file of this user's that no
/// other can write.
///
/// # Errors
/// Why not, in words.
pub(super) fn open_careful(path: &Path) -> Result<File, String> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(OPEN_CAREFULLY)
        .open(path)
        .map_err(|error| error.to_string())?;
    let is = file.metadata().map_err(|error| error.to_string())?;
    if is.is_file() && is.uid() == own_id() && is.mode() & 0o022 == 0 {
        return Ok(file);
    }
    Err("it is another user's, or others can write it".to_owned())
}

/// True if a file or folder is this user's, and no other can write it.
pub(super) fn is_own(path: &Path) -> bool {
    std::fs::symlink_metadata(path)
        .is_ok_and(|is| is.uid() == own_id() && is.mode() & 0o022 == 0 && !is.is_symlink())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_the_place_of_a_lock_is_neither_followed_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let taken = Lock::take_in(folder.path(), "a").unwrap();
        let path = taken.path.clone();
        assert!(
            Lock::take_in(folder.path(), "a")
                .map(drop)
                .unwrap_err()
                .to_string()
                .contains("another experiment")
        );
        taken.give_back();
        drop(taken);
        // A pipe that nobody reads.
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(Lock::take_in(folder.path(), "a").is_err());
        std::fs::remove_file(&path).unwrap();
        let elsewhere = folder.path().join("made-by-link");
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(Lock::take_in(folder.path(), "a").is_err());
        assert!(!elsewhere.exists());
    }

    #[test]
    fn a_folder_that_others_can_write_is_none_for_locks() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("locks");
        own_folder(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(own_folder(&path).is_err());
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert!(own_folder(&link).is_err());
    }
}

//! How a killed experiment is undone: what has to be put back stands in a file before anything is changed.

mod lock;
pub(crate) mod restore;

use crate::knob;
use crate::{Error, setting_file, shell};
use lock::{LONGEST, Lock, open_careful, own_folder};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// One step back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// Write what a file held.
    Write {
        /// The file.
        path: PathBuf,
        /// The content before the change.
        value: FileContent,
    },
    /// Run a command.
    Run {
        /// For the shell.
        command: String,
    },
    /// Take an empty folder away: a cgroup.
    Remove {
        /// The folder.
        path: PathBuf,
    },
    /// Let a thread use the CPUs that it could use.
    Affinity {
        /// Its number.
        task: u32,
        /// When it was started, in ticks since the boot.
        started: u64,
        /// Those CPUs.
        cpus: Vec<u32>,
    },
}

/// Content of a file: text, or bytes that are none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FileContent {
    /// Text.
    Text(String),
    /// Other bytes.
    Bytes(Vec<u8>),
}

impl From<Vec<u8>> for FileContent {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(|error| Self::Bytes(error.into_bytes()), Self::Text)
    }
}

impl FileContent {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// Content of a journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Page {
    /// The machine's session: what the kernel held does not survive its end.
    boot: String,
    pub(super) undo: Vec<Undo>,
}

/// The journals of this process that are not restored yet, for [`restore_after_panic`].
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Restores what this process has changed, from a panic hook: the release program aborts after a panic and drops nothing. The journals
/// stay, so `tickmark experiment --restore` looks again.
pub fn restore_after_panic() {
    restore_journals(&OPEN.try_lock().map(|open| open.clone()).unwrap_or_default());
}

fn restore_journals(paths: &[PathBuf]) {
    for path in paths {
        let restored = Page::read(path).and_then(|page| page.restore().map_err(|error| error.to_string()));
        if let Err(reason) = restored {
            eprintln!(
                "tickmark: not everything was restored: {reason}; `tickmark experiment --restore` tries again"
            );
        }
    }
}

/// Journal of the changes to restore; locked as long as the experiment runs.
pub(crate) struct Journal {
    path: PathBuf,
    page: Page,
    /// Held as long as the experiment runs.
    _running: File,
    /// One for each thing that is changed, on the whole machine.
    targets: Vec<Lock>,
}

impl Page {
    /// Changes that are still to be restored: those of the kernel's memory end with a boot.
    pub(super) fn pending(&self) -> impl DoubleEndedIterator<Item = &Undo> {
        let same = self.boot == boot();
        self.undo.iter().filter(move |undo| same || !undo.of_this_boot())
    }

    /// Reads a journal, or its copy where it is damaged: of this user alone, as it may hold commands.
    ///
    /// # Errors
    /// Why neither can be read.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let read = |path: &Path| -> Result<Self, String> {
            let mut text = Vec::new();
            open_careful(path)?.take(LONGEST).read_to_end(&mut text).map_err(|error| error.to_string())?;
            serde_json::from_slice(&text).map_err(|error| error.to_string())
        };
        read(path).or_else(|why| read(&copy(path)).map_err(|copy| format!("{why}; its copy: {copy}")))
    }

    /// Puts everything back, the last first; the first error that there was.
    pub(super) fn restore(&self) -> Result<(), Error> {
        let mut result = Ok(());
        for undo in self.pending().rev() {
            if let Err(error) = undo.carry_out() {
                result = result.and(Err(error));
            }
        }
        result
    }
}

/// Beside a journal, with the same in it.
fn copy(path: &Path) -> PathBuf {
    path.with_extension("copy")
}

/// The file that the experiment of a journal holds locked.
pub(super) fn running(path: &Path) -> PathBuf {
    path.with_extension("running")
}

/// Takes a journal away with what stands beside it. The copy stands in for a journal, so it goes first; what is locked goes
/// last: whoever takes that lock finds no journal any more.
pub(super) fn remove(path: &Path) {
    for path in [copy(path), path.to_owned(), running(path)] {
        let _ = std::fs::remove_file(path);
    }
}

impl Undo {
    fn carry_out(&self) -> Result<(), Error> {
        match self {
            Self::Write { path, value } => setting_file::put_back(path, value.bytes()),
            Self::Run { command } => shell::setting(command).map(drop),
            Self::Affinity { task, started, cpus } => knob::move_back(*task, *started, cpus),
            Self::Remove { path } => {
                // Processes of a run that was just ended may still be leaving.
                for _ in 0..100 {
                    match std::fs::remove_dir(path) {
                        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                            std::thread::sleep(Duration::from_millis(20));
                        }
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            return Err(Error::file("remove", path)(error));
                        }
                        _ => return Ok(()),
                    }
                }
                Err(Error::Refused(format!("{} is still in use", path.display())))
            }
        }
    }

    /// Where a file does not hold what it held: which, and what it holds.
    pub(super) fn differs(&self) -> Option<String> {
        let Self::Write { path, value } = self else { return None };
        let now = setting_file::bytes(path).ok()?;
        let (now, held) = (setting_file::value(&now), setting_file::value(value.bytes()));
        (now != held).then(|| format!("{} at {now} and not at {held}", path.display()))
    }

    /// The target that it changes.
    fn target(&self) -> String {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path.display().to_string(),
            Self::Run { command } => format!("what `{command}` restores"),
            Self::Affinity { task, .. } => format!("the CPUs of thread {task}"),
        }
    }

    /// Description of a finished restoration: a file was read back, of a command only its exit is known.
    pub(super) fn done(&self) -> String {
        match self {
            Self::Write { path, .. } if setting_file::is_gone(path) => {
                format!("the cgroup of {} has gone", path.display())
            }
            Self::Write { path, value } => {
                format!("{} is {} again", path.display(), setting_file::value(value.bytes()))
            }
            Self::Run { command } => format!("ran `{command}`; what it did is not read back"),
            Self::Affinity { task, .. } => format!("thread {task} may use its CPUs again, if it is there"),
            Self::Remove { path } => format!("removed {}", path.display()),
        }
    }

    /// True if it is undone by itself when the machine is started again: what the kernel held.
    fn of_this_boot(&self) -> bool {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => {
                path.starts_with("/sys") || path.starts_with("/proc")
            }
            Self::Run { .. } => false,
            Self::Affinity { .. } => true,
        }
    }
}

impl Journal {
    /// Locks what is going to be changed, and keeps how it is put back.
    ///
    /// # Errors
    /// An experiment that runs is changing the same; one that was killed has left something; the file cannot be written.
    pub(crate) fn begin(
        store: &Path,
        targets: &[String],
        undo: impl FnOnce() -> Result<Vec<Undo>, Error>,
    ) -> Result<Self, Error> {
        let locks = targets.iter().map(|target| Lock::take(target)).collect::<Result<Vec<_>, _>>()?;
        let folder = store.join("experiments");
        std::fs::create_dir_all(store).map_err(Error::file("make", store))?;
        own_folder(&folder)?;
        for (path, page, _free) in restore::left(store).journals {
            let page = page.map_err(|why| {
                Error::Refused(format!(
                    "the journal {} cannot be read ({why}); `tickmark experiment --restore` says more",
                    path.display()
                ))
            })?;
            let Some(first) = page.pending().next() else {
                remove(&path);
                continue;
            };
            let left = first.target();
            return Err(Error::Refused(format!(
                "an experiment that was killed left {left} changed; `tickmark experiment --restore` restores it"
            )));
        }
        // Read under the lock: it is what was there before any experiment.
        let page = Page { boot: boot(), undo: undo()? };
        let path = folder.join(format!("{:08x}.json", rand::random::<u32>()));
        let place = running(&path);
        let held = File::options().write(true).create_new(true).open(&place);
        let held = held.map_err(Error::file("write", &place))?;
        held.try_lock().map_err(|_| Error::Refused(format!("{} cannot be locked", place.display())))?;
        let mut journal = Self { path, page, _running: held, targets: locks };
        let named = journal.targets.iter_mut().try_for_each(|lock| lock.name(&journal.path, &journal.page));
        if let Err(error) = named.and_then(|()| journal.write()) {
            // Nothing was changed: half a journal would put back what somebody may set later.
            remove(&journal.path);
            journal.targets.iter().for_each(Lock::give_back);
            return Err(error);
        }
        open().push(journal.path.clone());
        Ok(journal)
    }

    /// A setting that is about to be made is taken back by this.
    pub(crate) fn push(&mut self, undo: Option<Undo>) -> Result<(), Error> {
        match undo {
            Some(undo) => {
                self.page.undo.push(undo);
                self.write()
            }
            None => Ok(()),
        }
    }

    /// It has been taken back.
    pub(crate) fn pop(&mut self, undo: Option<Undo>) -> Result<(), Error> {
        let Some(undo) = undo else { return Ok(()) };
        if self.page.undo.last() == Some(&undo) {
            self.page.undo.pop();
        }
        self.write()
    }

    /// The journal, then its copy, each under another name first: at every moment one of them is whole.
    fn write(&self) -> Result<(), Error> {
        let failed = || Error::file("write", &self.path);
        let text = serde_json::to_vec_pretty(&self.page).map_err(|error| failed()(error.into()))?;
        for path in [&self.path, &copy(&self.path)] {
            let draft = path.with_extension("draft");
            let made = File::options().write(true).create(true).truncate(true).mode(0o600).open(&draft);
            let written = made.and_then(|mut file| {
                file.write_all(&text)?;
                file.sync_all()
            });
            written.and_then(|()| std::fs::rename(&draft, path)).map_err(failed())?;
        }
        Ok(())
    }

    /// Puts everything back, the last first; the first error that there was. The journal stays where something could not
    /// be put back.
    pub(crate) fn restore(&self) -> Result<(), Error> {
        self.page.restore()?;
        open().retain(|path| *path != self.path);
        remove(&self.path);
        self.targets.iter().for_each(Lock::give_back);
        Ok(())
    }
}

fn open() -> MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which session of the machine this is.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests;

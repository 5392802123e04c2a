//! How a killed experiment is undone: what has to be put back stands in a file before anything is changed.

use super::{setting_file, shell};
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One step back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Undo {
    /// Write a file's former value.
    Write { path: PathBuf, value: String },
    /// Run a command.
    Run { command: String },
    /// Take an empty folder away: a cgroup.
    Remove { path: PathBuf },
}

#[derive(Serialize, Deserialize)]
struct Page {
    /// The machine's session: what the kernel held does not survive its end.
    boot: String,
    undo: Vec<Undo>,
}

/// What has to be put back; locked as long as the experiment runs.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    page: Page,
    /// One for each thing that is changed, on the whole machine.
    targets: Vec<Lock>,
}

impl Page {
    /// What is still to be put back: what the kernel held is gone with it.
    fn pending(&self) -> impl DoubleEndedIterator<Item = &Undo> {
        let same = self.boot == boot();
        self.undo.iter().filter(move |undo| same || !undo.of_this_boot())
    }
}

impl Undo {
    fn carry_out(&self) -> Result<(), Error> {
        match self {
            Self::Write { path, value } => {
                if setting_file::read(path).is_ok_and(|seen| seen == *value) {
                    return Ok(());
                }
                setting_file::write(path, value)?;
                match setting_file::read(path)? {
                    seen if seen == *value => Ok(()),
                    seen => Err(Error::Refused(format!("{} is {seen} and not {value}", path.display()))),
                }
            }
            Self::Run { command } => shell::setting(command).map(drop),
            Self::Remove { path } => {
                // Processes of a run that was just ended may still be leaving.
                for _ in 0..100 {
                    match std::fs::remove_dir(path) {
                        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                            std::thread::sleep(Duration::from_millis(20));
                        }
                        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                            return Err(Error::store("remove", path)(error));
                        }
                        _ => return Ok(()),
                    }
                }
                Err(Error::Refused(format!("{} is still in use", path.display())))
            }
        }
    }

    /// What it changes.
    fn target(&self) -> String {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path.display().to_string(),
            Self::Run { command } => format!("what `{command}` takes back"),
        }
    }

    /// Whether it is undone by itself when the machine is started again: what the kernel held.
    fn of_this_boot(&self) -> bool {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => {
                path.starts_with("/sys") || path.starts_with("/proc")
            }
            Self::Run { .. } => false,
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Still held: nobody else has it.
        self.targets.iter().for_each(Lock::give_back);
    }
}

impl Journal {
    /// Locks what is going to be changed, and keeps how it is put back.
    ///
    /// # Errors
    /// An experiment that runs is changing the same; one that was killed has left something; the file cannot be written.
    pub(super) fn begin(
        store: &Path,
        targets: &[String],
        undo: impl FnOnce() -> Result<Vec<Undo>, Error>,
    ) -> Result<Self, Error> {
        let locks = targets.iter().map(|target| Lock::take(target)).collect::<Result<Vec<_>, _>>()?;
        for (path, lock, page) in pages(store) {
            if lock.is_none() {
                continue;
            }
            if page.pending().next().is_none() {
                let _ = std::fs::remove_file(path);
                continue;
            }
            let left = page.undo.first().map_or("something".to_owned(), Undo::target);
            return Err(Error::Refused(format!(
                "an experiment that was killed left {left} changed; `tickmark experiment --restore` puts it back"
            )));
        }
        // Read under the lock: it is what was there before any experiment.
        let page = Page { boot: boot(), undo: undo()? };
        let folder = store.join("experiments");
        std::fs::create_dir_all(&folder).map_err(Error::store("make", &folder))?;
        let path = folder.join(format!("{:08x}.json", rand::random::<u32>()));
        let file = File::options().write(true).read(true).create_new(true).open(&path);
        let file = file.map_err(Error::store("write", &path))?;
        file.try_lock().map_err(|_| Error::Refused(format!("{} cannot be locked", path.display())))?;
        let journal = Self { path, file, page, targets: locks };
        journal.write()?;
        Ok(journal)
    }

    /// A setting that is about to be made is taken back by this.
    pub(super) fn push(&mut self, undo: Option<Undo>) -> Result<(), Error> {
        match undo {
            Some(undo) => {
                self.page.undo.push(undo);
                self.write()
            }
            None => Ok(()),
        }
    }

    /// It has been taken back.
    pub(super) fn pop(&mut self, undo: Option<Undo>) -> Result<(), Error> {
        let Some(undo) = undo else { return Ok(()) };
        if self.page.undo.last() == Some(&undo) {
            self.page.undo.pop();
        }
        self.write()
    }

    fn write(&self) -> Result<(), Error> {
        use std::os::unix::fs::FileExt;
        let failed = || Error::store("write", &self.path);
        let mut text = serde_json::to_vec_pretty(&self.page).map_err(|error| failed()(error.into()))?;
        // Padded, so that a shorter page covers a longer one in one write.
        let length = self.file.metadata().map_err(failed())?.len() as usize;
        text.resize(text.len().max(length), b' ');
        self.file.write_all_at(&text, 0).and_then(|()| self.file.sync_all()).map_err(failed())
    }

    /// Puts everything back, the last first; the first error that there was. The file stays where something could not
    /// be put back.
    pub(super) fn restore(&self) -> Result<(), Error> {
        let mut result = Ok(());
        for undo in self.page.pending().rev() {
            if let Err(error) = undo.carry_out() {
                result = result.and(Err(error));
            }
        }
        if result.is_ok() {
            let _ = std::fs::remove_file(&self.path);
        }
        result
    }
}

/// One thing that is changed, locked on the whole machine: also other users and other stores are told.
struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    fn take(target: &str) -> Result<Self, Error> {
        // FNV-1a: the same name from every version of this program (Fowler, Noll and Vo, 1991).
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = target.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        let name = format!("tickmark-{hash:016x}.lock");
        let places = [PathBuf::from("/run/lock"), std::env::temp_dir()];
        // Another user's lock can be read.
        let open = |folder: &PathBuf| {
            let path = folder.join(&name);
            let made = File::options().create(true).truncate(false).write(true).open(&path);
            made.or_else(|_| File::open(&path)).ok().map(|file| Self { path, file })
        };
        loop {
            let Some(lock) = places.iter().find_map(open) else {
                let [first, second] = places.each_ref().map(|place| place.display().to_string());
                return Err(Error::Refused(format!("neither {first} nor {second} can be written to")));
            };
            if lock.file.try_lock().is_err() {
                return Err(Error::Refused(format!(
                    "another experiment is changing {target}; wait for it to end"
                )));
            }
            // Whoever had it may have taken its file away meanwhile.
            if lock.is_there() {
                return Ok(lock);
            }
        }
    }

    fn is_there(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let number =
            |metadata: std::io::Result<std::fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
        number(self.file.metadata()) == number(std::fs::metadata(&self.path))
    }

    fn give_back(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Puts back what killed experiments left, each as far as it goes: what was put back, as lines.
pub(crate) fn restore(store: &Path) -> Result<Vec<String>, Error> {
    let (mut lines, mut result) = (Vec::new(), Ok(()));
    for (path, lock, page) in pages(store) {
        let Some(file) = lock else { continue };
        let journal = Journal { path, file, page, targets: Vec::new() };
        match journal.restore() {
            Ok(()) => lines.extend(journal.page.undo.iter().map(|undo| match undo {
                Undo::Write { path, value } => format!("{} is {value} again", path.display()),
                Undo::Run { command } => format!("ran `{command}`"),
                Undo::Remove { path } => format!("removed {}", path.display()),
            })),
            Err(error) => {
                let place = journal.path.display();
                let told = Error::Refused(format!(
                    "{error}; what is left stands in {place}: remove it once it is put back by hand"
                ));
                result = result.and(Err(told));
            }
        }
    }
    result.map(|()| lines)
}

/// The journals of the store, each with its lock where nobody else holds it.
fn pages(store: &Path) -> Vec<(PathBuf, Option<File>, Page)> {
    let entries = std::fs::read_dir(store.join("experiments")).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let page = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        let file = File::options().read(true).write(true).open(&path).ok()?;
        let free = file.try_lock().is_ok();
        Some((path, free.then_some(file), page))
    };
    entries.filter_map(|entry| read(entry.path())).collect()
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(store: &Path, knob: &Path) -> Result<Journal, Error> {
        let path = knob.to_owned();
        Journal::begin(store, &[knob.display().to_string()], || {
            Ok(vec![Undo::Write { value: setting_file::read(&path)?, path }])
        })
    }

    #[test]
    fn what_was_changed_is_put_back_once() {
        let folder = tempfile::tempdir().unwrap();
        let knob = folder.path().join("knob");
        std::fs::write(&knob, "before\n").unwrap();
        let journal = begin(folder.path(), &knob).unwrap();
        std::fs::write(&knob, "changed\n").unwrap();
        // Another that wants the same is told, also in another store.
        let elsewhere = tempfile::tempdir().unwrap();
        let second = begin(elsewhere.path(), &knob).map(drop).unwrap_err();
        assert!(second.to_string().contains("another experiment is changing"), "{second}");
        assert!(restore(folder.path()).unwrap().is_empty(), "a running experiment is left alone");
        journal.restore().unwrap();
        assert_eq!(std::fs::read_to_string(&knob).unwrap(), "before");
        drop(journal);
        assert!(begin(folder.path(), &knob).is_ok());
    }

    #[test]
    fn a_killed_experiment_is_put_back_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let knob = folder.path().join("knob");
        std::fs::write(&knob, "before\n").unwrap();
        let journal = begin(folder.path(), &knob).unwrap();
        std::fs::write(&knob, "changed\n").unwrap();
        drop(journal);
        let refused = begin(folder.path(), &knob).map(drop).unwrap_err();
        assert!(refused.to_string().contains("--restore"), "{refused}");
        assert_eq!(restore(folder.path()).unwrap().len(), 1);
        assert_eq!(std::fs::read_to_string(&knob).unwrap(), "before");
        assert!(restore(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn only_a_setting_in_force_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace");
        let undo = |what: &str| Some(Undo::Run { command: format!("echo {what} >> {}", trace.display()) });
        let mut journal = Journal::begin(folder.path(), &[], || Ok(Vec::new())).unwrap();
        journal.push(undo("first")).unwrap();
        journal.pop(undo("first")).unwrap();
        journal.push(undo("second")).unwrap();
        drop(journal);
        assert_eq!(restore(folder.path()).unwrap().len(), 1);
        assert_eq!(std::fs::read_to_string(&trace).unwrap(), "second\n");
    }

    #[test]
    fn what_cannot_be_put_back_stays_in_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let undo = vec![Undo::Run { command: "exit 5".to_owned() }];
        let journal = Journal::begin(folder.path(), &[], || Ok(undo)).unwrap();
        assert!(journal.restore().unwrap_err().to_string().contains("exit 5"));
        drop(journal);
        assert!(restore(folder.path()).is_err() && pages(folder.path()).len() == 1);
    }
}

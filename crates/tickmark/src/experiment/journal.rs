//! How a killed experiment is undone: what has to be put back stands in a file before anything is changed.

use super::{knob, shell};
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
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
    _lock: Option<File>,
    undo: Vec<Undo>,
    boot: String,
}

impl Undo {
    fn carry_out(&self) -> Result<(), Error> {
        match self {
            Self::Write { path, value } => {
                if knob::read(path).is_ok_and(|seen| seen == *value) {
                    return Ok(());
                }
                knob::write(path, value)?;
                match knob::read(path)? {
                    seen if seen == *value => Ok(()),
                    seen => Err(Error::Refused(format!("{} is {seen} and not {value}", path.display()))),
                }
            }
            Self::Run { command } => shell::run(command, Duration::from_secs(300), |_| {}).map(drop),
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

    /// What it changes, so that two experiments do not.
    fn target(&self) -> String {
        match self {
            Self::Write { path, .. } | Self::Remove { path } => path.display().to_string(),
            Self::Run { command } => command.clone(),
        }
    }
}

impl Journal {
    /// Keeps what has to be undone in the folder of the store.
    ///
    /// # Errors
    /// The file cannot be written; an experiment that runs, or one that was killed, has changed the same.
    pub(super) fn begin(store: &Path, undo: Vec<Undo>) -> Result<Self, Error> {
        let boot = boot();
        let path = store.join("experiments").join(format!("{}.json", std::process::id()));
        if undo.is_empty() {
            return Ok(Self { path, _lock: None, undo, boot });
        }
        for (other, lock, page) in pages(store) {
            let both = page.undo.iter().find(|one| undo.iter().any(|own| own.target() == one.target()));
            let Some(both) = both else { continue };
            let target = both.target();
            return Err(Error::Refused(match lock {
                Some(_) if page.boot == boot => format!(
                    "an experiment that was killed left {target} changed; `tickmark experiment --restore` puts it back"
                ),
                Some(_) => {
                    let _ = std::fs::remove_file(other);
                    continue;
                }
                None => format!("another experiment is changing {target}; wait for it to end"),
            }));
        }
        let failed = || Error::store("write", &path);
        let folder = store.join("experiments");
        std::fs::create_dir_all(&folder).map_err(Error::store("make", &folder))?;
        let text = serde_json::to_vec_pretty(&Page { boot: boot.clone(), undo: undo.clone() });
        let text = text.map_err(|error| failed()(error.into()))?;
        let mut file = File::create(&path).map_err(failed())?;
        let _ = file.try_lock();
        file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed())?;
        Ok(Self { path, _lock: Some(file), undo, boot })
    }

    /// Puts everything back, the last first; the first error that there was. The file stays where something could not
    /// be put back.
    pub(super) fn restore(&self) -> Result<(), Error> {
        let mut result = Ok(());
        for undo in self.undo.iter().rev() {
            // What the kernel held is gone with it; what a command did may not be.
            let gone = self.boot != boot() && !matches!(undo, Undo::Run { .. });
            if !gone && let Err(error) = undo.carry_out() {
                result = result.and(Err(error));
            }
        }
        if result.is_ok() {
            let _ = std::fs::remove_file(&self.path);
        }
        result
    }
}

/// Puts back what killed experiments left: what was put back, as lines.
pub(crate) fn restore(store: &Path) -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for (path, lock, page) in pages(store) {
        let Some(lock) = lock else { continue };
        let journal = Journal { path, _lock: Some(lock), undo: page.undo, boot: page.boot };
        journal.restore()?;
        lines.extend(journal.undo.iter().map(|undo| match undo {
            Undo::Write { path, value } => format!("{} is {value} again", path.display()),
            Undo::Run { command } => format!("ran `{command}`"),
            Undo::Remove { path } => format!("removed {}", path.display()),
        }));
    }
    Ok(lines)
}

/// The journals of the store, each with its lock where nobody else holds it.
fn pages(store: &Path) -> Vec<(PathBuf, Option<File>, Page)> {
    let entries = std::fs::read_dir(store.join("experiments")).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let page = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        let file = File::open(&path).ok()?;
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

    fn undo(path: &Path) -> Vec<Undo> {
        vec![Undo::Write { path: path.to_owned(), value: "before".to_owned() }]
    }

    #[test]
    fn what_was_changed_is_put_back_once() {
        let folder = tempfile::tempdir().unwrap();
        let knob = folder.path().join("knob");
        std::fs::write(&knob, "before\n").unwrap();
        let journal = Journal::begin(folder.path(), undo(&knob)).unwrap();
        std::fs::write(&knob, "changed\n").unwrap();
        // Another that wants the same is told; one that wants something else is not.
        let second = Journal::begin(folder.path(), undo(&knob)).map(drop).unwrap_err();
        assert!(second.to_string().contains("another experiment is changing"), "{second}");
        assert!(restore(folder.path()).unwrap().is_empty(), "a running experiment is left alone");
        journal.restore().unwrap();
        assert_eq!(std::fs::read_to_string(&knob).unwrap(), "before");
        drop(journal);
        assert!(Journal::begin(folder.path(), undo(&knob)).is_ok());
    }

    #[test]
    fn a_killed_experiment_is_put_back_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let knob = folder.path().join("knob");
        std::fs::write(&knob, "before\n").unwrap();
        let journal = Journal::begin(folder.path(), undo(&knob)).unwrap();
        std::fs::write(&knob, "changed\n").unwrap();
        drop(journal);
        let refused = Journal::begin(folder.path(), undo(&knob)).map(drop).unwrap_err();
        assert!(refused.to_string().contains("--restore"), "{refused}");
        assert_eq!(restore(folder.path()).unwrap().len(), 1);
        assert_eq!(std::fs::read_to_string(&knob).unwrap(), "before");
        assert!(restore(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_put_back_stays_in_the_journal() {
        let folder = tempfile::tempdir().unwrap();
        let undo = vec![Undo::Run { command: "exit 5".to_owned() }];
        let journal = Journal::begin(folder.path(), undo).unwrap();
        assert!(journal.restore().unwrap_err().to_string().contains("exit 5"));
        drop(journal);
        assert!(restore(folder.path()).is_err() && pages(folder.path()).len() == 1);
    }
}

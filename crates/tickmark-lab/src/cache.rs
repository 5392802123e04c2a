//! Cache of built files in the user's cache folder: it speeds up builds, is never needed, and an entry is complete or absent.

use crate::Error;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time after which an entry that every version makes anew is removed.
const KEPT: Duration = Duration::from_hours(30 * 24);

/// The cache.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// The right to build: one process at a time.
pub(crate) struct Lock {
    _file: File,
}

impl Cache {
    /// At `root`, else `tickmark` in XDG_CACHE_HOME or ~/.cache.
    ///
    /// # Errors
    /// Where neither is known.
    pub fn at(root: Option<PathBuf>) -> Result<Self, Error> {
        let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let default = || named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
        let none = || {
            Error::Usage("neither HOME nor XDG_CACHE_HOME is set; set one for the built kernels".to_owned())
        };
        let root = root.or_else(|| Some(default()?.join("tickmark"))).ok_or_else(none)?;
        Ok(Self { root })
    }

    /// Its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// An entry's folder, whether it is there or not.
    pub(crate) fn entry(&self, kind: &str, key: &str) -> PathBuf {
        self.root.join(kind).join(key)
    }

    /// Waits for the right to build things of a kind. `waits` is called once where another has it.
    pub(crate) fn lock(
        &self,
        kind: &str,
        waits: &mut dyn FnMut(),
        stop: &dyn Fn() -> bool,
    ) -> Result<Lock, Error> {
        std::fs::create_dir_all(&self.root).map_err(Error::file("make", &self.root))?;
        let path = self.root.join(format!("{kind}.lock"));
        let file =
            File::options().create(true).append(true).open(&path).map_err(Error::file("open", &path))?;
        let mut is_reported = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(std::fs::TryLockError::Error(error)) => return Err(Error::file("lock", &path)(error)),
                Err(std::fs::TryLockError::WouldBlock) => {
                    if !is_reported {
                        waits();
                        is_reported = true;
                    }
                    if stop() {
                        return Err(Error::Stopped);
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
        // Whoever built here before is gone: what it left is half a build.
        let _ = std::fs::remove_dir_all(self.work(kind));
        Ok(Lock { _file: file })
    }

    /// Where builds of a kind are made, under its lock.
    pub(crate) fn work(&self, kind: &str) -> PathBuf {
        self.root.join(format!("{kind}.work"))
    }

    /// Removes entries of a kind that were made more than 30 days ago: each version of the program makes its own.
    pub(crate) fn remove_unused(&self, kind: &str) {
        for entry in std::fs::read_dir(self.root.join(kind)).into_iter().flatten().flatten() {
            let made = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            if made.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > KEPT) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Puts a finished folder in its place, in one step.
    pub(crate) fn install(&self, from: &Path, entry: &Path) -> Result<(), Error> {
        if let Some(parent) = entry.parent() {
            std::fs::create_dir_all(parent).map_err(Error::file("make", parent))?;
        }
        // Aside first: whoever boots from it meanwhile has the file open already or finds the new one.
        let aside = entry.with_extension("old");
        let _ = std::fs::remove_dir_all(&aside);
        let _ = std::fs::rename(entry, &aside);
        let done = std::fs::rename(from, entry).map_err(Error::file("make", entry));
        let _ = std::fs::remove_dir_all(&aside);
        done
    }
}

/// The hash of texts, each with its length, as 16 hexadecimal digits.
pub(crate) fn hash(texts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hex(&hasher.finalize()[..8])
}

/// The hash of a file's content.
pub(crate) fn hash_file(path: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(Error::file("read", path))?;
    Ok(digest(&bytes))
}

/// Digest that identifies a content: its SHA-256, in hexadecimal digits.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_to_lock_waits_and_half_a_build_is_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(Some(folder.path().join("cache"))).unwrap();
        let first = cache.lock("kernels", &mut || panic!("nobody has it"), &|| false).unwrap();
        std::fs::create_dir_all(cache.work("kernels").join("half")).unwrap();
        let mut waited = 0;
        let refused = cache.lock("kernels", &mut || waited += 1, &|| true);
        assert!(matches!(refused, Err(Error::Stopped)));
        assert_eq!(waited, 1);
        assert!(cache.work("kernels").exists());
        // A process that another test starts meanwhile may hold the file a moment longer.
        drop(first);
        let _second = cache.lock("kernels", &mut || {}, &|| false).unwrap();
        assert!(!cache.work("kernels").exists());
    }

    #[test]
    fn entries_of_a_month_ago_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(Some(folder.path().to_owned())).unwrap();
        let old = std::time::SystemTime::now() - KEPT - Duration::from_secs(60);
        for (name, time) in [("old", Some(old)), ("new", None)] {
            std::fs::create_dir_all(cache.entry("programs", name)).unwrap();
            if let Some(time) = time {
                File::open(cache.entry("programs", name)).unwrap().set_modified(time).unwrap();
            }
        }
        cache.remove_unused("programs");
        assert!(cache.entry("programs", "new").exists() && !cache.entry("programs", "old").exists());
    }

    #[test]
    fn texts_are_hashed_apart() {
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&["a"]).len(), 16);
    }
}

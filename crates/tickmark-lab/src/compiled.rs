//! C sources that are part of this program, compiled when they are needed and kept in the cache.

use crate::Error;
use crate::cache::{Cache, hash};
use crate::packed::Files;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is compiled, and how.
pub(crate) struct Recipe<'a> {
    /// In words, where it fails.
    pub(crate) what: String,
    /// Name of the file that comes of it.
    pub(crate) name: &'a str,
    /// The kind of its cache entry.
    pub(crate) kind: &'a str,
    pub(crate) sources: Files,
    pub(crate) compiler: PathBuf,
    pub(crate) flags: Vec<String>,
    /// What else makes it another one.
    pub(crate) made_for: &'a str,
}

/// What a program says of its version.
pub(crate) fn version(program: &Path) -> Result<String, Error> {
    let said = Command::new(program).arg("--version").output().map_err(Error::file("run", program))?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

impl Recipe<'_> {
    /// The file, compiled where it is not in the cache; `ready` says whether it could be.
    ///
    /// # Errors
    /// The compiler is missing, or refuses.
    pub(crate) fn file(
        &self,
        cache: &Cache,
        ready: impl FnOnce() -> Result<(), Error>,
        stop: &dyn Fn() -> bool,
    ) -> Result<PathBuf, Error> {
        let version = version(&self.compiler)?;
        let mut texts = vec![self.made_for, &version];
        texts.extend(self.flags.iter().map(String::as_str));
        let sources: Vec<_> = self.sources.iter().map(|(_, text)| String::from_utf8_lossy(text)).collect();
        texts.extend(sources.iter().map(AsRef::as_ref));
        let entry = cache.entry(self.kind, &hash(&texts));
        let made = entry.join(self.name);
        if made.is_file() {
            return Ok(made);
        }
        ready()?;
        let _lock = cache.lock(self.kind, &mut || {}, stop)?;
        // Whoever had the lock may have built it.
        if made.is_file() {
            return Ok(made);
        }
        let work = cache.work(self.kind);
        std::fs::create_dir_all(&work).map_err(Error::file("make", &work))?;
        self.compile(cache, &work)?;
        for (name, _) in &self.sources {
            let _ = std::fs::remove_file(work.join(name));
        }
        cache.install(&work, &entry)?;
        Ok(made)
    }

    fn compile(&self, cache: &Cache, work: &Path) -> Result<(), Error> {
        let mut gcc = Command::new(&self.compiler);
        gcc.args(&self.flags).args(["-o", self.name]).current_dir(work);
        for (name, text) in &self.sources {
            std::fs::write(work.join(name), text).map_err(Error::file("write", work.join(name)))?;
            if name.ends_with(".c") {
                gcc.arg(name);
            }
        }
        let done = gcc.output().map_err(Error::file("run", &self.compiler))?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if said.contains("No space left") {
            return Err(Error::Full(cache.root().to_owned()));
        }
        let log = cache.root().join(format!("{}.log", self.name));
        let _ = std::fs::write(&log, &said);
        let why =
            said.lines().find(|line| line.contains("error")).unwrap_or("the compiler failed").to_owned();
        Err(Error::Build { what: self.what.clone(), why, log })
    }
}

//! Kernels of commits of a tree that is not ours, built one after the other: each compiles only what the one before has otherwise.

use crate::cache::{Cache, Lock, hash};
use crate::kernel::Kernel;
use crate::make::{Maker, Progress};
use crate::{Error, compiled, config, tools};
use std::path::{Path, PathBuf};

/// The kind of these cache entries.
const KIND: &str = "commits";

/// A folder of the cache for the commits of one tree: kept where the work is interrupted.
pub struct CommitBuilds {
    cache: Cache,
    key: String,
    kernel: Kernel,
    folder: PathBuf,
    _lock: Lock,
}

impl Cache {
    /// The folder for a kernel of the commits of a tree; waits while another builds commits, which `waits` is told once.
    ///
    /// # Errors
    /// What is missing to build and boot it, with its package; the folder cannot be made; the wait was interrupted.
    pub fn commit_builds(
        &self,
        tree: &str,
        kernel: &Kernel,
        waits: &mut dyn FnMut(),
        stop: &dyn Fn() -> bool,
    ) -> Result<CommitBuilds, Error> {
        Error::together([tools::for_kernels(kernel.arch), tools::require_qemu(kernel.arch).map(drop)])?;
        let compiler = compiled::version(&tools::compiler(kernel.arch)?)?;
        let qemu = compiled::version(&tools::require_qemu(kernel.arch)?)?;
        // What another compiler makes of a commit is another image, and another QEMU's count another figure.
        let key = hash(&[tree, &kernel.to_string(), &config::fragment(kernel), &compiler, &qemu]);
        let lock = self.lock(KIND, waits, stop)?;
        self.remove_unused(KIND);
        let folder = self.entry(KIND, &key);
        for part in ["objects", "images"] {
            let part = folder.join(part);
            std::fs::create_dir_all(&part).map_err(Error::file("make", &part))?;
        }
        Ok(CommitBuilds { cache: self.clone(), key, kernel: *kernel, folder, _lock: lock })
    }
}

impl CommitBuilds {
    /// What tells it from those of other trees, kernels, compilers and QEMUs.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Where the copy of the tree may lie, too.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The image of a commit that was built here.
    #[must_use]
    pub fn image(&self, commit: &str) -> PathBuf {
        self.folder.join("images").join(commit)
    }

    /// The image of a commit that `tree` has now; built where it is not there.
    ///
    /// # Errors
    /// It does not compile, or there is no room.
    pub fn build(
        &self,
        commit: &str,
        tree: &Path,
        stop: &dyn Fn() -> bool,
        on: &mut dyn FnMut(Progress<'_>),
    ) -> Result<PathBuf, Error> {
        let image = self.image(commit);
        if image.is_file() {
            return Ok(image);
        }
        let mut maker = Maker { cache: &self.cache, stop, on };
        let log = format!("{}-{commit}", self.key);
        let built = maker.compile(&self.kernel, &log, tree, &self.folder.join("objects"), &[])?;
        let part = image.with_extension("part");
        std::fs::copy(&built, &part).map_err(Error::file("write", &part))?;
        std::fs::rename(&part, &image).map_err(Error::file("write", &image))?;
        Ok(image)
    }

    /// Takes all of it away.
    pub fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

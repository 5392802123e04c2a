//! Kernels of one tree that differ by little, built one after the other: each compiles only what the one before has otherwise.

use crate::cache::{Cache, Lock, hash};
use crate::kernel::{Arch, Kernel, Source};
use crate::make::{Maker, Progress};
use crate::{Error, compiled, config, tools};
use std::path::{Path, PathBuf};

/// The kind of these cache entries.
const KIND: &str = "commits";

/// What a kernel is built with.
#[derive(Debug, Clone, Copy)]
pub enum Configuration<'a> {
    /// The lab's.
    Lab(&'a Kernel),
    /// The text of a .config; what it lacks has its default.
    Text {
        /// All of it.
        text: &'a str,
        /// What it is called.
        what: &'a str,
    },
}

/// A folder of the cache for such kernels: kept where the work is interrupted.
pub struct Series {
    cache: Cache,
    key: String,
    arch: Arch,
    folder: PathBuf,
    _lock: Lock,
}

impl Cache {
    /// The folder for a kernel of the commits of a tree; waits while another builds a series, which `waits` is told once.
    ///
    /// # Errors
    /// What is missing to build and boot it, with its package; the folder cannot be made; the wait was interrupted.
    pub fn series_of_commits(
        &self,
        tree: &str,
        kernel: &Kernel,
        waits: &mut dyn FnMut(),
        stop: &dyn Fn() -> bool,
    ) -> Result<Series, Error> {
        self.series(&[tree, &kernel.to_string(), &config::fragment(kernel)], kernel.arch, waits, stop)
    }

    /// The folder for configurations of one source, which is named in any way.
    ///
    /// # Errors
    /// As those of commits.
    pub fn series_of_configurations(
        &self,
        source: &str,
        arch: Arch,
        waits: &mut dyn FnMut(),
        stop: &dyn Fn() -> bool,
    ) -> Result<Series, Error> {
        self.series(&["configurations", source, arch.name()], arch, waits, stop)
    }

    fn series(
        &self,
        of: &[&str],
        arch: Arch,
        waits: &mut dyn FnMut(),
        stop: &dyn Fn() -> bool,
    ) -> Result<Series, Error> {
        Error::together([tools::for_kernels(arch), tools::require_qemu(arch).map(drop)])?;
        let compiler = compiled::version(&tools::compiler(arch)?)?;
        let qemu = compiled::version(&tools::require_qemu(arch)?)?;
        // What another compiler makes of them is another image, and another QEMU's count another figure.
        let key = hash(&[of, &[&compiler, &qemu]].concat());
        let lock = self.lock(KIND, waits, stop)?;
        self.remove_unused(KIND);
        let folder = self.entry(KIND, &key);
        for part in ["objects", "images"] {
            let part = folder.join(part);
            std::fs::create_dir_all(&part).map_err(Error::file("make", &part))?;
        }
        Ok(Series { cache: self.clone(), key, arch, folder, _lock: lock })
    }
}

impl Series {
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

    /// The image of a name that was built here.
    #[must_use]
    pub fn image(&self, name: &str) -> PathBuf {
        self.folder.join("images").join(name)
    }

    /// The lab's source, unpacked here.
    ///
    /// # Errors
    /// It is not on this machine, or there is no room.
    pub fn source(&self, source: Source, stop: &dyn Fn() -> bool) -> Result<PathBuf, Error> {
        let (archive, _) = tools::source(source)?;
        let tree = self.folder.join("source");
        self.maker(stop, &mut |_| {}).unpack(&archive, &tree, "the kernel's source", &self.key)?;
        Ok(tree)
    }

    /// A configuration with everything that follows from it (make olddefconfig).
    ///
    /// # Errors
    /// The tree refuses it, or gives what it does not say.
    pub fn complete(
        &self,
        configuration: Configuration<'_>,
        tree: &Path,
        stop: &dyn Fn() -> bool,
    ) -> Result<String, Error> {
        let objects = self.folder.join("objects");
        self.maker(stop, &mut |_| {}).configure(self.arch, configuration, &self.key, tree, &objects)
    }

    /// The image of what `tree` has now, under a name; built where it is not there.
    ///
    /// # Errors
    /// It does not compile, or there is no room.
    pub fn build(
        &self,
        name: &str,
        configuration: Configuration<'_>,
        tree: &Path,
        stop: &dyn Fn() -> bool,
        on: &mut dyn FnMut(Progress<'_>),
    ) -> Result<PathBuf, Error> {
        let image = self.image(name);
        if image.is_file() {
            return Ok(image);
        }
        let mut maker = self.maker(stop, on);
        let (log, objects) = (format!("{}-{name}", self.key), self.folder.join("objects"));
        // A file whose last step a kill cut off is newer than its source, and would be taken as it is.
        let unfinished = self.folder.join("unfinished");
        if unfinished.exists() {
            std::fs::remove_dir_all(&objects).map_err(Error::file("remove", &objects))?;
            std::fs::create_dir_all(&objects).map_err(Error::file("make", &objects))?;
        }
        maker.configure(self.arch, configuration, &log, tree, &objects)?;
        std::fs::write(&unfinished, "").map_err(Error::file("write", &unfinished))?;
        let built = maker.compile(self.arch, &configuration.name(), &log, tree, &objects, &[]);
        if !matches!(built, Err(Error::Stopped)) {
            std::fs::remove_file(&unfinished).map_err(Error::file("remove", &unfinished))?;
        }
        let built = built?;
        let part = image.with_extension("part");
        std::fs::copy(&built, &part).map_err(Error::file("write", &part))?;
        std::fs::rename(&part, &image).map_err(Error::file("write", &image))?;
        Ok(image)
    }

    fn maker<'a>(&'a self, stop: &'a dyn Fn() -> bool, on: &'a mut dyn FnMut(Progress<'_>)) -> Maker<'a> {
        Maker { cache: &self.cache, stop, on }
    }

    /// Takes all of it away.
    pub fn remove(self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Configuration<'_> {
    /// What is built, in words.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Lab(kernel) => kernel.to_string(),
            Self::Text { what, .. } => (*what).to_owned(),
        }
    }
}

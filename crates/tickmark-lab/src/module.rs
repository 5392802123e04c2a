//! Kernel modules for guests: those that come with tickmark, and others, built for the kernel that is booted.

use crate::built::Built;
use crate::cache::{Cache, hash};
use crate::make::{Maker, Progress, make};
use crate::packed::{Files, c_sources};
use crate::{Arch, Error, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kind of these cache entries.
const KIND: &str = "modules";
/// The archive of an entry of `kernels` from which modules are built.
pub(crate) const TREE: &str = "tree.tar.gz";

/// The modules that come with tickmark: one folder makes the first two.
const OWN: [&str; 3] = ["tickmark_timer", "tickmark_timer_test", "tickmark_clock"];

/// A module that a guest is to load: `NAME [PARAMETER=VALUE]...`, where NAME is tickmark's, or the place of a .ko file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    place: String,
    /// Parameters for loading it.
    pub parameters: String,
}

impl std::str::FromStr for Module {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (place, parameters) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let own = OWN.contains(&place);
        if !own && !place.ends_with(".ko") {
            return Err(Error::Usage(format!(
                "no module {place:?}: give {}, or a .ko file; its parameters follow it, as in \"{} backend=apic\"",
                OWN.join(", "),
                OWN[0]
            )));
        }
        Ok(Self { place: place.to_owned(), parameters: parameters.trim().to_owned() })
    }
}

impl Module {
    /// Its name in a guest.
    #[must_use]
    pub fn name(&self) -> String {
        let name = Path::new(&self.place).file_stem().unwrap_or_default();
        name.to_string_lossy().replace('-', "_")
    }

    /// True if it is built for the kernel: it is tickmark's, or a Kbuild or Makefile lies beside where it is to be.
    #[must_use]
    pub fn is_built(&self) -> bool {
        OWN.contains(&self.place.as_str()) || self.folder().is_some()
    }

    fn folder(&self) -> Option<PathBuf> {
        let parent = Path::new(&self.place).parent()?;
        let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        ["Kbuild", "Makefile"].iter().any(|name| folder.join(name).is_file()).then(|| folder.to_owned())
    }

    /// Its source's files by name; none where it is a file that was built elsewhere.
    fn sources(&self) -> Result<Option<Files>, Error> {
        if OWN.contains(&self.place.as_str()) {
            let folder = if self.place == OWN[2] { "kernel/tickmark_clock" } else { "kernel/tickmark_timer" };
            return c_sources(folder).map(Some);
        }
        let Some(folder) = self.folder() else { return Ok(None) };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(Error::file("read", &folder))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_source = ["Kbuild", "Makefile"].contains(&name.as_str())
                || [".c", ".h", ".S"].iter().any(|end| name.ends_with(end));
            // Kbuild leaves NAME.mod.c beside the sources.
            if is_source && !name.ends_with(".mod.c") {
                files.push((name, std::fs::read(entry.path()).map_err(Error::file("read", entry.path()))?));
            }
        }
        files.sort();
        Ok(Some(files))
    }
}

impl Cache {
    /// The bytes of a module for a kernel that was built here, compiled where it is not in the cache.
    ///
    /// # Errors
    /// It cannot be read, or does not compile.
    pub fn module(
        &self,
        module: &Module,
        kernel: Option<&Built>,
        stop: &dyn Fn() -> bool,
        on: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<u8>, Error> {
        let (Some(sources), Some(kernel)) = (module.sources()?, kernel) else {
            return std::fs::read(&module.place).map_err(Error::file("read", &module.place));
        };
        let file =
            format!("{}.ko", Path::new(&module.place).file_stem().unwrap_or_default().to_string_lossy());
        let texts: Vec<_> = sources
            .iter()
            .map(|(name, bytes)| format!("{name}\n{}", String::from_utf8_lossy(bytes)))
            .collect();
        let mut parts: Vec<&str> = vec![&kernel.key];
        parts.extend(texts.iter().map(String::as_str));
        let key = hash(&parts);
        let entry = self.entry(KIND, &key);
        let read = |entry: &Path| std::fs::read(entry.join(&file));
        if let Ok(bytes) = read(&entry) {
            return Ok(bytes);
        }
        let _lock = self.lock(KIND, &mut || on(Progress::Waiting), stop)?;
        // Whoever had the lock may have built it.
        if !entry.is_dir() {
            on(Progress::Module(module));
            let work = self.work(KIND);
            let made = Maker { cache: self, stop, on }.module(module, kernel, &sources, (&work, &key));
            let made = made.and_then(|built| self.install(&built, &entry));
            let _ = std::fs::remove_dir_all(&work);
            made?;
        }
        read(&entry).map_err(|_| Error::Usage(format!("{}: its Kbuild makes no {file}", module.place)))
    }
}

impl Maker<'_> {
    /// Compiles a folder's modules; returns the folder with them.
    fn module(
        &mut self,
        module: &Module,
        kernel: &Built,
        sources: &[(String, Vec<u8>)],
        (work, key): (&Path, &str),
    ) -> Result<PathBuf, Error> {
        tools::for_kernels(kernel.kernel.arch)?;
        let (tree, folder, out) = (work.join("tree"), work.join("module"), work.join("out"));
        for place in [&tree, &folder, &out] {
            std::fs::create_dir_all(place).map_err(Error::file("make", place))?;
        }
        let archive = kernel.image.with_file_name(TREE);
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(&archive).arg("-C").arg(&tree);
        let what = format!("module {}", module.name());
        self.run(tar, &what, key, false)?;
        for (name, bytes) in sources {
            std::fs::write(folder.join(name), bytes).map_err(Error::file("write", folder.join(name)))?;
        }
        let mut compile = make(kernel.kernel.arch, &tree);
        compile.arg(format!("M={}", folder.display())).args(["W=1", "modules"]);
        self.run(compile, &what, key, false)?;
        for entry in std::fs::read_dir(&folder).map_err(Error::file("read", &folder))?.flatten() {
            if entry.path().extension().is_some_and(|end| end == "ko") {
                let to = out.join(entry.file_name());
                std::fs::copy(entry.path(), &to).map_err(Error::file("write", &to))?;
            }
        }
        Ok(out)
    }

    /// Keeps what modules are built from beside a kernel.
    pub(crate) fn tree(
        &mut self,
        what: &str,
        key: &str,
        arch: Arch,
        places: [&Path; 3],
    ) -> Result<(), Error> {
        let [source, objects, out] = places;
        let mut shell = Command::new("sh");
        shell
            .args(["-c", include_str!("tree.sh"), "tree"])
            .arg(source)
            .arg(objects)
            .arg(arch.source_name())
            .arg(out.join(TREE));
        self.run(shell, what, key, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_one_of_ours_or_a_file() {
        let module: Module = "tickmark_timer backend=apic divider=4".parse().unwrap();
        assert_eq!(
            (module.name(), module.parameters.as_str()),
            ("tickmark_timer".to_owned(), "backend=apic divider=4")
        );
        assert!(module.is_built());
        let other: Module = "/nowhere/some-thing.ko".parse().unwrap();
        assert!(other.name() == "some_thing" && !other.is_built());
        assert!(matches!("tickmark".parse::<Module>(), Err(Error::Usage(_))));
        assert!(matches!("".parse::<Module>(), Err(Error::Usage(_))));
    }
}

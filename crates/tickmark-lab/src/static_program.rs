//! The static programs of tickmark: the static agent, and the load of databases for guests. A package has them; otherwise they are built from the
//! source that is part of this program, once.

use crate::cache::{Cache, hash};
use crate::inventory::cargo;
use crate::packed::{RUST, unpacked};
use crate::{Error, is_static};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The kind of these cache entries: static programs, linked with the static C library (crt-static).
const KIND: &str = "programs";

/// A static program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaticProgram {
    /// `tickmark-agent`, which runs on machines and in guests without anything else.
    Agent,
    /// `tickmark-select-index`, queries of a database.
    SelectIndex,
}

impl StaticProgram {
    /// Its file's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agent => "tickmark-agent",
            Self::SelectIndex => "tickmark-select-index",
        }
    }

    /// Its path: the one that TICKMARK_AGENT names, beside this program or where the package has it, else in the cache, where it is built
    /// first from the packed source that this program holds. `building` is called before that, which takes about a minute.
    ///
    /// # Errors
    /// The named one is linked dynamically, cargo is missing, or the build fails.
    pub fn path(
        self,
        cache: &Cache,
        building: &mut dyn FnMut(),
        stop: &dyn Fn() -> bool,
    ) -> Result<PathBuf, Error> {
        if let Some(known) = self.installed()? {
            return Ok(known);
        }
        let entry = self.entry(cache)?;
        let path = entry.join(self.name());
        if path.is_file() {
            return Ok(path);
        }
        let _lock = cache.lock(KIND, &mut || {}, stop)?;
        // Another process may have built it meanwhile.
        if path.is_file() {
            return Ok(path);
        }
        building();
        let work = cache.work(KIND);
        let source = work.join("source");
        unpack(RUST, &source)?;
        let target = work.join("target");
        let built = build_static(Command::new("cargo"), self, std::env::consts::ARCH, &source, &target);
        let built = built.map_err(|said| if stop() { Error::Stopped } else { self.failed(cache, &said) })?;
        let ready = work.join("ready");
        std::fs::create_dir_all(&ready).map_err(Error::file("make", &ready))?;
        std::fs::copy(&built, ready.join(self.name())).map_err(Error::file("copy", &built))?;
        cache.install(&ready, &entry)?;
        cache.remove_unused(KIND);
        let _ = std::fs::remove_dir_all(&work);
        Ok(path)
    }

    /// Its folder in the cache, whether it is there or not: by the sources in this program and by the compiler.
    fn entry(self, cache: &Cache) -> Result<PathBuf, Error> {
        Ok(cache.entry(KIND, &hash(&[self.name(), &crate::digest(RUST), &cargo()?])))
    }

    /// Its path in the cache, where it was built before.
    ///
    /// # Errors
    /// There is no compiler to know it by.
    pub(crate) fn cached(self, cache: &Cache) -> Result<Option<PathBuf>, Error> {
        let path = self.entry(cache)?.join(self.name());
        Ok(path.is_file().then_some(path))
    }

    /// Its path where nothing has to be built.
    ///
    /// # Errors
    /// TICKMARK_AGENT names a program that is linked dynamically.
    pub fn installed(self) -> Result<Option<PathBuf>, Error> {
        let named = std::env::var_os("TICKMARK_AGENT").map(PathBuf::from);
        if let Some(named) = named.filter(|_| self == Self::Agent) {
            return match is_static(&named) {
                true => Ok(Some(named)),
                false => Err(Error::Usage(format!(
                    "TICKMARK_AGENT names {}, which is not statically linked: a guest runs it as process 1, without libraries",
                    named.display()
                ))),
            };
        }
        let own = std::env::current_exe().map_err(Error::file("read", "/proc/self/exe"))?;
        let folder = own.parent().unwrap_or(Path::new("/"));
        let known = [folder.join(self.name()), folder.join("../lib/tickmark").join(self.name())];
        Ok(known.into_iter().find(|path| is_static(path)))
    }

    fn failed(self, cache: &Cache, said: &str) -> Error {
        if said.contains("No space left") {
            return Error::Full(cache.root().to_owned());
        }
        let log = cache.root().join(format!("{}.log", self.name()));
        let _ = std::fs::write(&log, said);
        let why = said.lines().find(|line| line.contains("error")).unwrap_or("cargo failed").to_owned();
        Error::Build { what: self.name().to_owned(), why, log }
    }
}

/// Unpacks the sources into a folder as a workspace of their own.
fn unpack(packed: &[u8], folder: &Path) -> Result<(), Error> {
    for (name, mut content) in unpacked(packed)? {
        if name == "Cargo.toml" {
            // The program itself is not there.
            let text = String::from_utf8_lossy(&content);
            let lines = text.lines().filter(|line| !line.starts_with("default-members"));
            content = lines.collect::<Vec<_>>().join("\n").into_bytes();
        }
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(Error::file("make", parent))?;
        std::fs::write(&path, content).map_err(Error::file("write", &path))?;
    }
    Ok(())
}

/// Builds a program that takes nothing from where it runs, from a workspace, into a target folder; its path.
///
/// # Errors
/// What cargo printed.
pub fn build_static(
    mut cargo: Command,
    program: StaticProgram,
    arch: &str,
    workspace: &Path,
    target: &Path,
) -> Result<PathBuf, String> {
    let triple = format!("{arch}-unknown-linux-gnu");
    cargo.args(["build", "--quiet", "-p", program.name(), "--profile", "agent", "--target", &triple]);
    cargo.arg("--target-dir").arg(target);
    // With a target named, the flags do not reach build scripts and procedural macros. Cargo does not strip a package whose optimisation the
    // profile names. A program at a fixed address needs no relocations, which are a twentieth of it.
    let mut flags = "-C target-feature=+crt-static -C relocation-model=static -C strip=symbols".to_owned();
    // Its only hash is that of a token; the small implementation does.
    flags += " --cfg sha2_backend=\"soft\" --cfg sha2_backend_soft=\"compact\"";
    if arch == "x86_64" {
        // Functions of the same code are one, and nobody unwinds what aborts; the linkers of other architectures do not know the first.
        flags += " -C link-arg=-Wl,-O2 -C link-arg=-Wl,--icf=all -C link-arg=-Wl,--no-eh-frame-hdr";
    }
    run(cargo.env("RUSTFLAGS", flags).current_dir(workspace))?;
    let built = target.join(triple).join("agent").join(program.name());
    if arch == "x86_64" && program == StaticProgram::Agent { without_unwinding(&built) } else { Ok(built) }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The same program without the tables for unwinding, in the folder `small` beside it: it aborts, and is stripped. An empty table stays, which
/// the C library looks at as it starts. In the place of the original, cargo would put its own back.
fn without_unwinding(program: &Path) -> Result<PathBuf, String> {
    let file = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    let folder = program.with_file_name("small");
    std::fs::create_dir_all(&folder).map_err(file(&folder))?;
    let own = |name: &str| folder.join(format!("{name}-{}", std::process::id()));
    let (empty, new, small) = (own("empty"), own("new"), folder.join("tickmark-agent"));
    std::fs::write(&empty, [0; 8]).map_err(file(&empty))?;
    let mut objcopy = Command::new("objcopy");
    objcopy.args(["--remove-section", ".comment", "--remove-section", ".gnu.warning.*"]);
    objcopy.arg("--update-section").arg(format!(".eh_frame={}", empty.display())).arg(program).arg(&new);
    let done = run(&mut objcopy);
    let _ = std::fs::remove_file(&empty);
    done?;
    let bytes = std::fs::read(&new).map_err(file(&new))?;
    let loaded = without_sections(bytes).ok_or_else(|| format!("{}: no ELF file", new.display()))?;
    std::fs::write(&new, loaded).map_err(file(&new))?;
    // A process that runs the old one keeps it.
    std::fs::rename(&new, &small).map_err(file(&small))?;
    Ok(small)
}

/// What the kernel loads of a program: its segments, without the table of sections behind them, which linkers and debuggers read (elf(5), `Elf64_Ehdr`,
/// `Elf64_Phdr`). None where it is no ELF file of 64 bits.
fn without_sections(mut program: Vec<u8>) -> Option<Vec<u8>> {
    const SECTIONS: [std::ops::Range<usize>; 2] = [0x28..0x30, 0x3a..0x40];
    let number = |at: usize, size: usize| {
        let bytes = program.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let (first, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    let end = |segment: usize| {
        number(first + segment * size + 8, 8)?.checked_add(number(first + segment * size + 32, 8)?)
    };
    let ends: Option<Vec<usize>> = (0..count).map(end).collect();
    let end =
        ends?.into_iter().max().filter(|end| *end <= program.len() && program.starts_with(b"\x7fELF\x02"))?;
    SECTIONS.into_iter().for_each(|field| program[field].fill(0));
    program.truncate(end);
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_without_its_table_of_sections() {
        let folder = tempfile::tempdir().unwrap();
        let (whole, bare) = (std::fs::read("/bin/true").unwrap(), folder.path().join("true"));
        let kept = without_sections(whole.clone()).unwrap();
        assert!(kept.len() < whole.len());
        std::fs::copy("/bin/true", &bare).unwrap();
        std::fs::write(&bare, kept).unwrap();
        assert!(Command::new(&bare).status().unwrap().success());
        assert_eq!(without_sections(b"#!/bin/sh\n".repeat(20)), None);
        assert_eq!(without_sections(whole[..100].to_vec()), None);
    }

    #[test]
    fn the_sources_are_a_workspace() {
        let folder = tempfile::tempdir().unwrap();
        unpack(RUST, folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        assert!(text.contains("[profile.agent]") && !text.contains("default-members"), "{text}");
        for program in [StaticProgram::Agent, StaticProgram::SelectIndex] {
            let main = folder.path().join("crates").join(program.name()).join("src/main.rs");
            assert!(main.is_file(), "{}", main.display());
        }
        let error = unpack(&RUST[..RUST.len() / 2], &folder.path().join("half")).unwrap_err();
        assert!(error.to_string().contains("are damaged"), "{error}");
    }
}

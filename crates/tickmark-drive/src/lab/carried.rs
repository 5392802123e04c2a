//! Files and modules that a guest gets beside its kernel and its agent.

use super::{Machine, Setting};
use crate::target::static_program;
use crate::{Control, Error};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tickmark_lab::{Arch, Module, StaticProgram};

/// The modules of a setting on a machine, in the order in which they are loaded: the setting's own, else the machine's.
pub(super) fn modules_of(machine: &Machine, setting: &Setting) -> Result<Vec<Module>, Error> {
    let named = if setting.modules.is_empty() { &machine.modules } else { &setting.modules };
    Ok(named.iter().map(|text| text.parse()).collect::<Result<_, tickmark_lab::Error>>()?)
}

/// Files by their place in a guest: programs in /bin, their libraries where they are here, others in its root folder.
pub(super) fn files(
    files: &[PathBuf],
    arch: Arch,
    control: &Control,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut carried: Vec<(String, Vec<u8>)> = Vec::new();
    let mut shared = BTreeMap::new();
    for path in files {
        let (place, bytes) = file(path, arch, control, &mut shared)?;
        if RESERVED.contains(&place.as_str()) || carried.iter().any(|(taken, _)| *taken == place) {
            let path = path.display();
            return Err(Error::Usage(format!(
                "{path}: the guest has something else at /{place}; give it another name"
            )));
        }
        carried.push((place, bytes));
    }
    for (place, path) in shared {
        carried.push((place, std::fs::read(&path).map_err(Error::file("read", &path))?));
    }
    Ok(carried)
}

/// Names that belong to a guest's own system.
const RESERVED: [&str; 14] = [
    "init",
    "plan.json",
    "settings",
    "modules",
    "bin/sh",
    "ballast",
    "dev",
    "proc",
    "sys",
    "tmp",
    "bin",
    "lib",
    "lib64",
    "usr",
];

/// Where distributions have servers, beside PATH.
const SERVERS: [&str; 2] = ["/usr/sbin", "/usr/libexec"];

/// The path itself, or of a name alone that is no file here the program of this name.
fn installed(path: &Path) -> Result<PathBuf, Error> {
    if path.components().count() != 1 || path.exists() {
        return Ok(path.to_owned());
    }
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&usual).chain(SERVERS.map(PathBuf::from));
    let found = folders.map(|folder| folder.join(path)).find(|path| path.is_file());
    let name = path.display();
    found.ok_or_else(|| {
        Error::Usage(format!(
            "no file {name} here, and no program of this name in PATH or {}; it is to be in the guest",
            SERVERS.join(", ")
        ))
    })
}

/// A file with its place; the libraries of a program are added to those that are shared, by theirs.
fn file(
    path: &Path,
    arch: Arch,
    control: &Control,
    shared: &mut BTreeMap<String, PathBuf>,
) -> Result<(String, Vec<u8>), Error> {
    // A program of tickmark's own is known by its name.
    let is_own = path == Path::new(StaticProgram::SelectIndex.name()) && !path.exists();
    let own = is_own.then(|| static_program(StaticProgram::SelectIndex, control)).transpose()?;
    let path = own.map_or_else(|| installed(path), Ok)?;
    let path = path.as_path();
    let bytes = std::fs::read(path).map_err(Error::file("read", path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !bytes.starts_with(b"\x7fELF") {
        return Ok((name, bytes));
    }
    let place = path.display();
    if !tickmark_lab::is_for(path, arch) {
        return Err(Error::Usage(format!(
            "{place} is not a program for {}, as the guest needs",
            arch.name()
        )));
    }
    if !tickmark_lab::is_static(path) {
        shared.extend(tickmark_lab::libraries(path)?);
    }
    Ok((format!("bin/{name}"), bytes))
}

//! Files and modules that a guest gets beside its kernel and its agent.

use super::{Machine, Setting};
use crate::target::static_program;
use crate::{Control, Error};
use std::collections::BTreeSet;
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
    let mut shared: BTreeSet<PathBuf> = BTreeSet::new();
    for path in files {
        let (place, bytes, libraries) = file(path, arch, control)?;
        if RESERVED.contains(&place.as_str()) || carried.iter().any(|(taken, _)| *taken == place) {
            let path = path.display();
            return Err(Error::Usage(format!(
                "{path}: the guest has something else at /{place}; give it another name"
            )));
        }
        carried.push((place, bytes));
        shared.extend(libraries);
    }
    for path in shared {
        let bytes = std::fs::read(&path).map_err(Error::file("read", &path))?;
        carried.push((path.to_string_lossy().trim_start_matches('/').to_owned(), bytes));
    }
    Ok(carried)
}

/// Names that belong to a guest's own system.
const RESERVED: [&str; 11] =
    ["init", "plan.json", "settings", "modules", "bin/sh", "ballast", "dev", "proc", "sys", "tmp", "bin"];

/// A file with its place, and its libraries.
fn file(path: &Path, arch: Arch, control: &Control) -> Result<(String, Vec<u8>, Vec<PathBuf>), Error> {
    // A program of tickmark's own is known by its name.
    let is_own = path == Path::new(StaticProgram::SelectIndex.name()) && !path.exists();
    let own = is_own.then(|| static_program(StaticProgram::SelectIndex, control)).transpose()?;
    let path = own.as_deref().unwrap_or(path);
    let bytes = std::fs::read(path).map_err(Error::file("read", path))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !bytes.starts_with(b"\x7fELF") {
        return Ok((name, bytes, Vec::new()));
    }
    let place = path.display();
    if !tickmark_lab::is_for(path, arch) {
        return Err(Error::Usage(format!(
            "{place} is not a program for {}, as the guest needs",
            arch.name()
        )));
    }
    let libraries = if tickmark_lab::is_static(path) { Vec::new() } else { tickmark_lab::libraries(path)? };
    Ok((format!("bin/{name}"), bytes, libraries))
}

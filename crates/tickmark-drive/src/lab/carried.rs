//! Files and modules that a guest gets beside its kernel and its agent.

use super::{Machine, Setting};
use crate::target::static_program;
use crate::{Control, Error};
use std::path::{Path, PathBuf};
use tickmark_lab::{Arch, Module, StaticProgram};

/// The modules of a setting on a machine, in the order in which they are loaded: the setting's own, else the machine's.
pub(super) fn modules_of(machine: &Machine, setting: &Setting) -> Result<Vec<Module>, Error> {
    let named = if setting.modules.is_empty() { &machine.modules } else { &setting.modules };
    Ok(named.iter().map(|text| text.parse()).collect::<Result<_, tickmark_lab::Error>>()?)
}

/// Files by their place in a guest: programs in /bin, others in its root folder.
pub(super) fn files(
    files: &[PathBuf],
    arch: Arch,
    control: &Control,
) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut places: Vec<String> = RESERVED.map(str::to_owned).to_vec();
    let one = |path: &PathBuf| {
        let (place, bytes) = file(path, arch, control)?;
        if places.contains(&place) {
            let path = path.display();
            return Err(Error::Usage(format!(
                "{path}: the guest has something else at /{place}; give it another name"
            )));
        }
        places.push(place.clone());
        Ok((place, bytes))
    };
    files.iter().map(one).collect()
}

/// Names that belong to a guest's own system.
const RESERVED: [&str; 11] =
    ["init", "plan.json", "settings", "modules", "bin/sh", "ballast", "dev", "proc", "sys", "tmp", "bin"];

/// A file with its place.
fn file(path: &Path, arch: Arch, control: &Control) -> Result<(String, Vec<u8>), Error> {
    // A program of tickmark's own is known by its name.
    let is_own = path == Path::new(StaticProgram::SelectIndex.name()) && !path.exists();
    let own = is_own.then(|| static_program(StaticProgram::SelectIndex, control)).transpose()?;
    let path = own.as_deref().unwrap_or(path);
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
        return Err(Error::Usage(format!(
            "{place} is linked dynamically, and a guest has no libraries: link it statically (gcc -static; for Rust, -C target-feature=+crt-static)"
        )));
    }
    Ok((format!("bin/{name}"), bytes))
}

//! Shared libraries of a program, which a guest needs beside it. They are found by reading files: nothing of a program is run.

use crate::image::Elf;
use crate::kernel::Arch;
use crate::{Error, is_for};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The dynamic loader of x86-64 (System V ABI, AMD64 supplement).
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// The C library, beside which the loader looks for all others without being told.
const C_LIBRARY: &str = "libc.so.6";
/// Where distributions have the libraries of x86-64.
const FOLDERS: [&str; 7] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/lib",
    "/lib",
];

/// What a dynamically linked program of x86-64 needs beside it, by its place in a guest: the loader, the libraries, and those that these need.
///
/// # Errors
/// It has another loader, or a library is in none of the usual folders.
pub fn libraries(program: &Path) -> Result<BTreeMap<String, PathBuf>, Error> {
    let place = program.display();
    let hint = "link it statically (gcc -static; for Rust, -C target-feature=+crt-static)";
    let bytes = read(program)?;
    let loader = Elf::parse(&bytes).and_then(|elf| elf.interpreter()).unwrap_or_default();
    if loader != LOADER || !Path::new(LOADER).exists() {
        return Err(Error::Usage(format!(
            "{place} is linked dynamically, and a guest can have the libraries of {LOADER} alone, not of {loader}: {hint}"
        )));
    }
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut needed = vec![C_LIBRARY.to_owned()];
    needed.extend(needed_by(&bytes));
    while let Some(name) = needed.pop() {
        if found.contains_key(&name) || LOADER.ends_with(&name) {
            continue;
        }
        let path = find(&name).ok_or_else(|| {
            Error::Usage(format!(
                "{place} needs the library {name}, which is in none of {}: install it there, or {hint}",
                FOLDERS.join(", ")
            ))
        })?;
        needed.extend(needed_by(&read(&path)?));
        found.insert(name, path);
    }
    let folder = found.get(C_LIBRARY).and_then(|path| path.parent()).unwrap_or(Path::new("/lib64"));
    let folder = folder.to_string_lossy().trim_start_matches('/').to_owned();
    let mut places: BTreeMap<String, PathBuf> =
        found.into_iter().map(|(name, path)| (format!("{folder}/{name}"), path)).collect();
    places.insert(LOADER.trim_start_matches('/').to_owned(), PathBuf::from(LOADER));
    Ok(places)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(Error::file("read", path))
}

fn needed_by(bytes: &[u8]) -> Vec<String> {
    Elf::parse(bytes).and_then(|elf| elf.needed()).unwrap_or_default()
}

/// The file of a library, without symbolic links; none where its name is a path.
fn find(name: &str) -> Option<PathBuf> {
    let candidates =
        FOLDERS.iter().filter(|_| !name.contains('/')).map(|folder| Path::new(folder).join(name));
    let found = candidates.into_iter().find(|path| is_for(path, Arch::X86_64))?;
    let folder = std::fs::canonicalize(found.parent()?).ok()?;
    Some(folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This test is such a program.
    #[test]
    fn a_program_has_its_loader_and_its_libraries() {
        let all = libraries(&std::env::current_exe().unwrap()).unwrap();
        assert_eq!(all[&LOADER[1..]], Path::new(LOADER));
        let (place, path) = all.iter().find(|(place, _)| place.ends_with("/libc.so.6")).unwrap();
        assert!(all.values().all(|path| path.is_file()) && path.ends_with(place), "{all:?}");
    }

    #[test]
    fn another_loader_and_a_library_that_is_not_here_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let refused = |from: &[u8], to: &[u8]| {
            let mut bytes = own.clone();
            let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
            bytes[at..at + to.len()].copy_from_slice(to);
            std::fs::write(&program, bytes).unwrap();
            libraries(&program).unwrap_err().to_string()
        };
        let why = refused(LOADER.as_bytes(), b"/tmp64");
        assert!(why.contains("/tmp64/ld-linux-x86-64.so.2") && why.contains("statically"), "{why}");
        let why = refused(b"\0libgcc_s.so.1\0", b"\0libxyz_s");
        assert!(why.contains("needs the library libxyz_s.so.1"), "{why}");
        let why = refused(b"\0libgcc_s.so.1\0", b"\0./");
        assert!(why.contains("needs the library ./bgcc_s.so.1"), "{why}");
    }
}

//! Shared libraries of a program, which a guest needs beside it.

use crate::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The dynamic loader of x86-64 (System V ABI, AMD64 supplement). A program's own choice of one is not run.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// The loader and the libraries that it finds here for a dynamically linked program of x86-64.
///
/// # Errors
/// There is no such loader, the program asks for another one, or a library is missing.
pub fn libraries(program: &Path) -> Result<Vec<PathBuf>, Error> {
    let place = program.display();
    let asked = crate::image::interpreter(program).unwrap_or_default();
    if asked != LOADER || !Path::new(LOADER).exists() {
        return Err(Error::Usage(format!(
            "{place} is linked dynamically, and its loader {asked} is not one whose libraries can be found here: link it statically (gcc -static; for Rust, -C target-feature=+crt-static)"
        )));
    }
    // It maps the program and its libraries, and runs none of their code.
    let program = std::path::absolute(program).map_err(Error::file("read", program))?;
    let listed = Command::new(LOADER).arg("--list").arg(&program).output();
    let listed = listed.map_err(Error::file("run", Path::new(LOADER)))?;
    let text = String::from_utf8_lossy(&listed.stdout);
    if let Some(missing) = text.lines().find(|line| line.contains("not found")) {
        return Err(Error::Usage(format!("{place}: a library is missing here: {}", missing.trim())));
    }
    if !listed.status.success() {
        let why = String::from_utf8_lossy(&listed.stderr);
        return Err(Error::Usage(format!(
            "{place}: {}",
            why.lines().next().unwrap_or("its libraries are not known")
        )));
    }
    Ok(std::iter::once(PathBuf::from(LOADER)).chain(text.lines().filter_map(library)).collect())
}

/// The path in `libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x7f...)`; none of the vDSO and of the loader itself.
fn library(line: &str) -> Option<PathBuf> {
    let (_, path) = line.split_once(" => ")?;
    let (path, _) = path.rsplit_once(" (")?;
    (path != LOADER).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_libraries_that_its_loader_finds() {
        let own = std::env::current_exe().unwrap();
        let all = libraries(&own).unwrap();
        assert_eq!(all[0], Path::new(LOADER));
        assert!(all.iter().any(|path| path.ends_with("libc.so.6")), "{all:?}");
        assert!(all.iter().all(|path| path.is_file()), "{all:?}");
    }

    #[test]
    fn another_loader_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let (marker, program) = (folder.path().join("ran"), folder.path().join("program"));
        // The same program, which names a loader of the same length as the usual one.
        let mut bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let at = bytes.windows(LOADER.len()).position(|window| window == LOADER.as_bytes()).unwrap();
        bytes[at + 1..at + 4].copy_from_slice(b"tmp");
        std::fs::write(&program, bytes).unwrap();
        let why = libraries(&program).unwrap_err().to_string();
        assert!(why.contains("loader /tmp64/ld-linux-x86-64.so.2"), "{why}");
        assert!(!marker.exists());
    }
}

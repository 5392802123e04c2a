//! The kind of a program: whether a preloaded library can see its clock reads.

use super::code::segments;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Reads that the library does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blind {
    /// It has no dynamic linker that would load anything.
    Static,
    /// Go's runtime reads the clock by itself.
    Go,
    /// It holds the instruction that reads the processor's counter.
    Counter,
}

impl Blind {
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Static => "is linked statically",
            Self::Go => "is written in Go, whose runtime reads the clock without the C library",
            Self::Counter => "reads the processor's counter itself (RDTSC)",
        }
    }

    /// True if that is everything.
    pub(crate) const fn is_all(self) -> bool {
        matches!(self, Self::Static)
    }
}

/// Of a program at most, in bytes.
const MOST: u64 = 256 << 20;
/// How many programs a line `#!` may lead to.
const SCRIPTS: usize = 4;

/// Reads of a command that cannot be seen.
///
/// # Errors
/// There is no such program, or it cannot be read.
pub(crate) fn blind(name: &str, folder: &str) -> Result<Vec<Blind>, String> {
    let mut path = find(name, folder)?;
    for _ in 0..SCRIPTS {
        let bytes = read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // A script: it is its interpreter that reads clocks.
        let Some(line) = bytes.strip_prefix(b"#!") else { return Ok(find_blind_spots(&bytes)) };
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let next = words.find(|word| !word.starts_with('-'));
        path = match next.filter(|_| first.ends_with("/env")) {
            Some(name) => find(name, folder)?,
            None => PathBuf::from(first),
        };
    }
    Ok(Vec::new())
}

/// As execvp(3) finds it.
pub(super) fn find(name: &str, folder: &str) -> Result<PathBuf, String> {
    if name.contains('/') {
        return Ok(Path::new(folder).join(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.ok_or_else(|| format!("there is no program {name}"))
}

/// Reads of a file itself that cannot be seen; none for an unreadable file.
pub(super) fn blind_in(path: &Path) -> Vec<Blind> {
    read(path).map_or_else(|_| Vec::new(), |bytes| find_blind_spots(&bytes))
}

/// A file, up to a length that programs have.
///
/// # Errors
/// It cannot be read, or is no file: a device may have no end.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = std::fs::File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("is no file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Of an ELF file of 64 bits; nothing of what is none.
fn find_blind_spots(bytes: &[u8]) -> Vec<Blind> {
    let Some(segments) = segments(bytes) else { return Vec::new() };
    let mut all = Vec::new();
    if !segments.iter().any(|(kind, ..)| *kind == object::elf::PT_INTERP) {
        all.push(Blind::Static);
    }
    // Its linker writes this where the program begins.
    if contains(&bytes[..bytes.len().min(1 << 16)], b"Go build ID: ") || contains(bytes, b"\xff Go buildinf:")
    {
        all.push(Blind::Go);
    }
    // RDTSC, and then the joining of its halves: SHL RDX, 32.
    let code = segments.iter().filter(|(kind, flags, ..)| *kind == object::elf::PT_LOAD && flags & 1 != 0);
    let joins =
        |window: &[u8]| window.starts_with(b"\x0f\x31") && contains(&window[2..], b"\x48\xc1\xe2\x20");
    let mut code =
        code.filter_map(|(_, _, at, length, _)| bytes.get(*at as usize..at.checked_add(*length)? as usize));
    if cfg!(target_arch = "x86_64") && code.any(|code| code.windows(16).any(joins)) {
        all.push(Blind::Counter);
    }
    all
}

fn contains(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_apart() {
        // This test is linked dynamically, and so is a shell; a script is its interpreter.
        let own = std::env::current_exe().unwrap();
        assert!(!blind(own.to_str().unwrap(), "").unwrap().contains(&Blind::Static));
        assert_eq!(blind("sh", "").unwrap(), []);
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        write("script", b"#!/usr/bin/env -S sh\nexit\n");
        assert_eq!(blind("./script", folder.path().to_str().unwrap()).unwrap(), []);
        assert!(blind("no-such-program", "").is_err() && blind("./none", "/").is_err());
        // One without a segment, and one whose table lies outside.
        let mut elf = vec![0; 64];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        assert_eq!(find_blind_spots(&elf), [Blind::Static]);
        elf[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        (elf[54], elf[56]) = (56, 1);
        assert_eq!(find_blind_spots(&elf), []);
    }

    #[test]
    fn the_counter_of_the_processor_is_seen_in_code() {
        let mut elf = vec![0; 64 + 56];
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (elf[32], elf[54], elf[56]) = (64, 56, 1);
        // A segment of code of so many bytes behind the table.
        (elf[64], elf[68]) = (1, 5);
        elf[72..80].copy_from_slice(&120u64.to_le_bytes());
        elf[96..104].copy_from_slice(&32u64.to_le_bytes());
        elf.extend([0x90; 32]);
        assert_eq!(find_blind_spots(&elf), [Blind::Static]);
        elf[124..130].copy_from_slice(b"\x0f\x31\x48\xc1\xe2\x20");
        assert_eq!(find_blind_spots(&elf).contains(&Blind::Counter), cfg!(target_arch = "x86_64"));
    }
}

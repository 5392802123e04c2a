//! The sources that this program holds.

use crate::Error;
use flate2::read::GzDecoder;
use std::io::{BufRead, BufReader, Read};

/// The workspace of the static programs.
pub(crate) const RUST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.gz"));

/// The small agent, QEMU's plugin and the kernel's modules, by their folders.
const IN_C: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/c-sources.gz"));

/// Files by name, with their bytes.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// The files that build.rs packed: each a line with its length and its path, then its content.
///
/// # Errors
/// They are damaged.
pub(crate) fn unpacked(packed: &[u8]) -> Result<Files, Error> {
    let damaged = || Error::Usage("the sources in this program are damaged".to_owned());
    let mut packed = BufReader::new(GzDecoder::new(packed));
    let mut files = Vec::new();
    let mut line = String::new();
    while packed.read_line(&mut line).map_err(|_| damaged())? > 0 {
        let (length, name) = line.trim_end().split_once(' ').ok_or_else(damaged)?;
        let mut content = vec![0; length.parse().map_err(|_| damaged())?];
        packed.read_exact(&mut content).map_err(|_| damaged())?;
        files.push((name.to_owned(), content));
        line.clear();
    }
    Ok(files)
}

/// The C sources of a folder by their names in it.
///
/// # Errors
/// They are damaged.
pub(crate) fn c_sources(folder: &str) -> Result<Files, Error> {
    let all = unpacked(IN_C)?.into_iter();
    let of_it = all.filter_map(|(path, content)| {
        Some((path.strip_prefix(folder)?.strip_prefix('/')?.to_owned(), content))
    });
    Ok(of_it.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_has_its_files() {
        for (folder, one) in [
            ("agent-c", "main.c"),
            ("tcg-plugin", "explain.c"),
            ("kernel/tickmark_timer", "Kbuild"),
            ("kernel/tickmark_clock", "tickmark_clock.c"),
        ] {
            let files = c_sources(folder).unwrap();
            let there = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(one);
            let is_source = |name: &str| name == "Kbuild" || name.ends_with(".c") || name.ends_with(".h");
            let (_, content) = files.iter().find(|(name, _)| name == one).unwrap();
            assert!(
                *content == std::fs::read(there).unwrap() && files.iter().all(|(name, _)| is_source(name))
            );
        }
        assert!(c_sources("agent").unwrap().is_empty());
    }
}

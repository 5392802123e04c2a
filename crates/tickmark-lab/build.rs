//! Packs the source of the static programs: the lab builds them where they are needed, also after `cargo install`.

use std::fs;
use std::io::{Error, Write};
use std::path::{Path, PathBuf};

/// The static programs, and what they are built from.
const CRATES: [&str; 8] = [
    "tickmark-agent",
    "tickmark-database",
    "tickmark-load",
    "tickmark-preload",
    "tickmark-probe",
    "tickmark-select-index",
    "tickmark-timer",
    "tickmark-wire",
];

fn main() -> Result<(), Error> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or_else(|| Error::other(name));
    let workspace = variable("CARGO_MANIFEST_DIR")?.join("../..");
    let mut paths = vec![PathBuf::from("Cargo.toml"), PathBuf::from("Cargo.lock")];
    for name in CRATES {
        let folder = Path::new("crates").join(name);
        println!("cargo:rerun-if-changed={}", workspace.join(&folder).display());
        find(&workspace, &folder, &mut paths)?;
    }
    paths.sort();
    let file = fs::File::create(variable("OUT_DIR")?.join("sources.gz"))?;
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    for path in &paths {
        let content = fs::read(workspace.join(path))?;
        writeln!(packed, "{} {}", content.len(), path.display())?;
        packed.write_all(&content)?;
    }
    packed.finish().map(drop)
}

fn find(workspace: &Path, folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(workspace.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            paths.push(path);
        } else if entry.file_name() != "tests" {
            find(workspace, &path, paths)?;
        }
    }
    Ok(())
}

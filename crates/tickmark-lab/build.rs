//! Packs the sources of what the lab compiles where it is needed, also after `cargo install`: the static programs, and what is in C.

use std::fs;
use std::io::{Error, Write};
use std::path::{Path, PathBuf};

/// The static programs, and what they are built from.
const CRATES: [&str; 8] = [
    "crates/tickmark-agent",
    "crates/tickmark-database",
    "crates/tickmark-load",
    "crates/tickmark-preload",
    "crates/tickmark-probe",
    "crates/tickmark-select-index",
    "crates/tickmark-timer",
    "crates/tickmark-wire",
];

/// The small agent, QEMU's plugin, and modules of the kernel.
const IN_C: [&str; 4] = ["agent-c", "tcg-plugin", "kernel/tickmark_clock", "kernel/tickmark_timer"];

fn main() -> Result<(), Error> {
    // Cargo asks for no file of a module that is there for tests alone.
    let is_built = |path: &Path| !path.ends_with("tests.rs");
    pack("sources.gz", &["Cargo.toml", "Cargo.lock"], &CRATES, is_built)?;
    // Kbuild leaves NAME.mod.c beside the sources.
    let is_in_c = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name == "Kbuild" || name.ends_with(".h") || name.ends_with(".c") && !name.ends_with(".mod.c")
    };
    pack("c-sources.gz", &[], &IN_C, is_in_c)
}

/// Each file as a line with its length and its path, then its content.
fn pack(name: &str, files: &[&str], folders: &[&str], wanted: impl Fn(&Path) -> bool) -> Result<(), Error> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).ok_or_else(|| Error::other(name));
    let workspace = variable("CARGO_MANIFEST_DIR")?.join("../..");
    let mut paths: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    for path in files.iter().chain(folders) {
        println!("cargo:rerun-if-changed={}", workspace.join(path).display());
    }
    for folder in folders {
        find(&workspace, Path::new(folder), &mut paths)?;
    }
    paths.sort();
    let file = fs::File::create(variable("OUT_DIR")?.join(name))?;
    let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    for path in paths.iter().filter(|path| wanted(path)) {
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

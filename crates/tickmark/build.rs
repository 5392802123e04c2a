//! How the program is linked; packs the schemas of docs/schema.

use std::fs;
use std::io::{Error, Write};
use std::path::{Path, PathBuf};

/// Nobody unwinds what aborts after a panic: the tables for it are a tenth of the program.
const WITHOUT_UNWINDING: &str = "SECTIONS { /DISCARD/ : { *(.eh_frame) } } INSERT AFTER .text;\n";

fn main() -> Result<(), Error> {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    let out = PathBuf::from(of("OUT_DIR"));
    pack_schemas(&Path::new(&of("CARGO_MANIFEST_DIR")).join("../../docs/schema"), &out.join("schemas.gz"))?;
    // Every process that it starts, and a run is one, would read the list of its relocations and write half a megabyte of addresses: linked to
    // one place there are none, which counts where memory is short. Stack, heap and libraries are where chance puts them all the same.
    if of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        if of("PROFILE") == "release" {
            let script = out.join("without-unwinding.ld");
            fs::write(&script, WITHOUT_UNWINDING)?;
            // Cargo does not strip a package that the profile names.
            println!("cargo:rustc-link-arg-bins=-Wl,-s,-O2,--no-eh-frame-hdr,-T,{}", script.display());
        }
        if of("PROFILE") == "release"
            && links_by_lld(&of("TARGET"), &of("RUSTC"), &of("CARGO_ENCODED_RUSTFLAGS"))
        {
            // Functions with the same code become one. Nothing here compares their addresses, but SQLite those of its own built-in functions,
            // which differ.
            println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
        }
    }
    Ok(())
}

/// True if Rust takes the linker that comes with it, as it does for this target where it has one: GNU's has no such option.
fn links_by_lld(target: &str, rustc: &str, flags: &str) -> bool {
    let sysroot = std::process::Command::new(rustc).args(["--print", "sysroot"]).output();
    let sysroot =
        sysroot.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
    let linker = Path::new(&sysroot).join("lib/rustlib").join(target).join("bin/gcc-ld/ld.lld");
    let is_chosen = ["linker-features", "fuse-ld", "linker="].iter().any(|option| flags.contains(option));
    target == "x86_64-unknown-linux-gnu" && linker.is_file() && !is_chosen
}

/// One JSON object: each schema by its file's name; `cargo xtask docs` writes those that are not there.
fn pack_schemas(folder: &Path, into: &Path) -> Result<(), Error> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    let mut packed = flate2::write::GzEncoder::new(fs::File::create(into)?, flate2::Compression::best());
    let mut before = "{";
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        write!(packed, "{before}\"{name}\":{}", fs::read_to_string(&path)?)?;
        before = ",";
    }
    write!(packed, "}}")?;
    packed.finish().map(drop)
}

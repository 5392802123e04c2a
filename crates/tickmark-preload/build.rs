//! Compiles the library, which is a program's of its own: nothing of this crate, and nothing of Rust's standard library, is in it.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let made = PathBuf::from(variable("OUT_DIR")).join("tickmark_preload.so");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args([
        "--edition",
        "2024",
        "--crate-type",
        "cdylib",
        "--crate-name",
        "tickmark_preload",
        "--target",
        &variable("TARGET"),
    ]);
    rustc.args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "strip=symbols", "-D", "warnings"]);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    rustc.arg("-o").arg(&made).arg("library/preload.rs");
    let done = rustc.status();
    assert!(done.is_ok_and(|status| status.success()), "the preloaded library does not compile");
    println!("cargo::rerun-if-changed=library");
    println!("cargo::rerun-if-changed=src/layout.rs");
    println!("cargo::rerun-if-changed=build.rs");
}

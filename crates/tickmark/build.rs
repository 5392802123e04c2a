//! How the program is linked.

/// Nobody unwinds what aborts after a panic: the tables for it are a tenth of the program.
const WITHOUT_UNWINDING: &str = "SECTIONS { /DISCARD/ : { *(.eh_frame) } } INSERT AFTER .text;\n";

fn main() -> std::io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    // Every process that it starts, and a run is one, would read the list of its relocations and write half a megabyte of addresses: linked to
    // one place there are none, which counts where memory is short. Stack, heap and libraries are where chance puts them all the same.
    if of("CARGO_CFG_TARGET_OS") == "linux" && of("CARGO_CFG_TARGET_ENV") == "gnu" {
        println!("cargo:rustc-link-arg-bins=-no-pie");
        if of("PROFILE") == "release" {
            let script = std::path::Path::new(&of("OUT_DIR")).join("without-unwinding.ld");
            std::fs::write(&script, WITHOUT_UNWINDING)?;
            // Cargo does not strip a package that the profile names.
            println!("cargo:rustc-link-arg-bins=-Wl,-s,-O2,--no-eh-frame-hdr,-T,{}", script.display());
        }
    }
    Ok(())
}

//! Programs and files of other packages, and the package that has each.

use crate::Error;
use crate::kernel::{Arch, Source};
use std::path::{Path, PathBuf};

/// Where a program is.
///
/// # Errors
/// It is missing: the package to install.
pub(crate) fn program(name: &str, package: &str) -> Result<PathBuf, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
        .ok_or_else(|| Error::Missing { what: name.to_owned(), package: package.to_owned() })
}

/// The compiler for an architecture.
pub(crate) fn compiler(arch: Arch) -> Result<PathBuf, Error> {
    match arch.cross() {
        None => program("gcc", "gcc libc6-dev"),
        Some((target, name)) => {
            program(&format!("{target}-gcc"), &format!("gcc-{target} libc6-dev-{name}-cross"))
        }
    }
}

/// The headers of the C library that the small agent is linked with.
pub(crate) fn c_library(arch: Arch) -> Result<(), Error> {
    let (header, package) = match arch.cross() {
        None => ("/usr/include/stdio.h".to_owned(), "libc6-dev".to_owned()),
        Some((target, name)) => (format!("/usr/{target}/include/stdio.h"), format!("libc6-dev-{name}-cross")),
    };
    if Path::new(&header).exists() { Ok(()) } else { Err(Error::Missing { what: header, package }) }
}

/// Checks the tools that build a kernel.
pub(crate) fn for_kernels(arch: Arch) -> Result<(), Error> {
    let programs = [
        ("gcc", "gcc libc6-dev"),
        ("make", "make"),
        ("flex", "flex"),
        ("bison", "bison"),
        ("bc", "bc"),
        ("xz", "xz-utils"),
        ("tar", "tar"),
        ("perl", "perl"),
        ("lz4", "lz4"),
    ];
    let is_pc = arch == Arch::X86_64;
    let needed = programs.into_iter().filter(|(name, _)| is_pc || *name != "lz4");
    let programs = needed.map(|(name, package)| program(name, package).map(drop));
    let header = || match !is_pc || Path::new("/usr/include/libelf.h").exists() {
        true => Ok(()),
        false => Err(Error::Missing { what: "libelf.h".to_owned(), package: "libelf-dev".to_owned() }),
    };
    Error::together(std::iter::once(compiler(arch).map(drop)).chain(programs).chain([header()]))
}

/// The emulator for an architecture.
///
/// # Errors
/// It is missing: the package to install.
pub fn require_qemu(arch: Arch) -> Result<PathBuf, Error> {
    match arch {
        Arch::X86_64 => program("qemu-system-x86_64", "qemu-system-x86"),
        Arch::PowerPc => program("qemu-system-ppc", "qemu-system-ppc"),
        Arch::Arm64 => program("qemu-system-aarch64", "qemu-system-arm"),
        Arch::Riscv64 => program("qemu-system-riscv64", "qemu-system-misc"),
    }
}

/// The version of the package of a kernel's source.
///
/// # Errors
/// It is not here.
pub fn source_version(of: Source) -> Result<String, Error> {
    source(of).map(|(_, version)| version)
}

/// A kernel source of Debian: the archive and the version of its package.
///
/// # Errors
/// It is not here; which others are.
pub(crate) fn source(source: Source) -> Result<(PathBuf, String), Error> {
    let version = source.to_string();
    let path = PathBuf::from(format!("/usr/src/linux-source-{version}.tar.xz"));
    if !path.is_file() {
        let files = std::fs::read_dir("/usr/src").into_iter().flatten().flatten();
        let name =
            |name: String| Some(name.strip_prefix("linux-source-")?.strip_suffix(".tar.xz")?.to_owned());
        let mut here: Vec<String> =
            files.filter_map(|entry| name(entry.file_name().to_string_lossy().into_owned())).collect();
        here.sort();
        let others =
            if here.is_empty() { String::new() } else { format!("; source={} is here", here.join(" and ")) };
        let what = format!("the kernel's source ({}{others})", path.display());
        return Err(Error::Missing { what, package: format!("linux-source-{version}") });
    }
    // The package's version has what the file's name lacks; the size stands in where dpkg is not there.
    let package = format!("linux-source-{version}");
    let queried =
        std::process::Command::new("dpkg-query").args(["-W", "-f", "${Version}", &package]).output();
    let known = queried.ok().filter(|output| output.status.success());
    let full = match known {
        Some(output) => String::from_utf8_lossy(&output.stdout).into_owned(),
        None => format!("{version}, {} bytes", std::fs::metadata(&path).map_or(0, |status| status.len())),
    };
    Ok((path, full))
}

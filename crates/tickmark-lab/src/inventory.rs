//! Table of the lab's requirements on this machine, and the packages that provide the missing ones.

use crate::cache::Cache;
use crate::kernel::{Arch, Source};
use crate::static_program::StaticProgram;
use crate::{Error, tools};
use std::process::Command;

/// A thing that the lab needs.
#[derive(Debug, Clone)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// The task that is impossible without it.
    pub needed_for: &'static str,
    /// Where it is, or why it is not there.
    pub found: Result<String, Missing>,
}

/// Why a component is not there.
#[derive(Debug, Clone)]
pub struct Missing {
    /// In words.
    pub reason: String,
    /// Debian's packages that have it; none where it comes otherwise.
    pub packages: Vec<String>,
}

impl From<Error> for Missing {
    fn from(error: Error) -> Self {
        match error {
            Error::Missing { what, package } => {
                Self { reason: what, packages: package.split(' ').map(str::to_owned).collect() }
            }
            other => Self { reason: other.to_string(), packages: Vec::new() },
        }
    }
}

/// Everything that the lab needs, in the order in which a boot does.
#[must_use]
pub fn inventory() -> Vec<Component> {
    let mut all = Vec::new();
    let mut add = |name: String, needed_for, found: Result<String, Error>| {
        all.push(Component { name, needed_for, found: found.map_err(Missing::from) });
    };
    add("static agent".to_owned(), "guests, machines over ssh, fleets", static_agent());
    for arch in Arch::ALL {
        let name = arch.name();
        let qemu = tools::require_qemu(arch).map(|path| path.display().to_string());
        add(format!("QEMU for {name}"), "booting guests", qemu);
        let compiler = tools::c_library(arch).and_then(|()| tools::compiler(arch));
        add(
            format!("C compiler for {name}"),
            "the small agent",
            compiler.map(|path| path.display().to_string()),
        );
        let built = tools::for_kernels(arch).map(|()| "gcc, make, flex, bison and others".to_owned());
        add(format!("build tools for {name}"), "building kernels", built);
    }
    for source in Source::KNOWN {
        let found = tools::source(source).map(|(_, version)| version);
        add(format!("kernel source {source}"), "building kernels", found);
    }
    let opened = std::fs::File::options().read(true).write(true).open("/dev/kvm");
    let kvm = opened.map(|_| "/dev/kvm".to_owned()).map_err(Error::file("open", "/dev/kvm"));
    add("KVM".to_owned(), "the host's speed (--speed host); otherwise TCG", kvm);
    all
}

/// Where the static agent is, or that it can be built.
fn static_agent() -> Result<String, Error> {
    if let Some(path) = StaticProgram::Agent.installed()? {
        return Ok(path.display().to_string());
    }
    if let Some(path) = StaticProgram::Agent.cached(&Cache::at(None)?)? {
        return Ok(path.display().to_string());
    }
    let linker = tools::compiler(Arch::X86_64).and_then(|_| tools::c_library(Arch::X86_64));
    linker.map(|()| "built when it is needed first (1 minute)".to_owned())
}

/// The version of cargo, which builds what is not installed.
///
/// # Errors
/// It is not here.
pub(crate) fn cargo() -> Result<String, Error> {
    let output = Command::new("cargo").arg("--version").output().map_err(|_| {
        Error::Usage(
            "neither installed nor to be built, as cargo is missing: install tickmark's package, or Rust, or name an agent in TICKMARK_AGENT".to_owned(),
        )
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

//! The plugin that counts a guest's instructions by function: its C source is part of this program, and compiled for the QEMU that is
//! here when it is needed.

use crate::cache::Cache;
use crate::compiled::{Recipe, version};
use crate::kernel::Arch;
use crate::packed::c_sources;
use crate::qemu::path;
use crate::symbols::Symbols;
use crate::{Error, tools};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// As tcg-plugin/explain.c has them.
const FLAGS: [&str; 6] = ["-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-w"];

/// A boot's plugin and what it is told.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// The compiled plugin.
    pub library: PathBuf,
    /// The functions of the kernel.
    pub symbols: Arc<Symbols>,
    /// The first-level caches: ISIZE:IWAYS:DSIZE:DWAYS:LINE in bytes.
    pub caches: Option<String>,
}

impl Plugin {
    /// The options of QEMU with which it reads the functions' list and writes to a file.
    pub(crate) fn options(&self, symbols: &Path, counts: &Path) -> [String; 2] {
        let caches = self.caches.as_ref().map_or(String::new(), |model| format!(",cache={model}"));
        let stack = self.symbols.stack_shift().map_or(String::new(), |shift| format!(",stack={shift}"));
        let (library, symbols, out) = (path(&self.library), path(symbols), path(counts));
        ["-plugin".to_owned(), format!("file={library},symbols={symbols},out={out}{stack}{caches}")]
    }
}

/// The plugin for an architecture's QEMU, compiled where it is not in the cache.
///
/// # Errors
/// QEMU or the compiler is missing, QEMU is too old, or the compiler refuses.
pub fn plugin(cache: &Cache, arch: Arch, stop: &dyn Fn() -> bool) -> Result<PathBuf, Error> {
    let qemu = version(&tools::require_qemu(arch)?)?;
    let api = interface(&qemu).ok_or_else(|| {
        let said = qemu.lines().next().unwrap_or_default();
        Error::Usage(format!(
            "functions are counted by a plugin of QEMU 6.1 or later, and this one is {said:?}"
        ))
    })?;
    let flags = FLAGS.iter().map(|flag| (*flag).to_owned()).chain([format!("-DQEMU_API={api}")]);
    let recipe = Recipe {
        what: "the plugin of QEMU".to_owned(),
        name: "explain.so",
        kind: "plugins",
        sources: c_sources("tcg-plugin")?,
        // It is a part of QEMU, and not of the guest.
        compiler: tools::compiler(Arch::X86_64)?,
        flags: flags.collect(),
        made_for: &qemu,
    };
    recipe.file(cache, || tools::c_library(Arch::X86_64), stop)
}

/// The version of the plugins' interface that a QEMU takes (its include/qemu/qemu-plugin.h): 1 from 6.0 on (arguments as they are given here from 6.1 on), 2 in 9.0, 3 from 9.1 on.
fn interface(said: &str) -> Option<u8> {
    let number = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    match (parts.next()?, parts.next().unwrap_or(0)) {
        (..6, _) | (6, 0) => None,
        (6..9, _) => Some(1),
        (9, 0) => Some(2),
        _ => Some(3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_that_of_the_version() {
        let of = |number: &str| interface(&format!("QEMU emulator version {number} (Debian 1:x)\nCopyright"));
        assert_eq!(of("7.2.22"), Some(1));
        assert_eq!([of("9.0.2"), of("9.1.0"), of("10.0.0-rc1")], [Some(2), Some(3), Some(3)]);
        assert_eq!([of("6.0.0"), of("5.2.0"), interface("busybox")], [None; 3]);
    }
}

//! What a kernel says of its functions: asked in a boot of its own, once for an image.

use crate::boot::{Boot, BootLimit};
use crate::cache::{Cache, hash_file};
use crate::initramfs::Archive;
use crate::qemu::Machine;
use crate::symbols::Symbols;
use crate::{Error, agent};
use std::path::Path;
use std::time::Duration;

/// The kind of these cache entries.
const KIND: &str = "symbols";
/// How long the boot may take of a processor: a distribution's kernel with 60,000 functions took 15 s.
const LIMIT: Duration = Duration::from_secs(180);

/// The functions of an image that is booted on a machine with `append`: by its symbol table, else by its /proc/kallsyms. Addresses are
/// those that it runs at: x86-64 boots with nokaslr, the others have no random seed in their device tree where instructions are counted.
///
/// # Errors
/// It has neither; the boot fails.
pub fn symbols(
    cache: &Cache,
    machine: Machine,
    image: &Path,
    append: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Symbols, Error> {
    let symbols = names(cache, machine, image, append, stop)?;
    if symbols.has_known_entries(machine.arch) {
        return Ok(symbols);
    }
    Err(Error::Usage(format!(
        "{} cannot be explained: its entry points are not named as in Linux 5.14 or later",
        image.display()
    )))
}

fn names(
    cache: &Cache,
    machine: Machine,
    image: &Path,
    append: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Symbols, Error> {
    if let Some(symbols) = Symbols::of_image(image, machine.arch)? {
        return Ok(symbols);
    }
    let entry = cache.entry(KIND, &hash_file(image)?[..16]);
    let known = || Symbols::of_list(&std::fs::read_to_string(entry.join("kallsyms")).ok()?, machine.arch);
    if let Some(known) = known() {
        return Ok(known);
    }
    let agent = agent::small_agent(cache, machine.arch, stop)?;
    let _lock = cache.lock(KIND, &mut || {}, stop)?;
    if let Some(known) = known() {
        return Ok(known);
    }
    let agent = std::fs::read(&agent).map_err(Error::file("read", &agent))?;
    let mut archive = Archive::new();
    archive.file("init", &agent);
    let work = cache.work(KIND);
    let boot = Boot {
        machine,
        image,
        initramfs: &archive.finish(),
        append: &format!("{append} -- --symbols"),
        limit: BootLimit::Processor(LIMIT),
        first: None,
        folder: &work.join("boot"),
        plugin: None,
    };
    // Where it fails, its transcript stays until the next.
    let list = boot.run(stop)?.events;
    let symbols = Symbols::of_list(&list, machine.arch).ok_or_else(|| {
        Error::Usage(format!(
            "{} has no names of functions: neither a symbol table nor /proc/kallsyms (CONFIG_KALLSYMS)",
            image.display()
        ))
    })?;
    let _ = std::fs::remove_dir_all(work.join("boot"));
    std::fs::write(work.join("kallsyms"), list).map_err(Error::file("write", work.join("kallsyms")))?;
    cache.install(&work, &entry)?;
    Ok(symbols)
}

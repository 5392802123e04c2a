//! The small agent: its C source is part of this program, and compiled for the guest's processor when it is needed.

use crate::cache::{Cache, hash};
use crate::kernel::Arch;
use crate::{Error, tools};
use std::path::PathBuf;
use std::process::Command;

macro_rules! sources {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../../../agent-c/", $name)))),*] };
}

const SOURCES: &[(&str, &str)] = sources!["agent.h" "main.c" "guest.c" "events.c" "figures.c" "stream.c" "operations.c" "tick.c" "calls.c" "processes.c" "network.c" "memory.c"];

/// The kind of these cache entries.
const KIND: &str = "agents";
/// As agent-c/README.md has them.
const FLAGS: &[&str] = &["-std=c99", "-O2", "-static", "-w"];

/// The small agent for an architecture, compiled where it is not in the cache.
///
/// # Errors
/// The compiler is missing, or refuses.
pub fn small_agent(cache: &Cache, arch: Arch, stop: &dyn Fn() -> bool) -> Result<PathBuf, Error> {
    let compiler = tools::compiler(arch)?;
    let version = Command::new(&compiler).arg("--version").output().map_err(Error::file("run", &compiler))?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let mut texts = vec![arch.name(), &version];
    texts.extend(FLAGS);
    texts.extend(SOURCES.iter().map(|(_, text)| *text));
    let entry = cache.entry(KIND, &hash(&texts));
    if entry.join("agent-c").is_file() {
        return Ok(entry.join("agent-c"));
    }
    tools::c_library(arch)?;
    let _lock = cache.lock(KIND, &mut || {}, stop)?;
    // Whoever had the lock may have built it.
    if entry.join("agent-c").is_file() {
        return Ok(entry.join("agent-c"));
    }
    let work = cache.work(KIND);
    std::fs::create_dir_all(&work).map_err(Error::file("make", &work))?;
    let mut gcc = Command::new(&compiler);
    gcc.args(FLAGS).args(["-o", "agent-c"]).current_dir(&work);
    for (name, text) in SOURCES {
        std::fs::write(work.join(name), text).map_err(Error::file("write", work.join(name)))?;
        if name.ends_with(".c") {
            gcc.arg(name);
        }
    }
    let done = gcc.output().map_err(Error::file("run", &compiler))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if said.contains("No space left") {
            return Err(Error::Full(cache.root().to_owned()));
        }
        let log = cache.root().join("agent-c.log");
        let _ = std::fs::write(&log, &said);
        let why =
            said.lines().find(|line| line.contains("error")).unwrap_or("the compiler failed").to_owned();
        return Err(Error::Build { what: format!("agent-c for {}", arch.name()), why, log });
    }
    for (name, _) in SOURCES {
        let _ = std::fs::remove_file(work.join(name));
    }
    cache.install(&work, &entry)?;
    Ok(entry.join("agent-c"))
}

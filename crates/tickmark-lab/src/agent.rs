//! The small agent: its C source is part of this program, and compiled for the guest's processor when it is needed.

use crate::cache::Cache;
use crate::compiled::Recipe;
use crate::kernel::Arch;
use crate::{Error, tools};
use std::path::PathBuf;

macro_rules! sources {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../../../agent-c/", $name)))),*] };
}

const SOURCES: &[(&str, &str)] = sources!["agent.h" "main.c" "guest.c" "events.c" "figures.c" "stream.c" "operations.c" "tick.c" "calls.c" "processes.c" "network.c" "memory.c"];

/// As agent-c/README.md has them.
const FLAGS: [&str; 4] = ["-std=c99", "-O2", "-static", "-w"];

/// True if the small agent has a probe of this name.
#[must_use]
pub fn small_agent_has(probe: &str) -> bool {
    let row = format!("{{ \"{probe}\", ");
    SOURCES.iter().any(|(file, text)| *file == "main.c" && text.contains(&row))
}

/// The small agent for an architecture, compiled where it is not in the cache.
///
/// # Errors
/// The compiler is missing, or refuses.
pub fn small_agent(cache: &Cache, arch: Arch, stop: &dyn Fn() -> bool) -> Result<PathBuf, Error> {
    let recipe = Recipe {
        what: format!("agent-c for {}", arch.name()),
        name: "agent-c",
        kind: "agents",
        sources: SOURCES,
        compiler: tools::compiler(arch)?,
        flags: FLAGS.map(str::to_owned).to_vec(),
        made_for: arch.name(),
    };
    recipe.file(cache, || tools::c_library(arch), stop)
}

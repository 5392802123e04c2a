//! The small agent: its C source is part of this program, and compiled for the guest's processor when it is needed.

use crate::cache::Cache;
use crate::compiled::Recipe;
use crate::kernel::Arch;
use crate::packed::c_sources;
use crate::{Error, tools};
use std::path::PathBuf;

/// The folder of its sources.
const FOLDER: &str = "agent-c";

/// As agent-c/README.md has them.
const FLAGS: [&str; 4] = ["-std=c99", "-O2", "-static", "-w"];

/// True if the small agent has a probe of this name.
#[must_use]
pub fn small_agent_has(probe: &str) -> bool {
    let row = format!("{{ \"{probe}\", ");
    let has_it =
        |(file, text): &(String, Vec<u8>)| file == "main.c" && String::from_utf8_lossy(text).contains(&row);
    c_sources(FOLDER).is_ok_and(|files| files.iter().any(has_it))
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
        sources: c_sources(FOLDER)?,
        compiler: tools::compiler(arch)?,
        flags: FLAGS.map(str::to_owned).to_vec(),
        made_for: arch.name(),
    };
    recipe.file(cache, || tools::c_library(arch), stop)
}

//! Environment of a measurement: every fact that shaped or disturbed the numbers, with the file or call that it came from. A fact that
//! cannot be read is kept with the reason.

mod clock;
mod cpu;
mod kernel;
mod limits;
mod program;
mod state;

pub(crate) use clock::source as clock_source;

use std::path::Path;
use tickmark_wire::{Environment, Settled};

/// The whole record.
pub(crate) fn collect(settled: &Settled) -> Environment {
    let mut facts = state(settled.cpu);
    // As they were before the agent itself left the measured CPU.
    facts.know("cpu.allowed", "sched_getaffinity", crate::settle::ranges(&settled.allowed));
    facts.know("cpu.measured", &settled.cpu_because, settled.cpu.to_string());
    let other = settled.allowed.iter().find(|cpu| **cpu != settled.cpu);
    match other {
        Some(cpu) => facts.know("cpu.across", "the first other CPU that is allowed", cpu.to_string()),
        None => facts.miss("cpu.across", "sched_getaffinity", "only one CPU is allowed"),
    }
    kernel::collect(&mut facts);
    cpu::collect(&mut facts, settled.cpu);
    clock::collect(&mut facts);
    limits::collect(&mut facts, settled.cpu);
    program::collect(&mut facts);
    facts
}

/// Facts about this host.
pub(crate) fn of_host() -> Environment {
    let mut facts = Environment::default();
    kernel::collect(&mut facts);
    facts
}

/// Facts that change by themselves.
pub(crate) fn state(cpu: u32) -> Environment {
    let mut facts = Environment::default();
    state::collect(&mut facts, cpu);
    facts
}

/// Reads a small file; keeps the error as the reason.
fn file(facts: &mut Environment, name: &str, path: impl AsRef<Path>) {
    let path = path.as_ref();
    let source = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => facts.know(name, &source, text.trim().replace('\n', "; ")),
        Err(error) => facts.miss(name, &source, error.to_string()),
    }
}

/// Reads the value of one line `key : value` or `key value` of a file.
fn line(facts: &mut Environment, name: &str, path: &str, key: &str) {
    let found = |text: String| {
        let rest = text.lines().find_map(|line| line.strip_prefix(key).map(str::to_owned))?;
        Some(rest.trim_start_matches([' ', '\t', ':', '=']).trim().to_owned())
    };
    match std::fs::read_to_string(path).map(found) {
        Ok(Some(value)) => facts.know(name, path, value),
        Ok(None) => facts.miss(name, path, format!("no line {key}")),
        Err(error) => facts.miss(name, path, error.to_string()),
    }
}

//! What makes two recordings replicates of one configuration.

use crate::Recording;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The facts of a configuration.
const FACTS: [&str; 8] = [
    "host.name",
    "kernel.release",
    "kernel.version",
    "kernel.command_line",
    "clock.source",
    "cpu.model",
    "cpu.governor",
    "memory.thp",
];

/// A hash of the machine, its settings, what was measured, how often and how long: fewer and shorter runs spread farther.
pub(crate) fn of(recording: &Recording) -> String {
    let mut text = String::new();
    let facts = recording.environment();
    for name in FACTS {
        let _ = writeln!(text, "{}", facts.and_then(|facts| facts.get(name)).unwrap_or_default());
    }
    let plan = &recording.meta.plan;
    if recording.imported.is_none() {
        let settings = &plan.settings;
        let priority = recording.sessions.first().map_or(settings.priority, |hello| hello.settled.priority);
        let _ = writeln!(text, "{priority} {:?} {}", settings.slack, settings.small);
    }
    for metric in &plan.metrics {
        let own = plan.runs.iter().filter(|run| run.gives(&metric.name) && run.round > 0);
        let length = own.clone().map(|run| run.budget.get()).max().unwrap_or(0);
        let _ = writeln!(text, "{} {} {length}", metric.name, own.count());
    }
    // 128 bits are enough to tell configurations apart.
    Sha256::digest(text).iter().take(16).fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

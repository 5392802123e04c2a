//! What makes two recordings replicates of one configuration.

use crate::Recording;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The facts of a configuration.
const FACTS: [&str; 13] = [
    "host.name",
    "kernel.release",
    "kernel.version",
    "kernel.command_line",
    "clock.source",
    "cpu.model",
    "cpu.governor",
    "memory.thp",
    "guest.machine",
    "guest.memory",
    "guest.instruction_ns",
    "guest.image",
    "guest.append",
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
        let slack = settings.slack.map_or("the system's".to_owned(), |slack| slack.get().to_string());
        let deny = settings.deny.as_ref().map_or("nothing", |deny| deny.call.as_str());
        let _ = writeln!(text, "{priority} {slack} {} {deny} {}", settings.small, settings.only_needed);
        // Stamps of another clock cost something else.
        let stamped = recording.runs.iter().find_map(|run| run.outcome.as_ref());
        let clock = stamped.and_then(|outcome| serde_json::to_string(&outcome.instrument.clock).ok());
        let _ = writeln!(text, "{}", clock.unwrap_or_default());
    }
    for metric in &plan.metrics {
        let own = plan.runs.iter().filter(|run| run.gives(&metric.name) && run.round > 0);
        let length = own.clone().map(|run| run.budget.get()).max().unwrap_or(0);
        let _ = writeln!(text, "{} {} {length}", metric.name, own.count());
    }
    // 128 bits are enough to tell configurations apart.
    Sha256::digest(text).iter().take(16).fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

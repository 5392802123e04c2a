//! Signature of a configuration: two recordings with the same one are replicates.

use crate::Recording;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use tickmark_wire::{Name, Nanos, RunPlan};

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
pub(crate) fn signature(recording: &Recording) -> String {
    let mut text = String::new();
    let facts = recording.environment();
    for name in FACTS {
        let _ = writeln!(text, "{}", facts.and_then(|facts| facts.get(name)).unwrap_or_default());
    }
    let plan = &recording.meta.plan;
    if recording.imported.is_none() {
        let _ = writeln!(text, "{}", settings(recording));
        // Stamps of another clock cost something else.
        let stamped = recording.runs.iter().find_map(|run| run.outcome.as_ref());
        let clock = stamped.and_then(|outcome| serde_json::to_string(&outcome.instrument.clock).ok());
        let _ = writeln!(text, "{}", clock.unwrap_or_default());
    }
    let mut lengths: HashMap<&Name, (usize, Nanos)> = HashMap::new();
    for run in plan.runs.iter().filter(|run| run.round > 0) {
        let given: BTreeSet<&Name> = run.metrics().collect();
        for metric in given {
            let (runs, length) = lengths.entry(metric).or_default();
            (*runs, *length) = (*runs + 1, run.budget.max(*length));
        }
    }
    for metric in &plan.metrics {
        let (runs, length) = lengths.get(&metric.name).copied().unwrap_or_default();
        let _ = writeln!(text, "{} {runs} {}", metric.name, length.get());
    }
    // 128 bits are enough to tell configurations apart.
    Sha256::digest(text).iter().take(16).fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

/// Settings of the measured processes.
fn settings(recording: &Recording) -> String {
    let settings = &recording.meta.plan.settings;
    let priority = recording.sessions.first().map_or(settings.priority, |hello| hello.settled.priority);
    let slack = settings.slack.map_or("the system's".to_owned(), |slack| slack.get().to_string());
    let deny = settings.deny.as_ref().map_or("nothing", |deny| deny.call.as_str());
    format!("{priority} {slack} {} {deny} {}", settings.small, settings.only_needed)
}

/// How often a metric was measured, and how long each time at most.
pub(crate) fn length(recording: &Recording, metric: &Name) -> (usize, Nanos) {
    let own = recording.runs_of(metric).map(|run| &run.planned).filter(|run| run.round > 0);
    own.fold((0, Nanos::ZERO), |(count, length), run| (count + 1, run.budget.max(length)))
}

/// The same for recordings that measured a metric in the same manner, whatever the system: settings, runs and their length.
pub(crate) fn manner(recording: &Recording, metric: &Name) -> String {
    let (runs, length) = length(recording, metric);
    match command(recording) {
        Some(command) => format!("{} {} {command}", settings(recording), length.get()),
        None => format!("{} {runs} {}", settings(recording), length.get()),
    }
}

/// The command that a recording is about with all that it was told, which runs as often as it takes to decide.
fn command(recording: &Recording) -> Option<String> {
    recording.meta.arm.as_ref().filter(|arm| arm.is_command())?;
    recording.meta.plan.runs.first().map(|run| format!("{:?}", run.arguments))
}

/// Parameter that says where another host is reached today, and not which host it is: its port, and a file.
const PORT: &str = "at";
const FILE: &str = "token";

/// The same for recordings that were asked for the same, whatever the system and the order: settings, and each run with what its probe was told, how
/// long and how often.
pub(crate) fn request_text(recording: &Recording) -> String {
    let arguments = |run: &RunPlan| {
        let mut all = String::new();
        for (name, value) in run.arguments.iter().filter(|(name, _)| *name != FILE) {
            let value =
                if name == PORT { value.rsplit_once(':').map_or("", |(host, _)| host) } else { value };
            let _ = write!(all, "{name}={value:?},");
        }
        all
    };
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for run in recording.meta.plan.runs.iter().filter(|run| run.round > 0) {
        let given: Vec<&str> = run.metrics().map(Name::as_str).collect();
        let one = format!("{}:{} {} {}", run.probe, arguments(run), given.join(" "), run.budget.get());
        *runs.entry(one).or_default() += 1;
    }
    let command = command(recording);
    let often =
        |(run, count): (String, usize)| if command.is_some() { run } else { format!("{count} x {run}") };
    let runs: Vec<String> = runs.into_iter().map(often).collect();
    format!("{}; {}", settings(recording), runs.join("; "))
}

//! Which machine, which kernel, which settings, how much was measured.

use crate::sample::{Detail, Figures, Sample, configured_hz, figures};
use serde::Serialize;
use tickmark_stats::median;
use tickmark_store::{Id, Recording, Run, Status};
use tickmark_wire::{Better, Environment, Group, Headline, Instrument, Metric, Settled, Unit, names};

/// The header above the rows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// Of the recording.
    pub id: Id,
    /// Of the recording.
    pub name: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// True if nothing is to be done any more.
    pub complete: bool,
    /// The program that measured, where it was not this one.
    pub imported: Option<String>,
    /// The machine's name.
    pub host: Option<String>,
    /// The emulated machine, and what its figures are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// As the kernel has it.
    pub cpu_model: Option<String>,
    /// CPUs that are online, and how many of them may be used.
    pub cpus: Option<usize>,
    /// Of them.
    pub cpus_allowed: Option<usize>,
    /// The hypervisor's name.
    pub virtualisation: Option<String>,
    /// The operating system.
    pub system: Option<String>,
    /// The release.
    pub kernel: Option<String>,
    /// By the kernel's configuration.
    pub hz_configured: Option<f64>,
    /// By the tick's own runs.
    pub hz_measured: Option<f64>,
    /// The kernel's.
    pub clock_source: Option<String>,
    /// Rounds of the plan.
    pub rounds: u32,
    /// Settings that the agent could grant.
    pub settled: Option<Settled>,
    /// From the first run's start to the last one's end, where each took its budget, in s.
    pub seconds: f64,
    /// Overhead of measuring.
    pub instrument: Option<Instrument>,
    /// Effective GHz over all segments: 5th percentile, median, 95th percentile.
    pub gigahertz: Option<[f64; 3]>,
    /// Whether CPU time holds that of interrupts.
    pub cpu_time_has_interrupts: Option<bool>,
    /// The size of the agent's program.
    pub agent_bytes: Option<u64>,
    /// Conditions that differed at the end of a run, in words, with the number of runs: a CPU that went offline gives what was pinned to it
    /// to another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<(String, usize)>,
}

/// An emulated machine.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Guest {
    /// QEMU's name of it.
    pub machine: String,
    /// With its unit.
    pub memory: Option<String>,
    /// Model of time, where it is not the host's.
    pub model: Option<String>,
}

/// Cycles of a dependent 64-bit multiplication on x86-64 (Fog, Instruction tables).
const MULTIPLY_CYCLES: f64 = 3.0;

pub(super) fn build_header(recording: &Recording, samples: &[Sample<'_>]) -> Header {
    let session = recording.sessions.first();
    let empty = Environment::default();
    let facts = recording.environment().unwrap_or(&empty);
    let text = |name: &str| facts.get(name).map(str::to_owned);
    let irq = facts.get("kernel.config.IRQ_TIME_ACCOUNTING").map(|value| value != "y");
    let ok = || recording.runs.iter().filter(|run| run.status == Status::Ok);
    let arm = recording.meta.arm.as_ref();
    let is_command = arm.is_some_and(tickmark_store::Arm::is_command);
    // Blocks that an experiment did not need were never due.
    let is_due = |run: &&Run| arm.is_none() || run.status != Status::Open;
    Header {
        id: recording.meta.id.clone(),
        name: recording.meta.name.clone(),
        created: recording.meta.created.to_string(),
        complete: recording.complete(),
        imported: recording.imported.as_ref().map(|from| from.tool.clone()),
        host: text("host.name").filter(|_| facts.get("guest.machine").is_none()),
        guest: text("guest.machine").map(|machine| Guest {
            machine,
            memory: text("guest.memory"),
            model: text("guest.model"),
        }),
        cpu_model: text("cpu.model"),
        cpus: facts.get("cpu.online").and_then(tickmark_wire::text::list).map(|all| all.len()),
        cpus_allowed: session.map(|hello| hello.settled.allowed.len()),
        virtualisation: facts.get("virtualisation").filter(|v| *v != "none").map(hypervisor),
        system: system(recording),
        kernel: text("kernel.release"),
        hz_configured: configured_hz(recording),
        hz_measured: hz_measured(recording, samples),
        clock_source: text("clock.source"),
        rounds: recording.runs.iter().filter(is_due).map(|run| run.planned.round).max().unwrap_or(0),
        // Commands run on any CPU, whichever the agent would have measured.
        settled: session.filter(|_| !is_command).map(|hello| hello.settled.clone()),
        seconds: seconds(recording),
        instrument: ok().find_map(|run| run.outcome.as_ref()).map(|outcome| outcome.instrument),
        gigahertz: gigahertz(recording),
        cpu_time_has_interrupts: irq,
        agent_bytes: session.map(|hello| hello.agent_bytes),
        changed: changed(recording),
    }
}

fn changed(recording: &Recording) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = Vec::new();
    for what in
        recording.runs.iter().filter_map(|run| run.outcome.as_ref()).flat_map(|outcome| &outcome.changed)
    {
        match all.iter_mut().find(|(known, _)| known == what) {
            Some((_, runs)) => *runs += 1,
            None => all.push((what.clone(), 1)),
        }
    }
    all
}

/// The operating system: of what another program measured as its file says.
fn system(recording: &Recording) -> Option<String> {
    let kernel = recording.environment().and_then(|facts| facts.get("kernel.name"));
    kernel.or(recording.imported.is_none().then_some("Linux")).map(str::to_owned)
}

impl Header {
    /// The operating system and its release, as far as they are known.
    #[must_use]
    pub fn system_release(&self) -> String {
        let words: Vec<&str> = self.system.iter().chain(&self.kernel).map(String::as_str).collect();
        if words.is_empty() { "system unknown".to_owned() } else { words.join(" ") }
    }
}

/// Name of a hypervisor as people know it, from its CPUID signature.
pub(crate) fn hypervisor(name: &str) -> String {
    let known = [
        ("KVMKVMKVM", "KVM"),
        ("Microsoft Hv", "Hyper-V"),
        ("VMwareVMware", "VMware"),
        ("XenVMMXenVMM", "Xen"),
        ("TCGTCGTCGTCG", "QEMU TCG"),
        ("bhyve bhyve ", "bhyve"),
    ];
    known.iter().find(|(id, _)| *id == name).map_or(name, |(_, people)| people).to_owned()
}

/// The tick's rate by the tick's own runs, else by the run that was made for the environment; only what
/// the kernel's count of timer interrupts confirms, and that no other task disturbed.
fn hz_measured(recording: &Recording, samples: &[Sample<'_>]) -> Option<f64> {
    let rate = |figures: &Figures| match &figures.detail {
        Detail::Tick(train) if train.confirmed && !figures.contended => Some(train.frequency),
        _ => None,
    };
    let own = samples.iter().flat_map(|sample| &sample.runs).filter_map(rate);
    median(own).or_else(|| {
        let planned =
            recording.meta.plan.metrics.iter().find(|metric| metric.headline == Headline::TickTrain);
        // The run of round 0 belongs to no metric of the plan.
        let own = || Metric::of_values(names::TICK, "tick", Group::Tick, Unit::Frequency, Better::Neither);
        let metric = planned.cloned().unwrap_or_else(own);
        let looked = |run: &&Run| run.planned.gives(&metric.name) && run.status == Status::Ok;
        let runs = recording.runs.iter().filter(looked);
        median(runs.filter_map(|run| rate(&figures(recording, &metric, run).ok()?)))
    })
}

fn seconds(recording: &Recording) -> f64 {
    // Each session by the clock that nobody sets; CLOCK_REALTIME where a recording has no other.
    let sessions: std::collections::BTreeSet<usize> =
        recording.measured.iter().map(|(session, ..)| *session).collect();
    if !sessions.is_empty() {
        let length = |session: &usize| {
            let own = recording.measured.iter().filter(|(of, ..)| of == session);
            let first = own.clone().map(|(_, from, _)| from.get()).min().unwrap_or(0);
            let last =
                own.map(|(_, from, length)| from.get().saturating_add(length.get())).max().unwrap_or(0);
            last.saturating_sub(first) as f64 / 1e9
        };
        return sessions.iter().map(length).sum();
    }
    let ran = recording.runs.iter().filter_map(|run| Some((run.started?, run.planned.budget)));
    let first = ran.clone().map(|(start, _)| start.get()).min();
    let last = ran.map(|(start, budget)| start.get().saturating_add(budget.get())).max();
    first.zip(last).map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e9)
}

pub(crate) fn gigahertz(recording: &Recording) -> Option<[f64; 3]> {
    let speeds = recording.multiplications.iter().map(|cost| MULTIPLY_CYCLES / cost);
    let sorted = tickmark_stats::Sorted::new(speeds);
    Some([sorted.quantile(0.05)?, sorted.quantile(0.5)?, sorted.quantile(0.95)?])
}

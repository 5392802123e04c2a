//! Which machine, which kernel, which settings, how much was measured.

use crate::sample::{Detail, Figures, Sample, configured_hz, figures};
use serde::Serialize;
use tickmark_probe::find;
use tickmark_stats::median;
use tickmark_store::{Id, Recording, Run, Status};
use tickmark_wire::{Environment, Instrument, Settled};

/// What stands above the rows.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Header {
    pub(crate) id: Id,
    pub(crate) name: String,
    pub(crate) created: String,
    pub(crate) complete: bool,
    /// The program that measured, where it was not this one.
    pub(crate) imported: Option<String>,
    pub(crate) host: Option<String>,
    /// The emulated machine, and what its figures are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) guest: Option<String>,
    pub(crate) cpu_model: Option<String>,
    /// CPUs that are online, and how many of them may be used.
    pub(crate) cpus: Option<usize>,
    pub(crate) cpus_allowed: Option<usize>,
    pub(crate) virtualisation: Option<String>,
    pub(crate) kernel: Option<String>,
    pub(crate) hz_configured: Option<f64>,
    pub(crate) hz_measured: Option<f64>,
    pub(crate) clock_source: Option<String>,
    pub(crate) rounds: u32,
    pub(crate) settled: Option<Settled>,
    /// From the first run's start to the last one's end, where each took its budget, in s.
    pub(crate) seconds: f64,
    pub(crate) instrument: Option<Instrument>,
    /// Effective GHz over all segments: 5th percentile, median, 95th percentile.
    pub(crate) gigahertz: Option<[f64; 3]>,
    pub(crate) cpu_time_has_interrupts: Option<bool>,
    pub(crate) agent_bytes: Option<u64>,
}

/// Cycles of a dependent 64-bit multiplication on x86-64 (Fog, Instruction tables).
const MULTIPLY_CYCLES: f64 = 3.0;

pub(super) fn of(recording: &Recording, samples: &[Sample<'_>]) -> Header {
    let session = recording.sessions.first();
    let empty = Environment::default();
    let facts = recording.environment().unwrap_or(&empty);
    let text = |name: &str| facts.get(name).map(str::to_owned);
    let irq = facts.get("kernel.config.IRQ_TIME_ACCOUNTING").map(|value| value != "y");
    let ok = || recording.runs.iter().filter(|run| run.status == Status::Ok);
    Header {
        id: recording.meta.id.clone(),
        name: recording.meta.name.clone(),
        created: recording.meta.created.to_string(),
        complete: recording.complete(),
        imported: recording.imported.as_ref().map(|from| from.tool.clone()),
        host: text("host.name").filter(|_| facts.get("guest.machine").is_none()),
        guest: facts.get("guest.machine").map(|machine| {
            let memory = facts.get("guest.memory").unwrap_or("unknown memory");
            let model = facts.get("guest.model").unwrap_or("its times are the host's");
            format!("guest on {machine}, {memory} ({model})")
        }),
        cpu_model: text("cpu.model"),
        cpus: facts.get("cpu.online").and_then(count),
        cpus_allowed: session.map(|hello| hello.settled.allowed.len()),
        virtualisation: facts.get("virtualisation").filter(|v| *v != "none").map(hypervisor),
        kernel: text("kernel.release"),
        hz_configured: configured_hz(recording),
        hz_measured: hz_measured(recording, samples),
        clock_source: text("clock.source"),
        rounds: recording.runs.iter().map(|run| run.planned.round).max().unwrap_or(0),
        settled: session.map(|hello| hello.settled.clone()),
        seconds: seconds(recording),
        instrument: ok().find_map(|run| run.outcome.as_ref()).map(|outcome| outcome.instrument),
        gigahertz: gigahertz(recording),
        cpu_time_has_interrupts: irq,
        agent_bytes: session.map(|hello| hello.agent_bytes),
    }
}

/// How many numbers are in a list such as `0-3,7`.
fn count(list: &str) -> Option<usize> {
    let range = |range: &str| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        to.parse::<usize>().ok()?.checked_sub(from.parse().ok()?)?.checked_add(1)
    };
    list.split(',').map(range).try_fold(0usize, |sum, count| sum.checked_add(count?))
}

/// What CPUID calls a hypervisor, as people do.
fn hypervisor(name: &str) -> String {
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
        let metric = find("tick")?.spec.metric();
        let looked = |run: &&Run| run.planned.probe == metric.name && run.status == Status::Ok;
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
                own.map(|(_, from, budget)| from.get().saturating_add(budget.get())).max().unwrap_or(0);
            last.saturating_sub(first) as f64 / 1e9
        };
        return sessions.iter().map(length).sum();
    }
    let ran = recording.runs.iter().filter_map(|run| Some((run.started?, run.planned.budget)));
    let first = ran.clone().map(|(start, _)| start.get()).min();
    let last = ran.map(|(start, budget)| start.get().saturating_add(budget.get())).max();
    first.zip(last).map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e9)
}

fn gigahertz(recording: &Recording) -> Option<[f64; 3]> {
    let speeds = recording.multiplications.iter().map(|cost| MULTIPLY_CYCLES / cost);
    let sorted = tickmark_stats::Sorted::new(speeds);
    Some([sorted.quantile(0.05)?, sorted.quantile(0.5)?, sorted.quantile(0.95)?])
}

//! The processor: model, frequency, idle states, siblings, isolation.

use super::{file, line};
use std::path::Path;
use tickmark_probe::sys::host;
use tickmark_wire::Environment;

pub(super) fn collect(facts: &mut Environment, cpu: u32) {
    let root = "/sys/devices/system/cpu";
    let this = format!("{root}/cpu{cpu}");
    line(facts, "cpu.model", "/proc/cpuinfo", "model name");
    line(facts, "cpu.microcode", "/proc/cpuinfo", "microcode");
    line(facts, "cpu.flags", "/proc/cpuinfo", "flags");
    file(facts, "cpu.online", format!("{root}/online"));
    file(facts, "cpu.driver", format!("{this}/cpufreq/scaling_driver"));
    file(facts, "cpu.governor", format!("{this}/cpufreq/scaling_governor"));
    turbo(facts, root);
    file(facts, "cpu.idle.driver", format!("{root}/cpuidle/current_driver"));
    file(facts, "cpu.idle.governor", format!("{root}/cpuidle/current_governor"));
    idle_states(facts, &this);
    file(facts, "cpu.smt", format!("{root}/smt/control"));
    file(facts, "cpu.smt.siblings", format!("{this}/topology/thread_siblings_list"));
    file(facts, "cpu.isolated", format!("{root}/isolated"));
    file(facts, "cpu.nohz_full", format!("{root}/nohz_full"));
    caches(facts, &this);
    mitigations(facts, root);
    match host::hypervisor() {
        Some(name) => facts.know("virtualisation", "CPUID", name),
        None => facts.know("virtualisation", "CPUID", "none"),
    }
    file(facts, "virtualisation.product", "/sys/class/dmi/id/product_name");
    match host::cycle_counter() {
        Ok(()) => facts.know("counters.cycles", "perf_event_open", "yes"),
        Err(error) => facts.miss("counters.cycles", "perf_event_open", error.to_string()),
    }
    file(facts, "counters.paranoid", "/proc/sys/kernel/perf_event_paranoid");
}

/// The size of each cache by its level and type: numbers of indexes mean nothing.
fn caches(facts: &mut Environment, this: &str) {
    let folder = format!("{this}/cache");
    let read = |index: u32, what: &str| {
        std::fs::read_to_string(format!("{folder}/index{index}/{what}"))
            .ok()
            .map(|text| text.trim().to_owned())
    };
    let of = |level: &str, kinds: &[&str]| {
        let fits = |index: &u32| {
            read(*index, "level").is_some_and(|own| own == level)
                && read(*index, "type").is_some_and(|own| kinds.contains(&own.as_str()))
        };
        (0..).take_while(|index| read(*index, "level").is_some()).find(fits)
    };
    let all = [("L1d", "1", "Data"), ("L1i", "1", "Instruction"), ("L2", "2", "Data"), ("L3", "3", "Data")];
    for (name, level, kind) in all {
        let name = format!("cpu.cache.{name}");
        match of(level, &[kind, "Unified"]) {
            Some(index) => file(facts, &name, format!("{folder}/index{index}/size")),
            None => facts.miss(&name, &folder, "not listed"),
        }
    }
    match of("1", &["Data", "Unified"]) {
        Some(index) => file(facts, "cpu.cache.line", format!("{folder}/index{index}/coherency_line_size")),
        None => facts.miss("cpu.cache.line", &folder, "not listed"),
    }
}

/// Turbo by whichever driver says so, as "on" or "off".
fn turbo(facts: &mut Environment, root: &str) {
    let places = [(format!("{root}/intel_pstate/no_turbo"), "0"), (format!("{root}/cpufreq/boost"), "1")];
    for (place, on) in &places {
        if let Ok(text) = std::fs::read_to_string(place) {
            return facts.know("cpu.turbo", place, if text.trim() == *on { "on" } else { "off" });
        }
    }
    facts.miss("cpu.turbo", &places[1].0, "no driver says");
}

/// Name, exit latency and whether it is disabled, of each idle state.
fn idle_states(facts: &mut Environment, this: &str) {
    each_state(facts, "cpu.idle.states", this, |read| {
        let off = if read("disable") == "1" { " off" } else { "" };
        format!("{} {} us{off}", read("name"), read("latency"))
    });
}

/// How often each idle state was entered.
pub(super) fn idle_entered(facts: &mut Environment, cpu: u32) {
    let this = format!("/sys/devices/system/cpu/cpu{cpu}");
    each_state(facts, "state.idle.entered", &this, |read| format!("{} {}", read("name"), read("usage")));
}

/// A fact of each idle state, by what its files hold.
fn each_state(
    facts: &mut Environment,
    name: &str,
    this: &str,
    of: impl Fn(&dyn Fn(&str) -> String) -> String,
) {
    let folder = format!("{this}/cpuidle");
    let states = (0..).map(|number| Path::new(&folder).join(format!("state{number}")));
    let read = |state: &Path, what: &str| {
        std::fs::read_to_string(state.join(what)).unwrap_or_default().trim().to_owned()
    };
    let states = states.take_while(|state| state.exists()).map(|state| of(&|what: &str| read(&state, what)));
    let states: Vec<String> = states.collect();
    if states.is_empty() {
        facts.miss(name, &folder, "no idle state is listed");
    } else {
        facts.know(name, &folder, states.join("; "));
    }
}

fn mitigations(facts: &mut Environment, root: &str) {
    let folder = format!("{root}/vulnerabilities");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        if text.trim() != "Not affected" {
            found.push(format!("{}: {}", entry.file_name().display(), text.trim()));
        }
    }
    found.sort();
    if Path::new(&folder).exists() {
        facts.know("cpu.mitigations", &folder, found.join("; "));
    } else {
        facts.miss("cpu.mitigations", &folder, "not listed by this kernel");
    }
}

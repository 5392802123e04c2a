//! A machine's losses, as text, JSON and OpenMetrics.

use crate::fold::{shortened, wrapped};
use crate::number::{self, percent, time};
use crate::suggest::command;
use anstyle::{AnsiColor, Style};
use std::fmt::Write;
use tickmark_analysis::doctor::{Before, Cost, Diagnosis, Evidence, ObservedValue, Outcome, Promise, Saved};
use tickmark_wire::text::quoted;

const HEADING: Style = Style::new().bold();
const FOUND: Style = AnsiColor::Yellow.on_default();

/// Words for a check: its subject, and the advice.
pub(crate) struct Words {
    pub(crate) title: &'static str,
    pub(crate) advice: &'static str,
}

/// The words of a check.
pub(crate) fn words(name: &str) -> Words {
    let (title, advice) = match name {
        "slow-clock" => (
            "slow clock source",
            "choose tsc if the kernel offers it (clocksource=tsc on the command line); where the kernel gave the TSC up, its log says why: a firmware \
             update, or tsc=reliable where the counters are known to agree",
        ),
        "clock-through-kernel" => (
            "clock reads go through the kernel",
            "a clock source that the vDSO can read (tsc; kvm-clock and xen with a stable TSC), no vdso=0, and no sandbox in between",
        ),
        "clocks-apart" => (
            "clocks of two CPUs differ",
            "update the firmware, or let the kernel choose another clock source: timestamps of two CPUs cannot be ordered",
        ),
        "tick-share" => (
            "much CPU time is lost to the tick",
            "a kernel with a lower HZ, or nohz_full for CPUs that compute; `tickmark tick --hz-what-if 100` predicts what that gains",
        ),
        "tick-never-stops" => {
            ("an idle CPU keeps ticking", "a kernel with NO_HZ_IDLE, and no nohz=off on its command line")
        }
        "nohz-full-broken" => (
            "nohz_full CPU is interrupted",
            "move interrupts (/proc/irq/*/smp_affinity), RCU callbacks (rcu_nocbs=) and kernel threads away; more than one task on the CPU brings its \
             tick back",
        ),
        "timer-slack" => (
            "timer slack lets wake-ups be late",
            "prctl(PR_SET_TIMERSLACK, 1) in the program, or systemd's TimerSlackNSec=; real-time priorities and timerfd have none",
        ),
        "deep-idle" => (
            "idle states that take long to leave",
            "hold /dev/cpu_dma_latency open with a limit, or cpupower idle-set -D 50, where wake-ups matter more than power",
        ),
        "governor" => {
            ("the frequency governor saves power", "cpupower frequency-set -g performance (or schedutil)")
        }
        "mitigations" => (
            "mitigations make system calls slower",
            "boot once with mitigations=off to measure what they cost; newer processors need fewer. Turning them off is a security decision",
        ),
        "huge-pages-off" => (
            "huge pages are off",
            "madvise in /sys/kernel/mm/transparent_hugepage/enabled for programs with much memory",
        ),
        "steal" => (
            "the hypervisor takes CPU time (steal)",
            "fewer virtual CPUs on the host, a machine with CPUs of its own, or pinning on the host",
        ),
        "noisy-neighbour" => (
            "CPU time in which nothing of this kernel ran",
            "on a guest ask who runs the host: its ticks, interrupts and other guests take this; on bare metal look at the firmware's settings (SMI)",
        ),
        "interrupts-here" => (
            "device interrupts on this CPU",
            "move them to other CPUs: /proc/irq/N/smp_affinity_list, irqbalance's banned CPUs, RPS off for this CPU",
        ),
        "busy-cpu" => (
            "other tasks run on the CPU",
            "another CPU (--cpu), a real-time priority, isolcpus= or a cpuset: the figures of a shared CPU are not its own",
        ),
        "pressure" => (
            "tasks wait for resources (pressure)",
            "less load, or more CPUs, memory or disks: /proc/pressure says which is short",
        ),
        "throttled" => (
            "the cgroup's quota stops its tasks",
            "a larger quota (cpu.max), a longer period, or fewer threads: all of them use up one quota",
        ),
        "real-time-limits" => (
            "real-time priorities are limited",
            "a task at a real-time priority that does not sleep loses a part of each period (50 ms of each second by default) to ordinary tasks; a budget \
                in cpu.rt_runtime_us of the cgroup, an rtprio limit, or sched_rt_runtime_us = -1 where no task can run away; since Linux 6.12 \
                also 0 in /sys/kernel/debug/sched/fair_server/cpuN/runtime, which gives other tasks a part of each second",
        ),
        _ => ("", ""),
    };
    Words { title, advice }
}

/// Title of a check; its name where this version does not know it.
pub(crate) fn title(name: &str) -> &str {
    match words(name).title {
        "" => name,
        title => title,
    }
}

/// Advice for a check.
pub(crate) fn advice(name: &str) -> &'static str {
    words(name).advice
}

/// A finding in a line: what it is, what it costs, by what it was seen.
#[must_use]
pub fn line(one: &Diagnosis) -> String {
    let cost = match &one.outcome {
        Outcome::Found(Some(cost)) => format!(", {}", self::cost(*cost)),
        _ => String::new(),
    };
    let observed: Vec<String> = one
        .evidence
        .iter()
        .map(|evidence| short(&in_words(&evidence.name), &value(&evidence.value)))
        .collect();
    format!("{}{cost} ({})", title(one.name), observed.join(", "))
}

/// All of it for a person; with the values of what is fine.
#[must_use]
pub fn text(all: &[Diagnosis]) -> String {
    let mut out = String::new();
    let found: Vec<&Diagnosis> = all.iter().filter(|one| matches!(one.outcome, Outcome::Found(_))).collect();
    if found.is_empty() {
        let _ = writeln!(out, "{HEADING}{}{HEADING:#}", nothing_found(all));
    } else {
        let _ = writeln!(
            out,
            "{HEADING}Found{HEADING:#} (most expensive first, at an assumed 100,000 calls and 1,000 wake-ups/s):"
        );
    }
    for (number, one) in found.iter().enumerate() {
        let Words { title, advice } = words(one.name);
        let cost = match &one.outcome {
            Outcome::Found(Some(cost)) => format!(": {}", self::cost(*cost)),
            _ => String::new(),
        };
        let _ = writeln!(out, "\n{}. {FOUND}{title}{FOUND:#}{cost}", number + 1);
        for evidence in &one.evidence {
            let _ = writeln!(out, "{}", wrapped(&self::evidence(evidence), 5).join("\n"));
        }
        let _ = writeln!(out, "{}", wrapped(&format!("do: {advice}"), 3).join("\n"));
        let check = format!("check: {}{}", command(&format!("doctor --only {}", one.name)), proof(one));
        let _ = writeln!(out, "{}", wrapped(&check, 3).join("\n"));
        if ["slow-clock", "clock-through-kernel"].contains(&one.name) {
            let _ = writeln!(out, "   what it costs your service: {}", command("dose --url URL -- SERVER"));
            let _ =
                writeln!(out, "   or: {}", command("experiment clocksource=available --command ./bench.sh"));
        }
    }
    section(&mut out, all, "Not visible here (this is not the same as fine)", |one| match &one.outcome {
        Outcome::NotVisible(why) => Some(why.clone()),
        _ => None,
    });
    let values = |one: &Diagnosis| -> String {
        let each = one.evidence.iter();
        let each = each
            .map(|evidence| short(&in_words(&evidence.name), &value(&evidence.value)) + &before(evidence));
        each.collect::<Vec<_>>().join(", ")
    };
    section(&mut out, all, "Usual on Linux, and it costs something", |one| match &one.outcome {
        Outcome::Usual(cost) => {
            let cost = cost.map_or_else(String::new, |cost| format!("up to {}; ", self::cost(cost)));
            Some(format!("{cost}{}; to change it: {}{}", values(one), words(one.name).advice, proof(one)))
        }
        _ => None,
    });
    section(&mut out, all, "Fine", |one| matches!(one.outcome, Outcome::Fine).then(|| values(one)));
    out
}

/// The conclusion where nothing was found: it is worth as much as was checked.
fn nothing_found(all: &[Diagnosis]) -> String {
    let blind = all.iter().filter(|one| matches!(one.outcome, Outcome::NotVisible(_))).count();
    match all.len() - blind {
        0 => "No check could be made: nothing that they need was recorded.".to_owned(),
        made if blind == 0 => format!("Nothing found by {}.", number::count(made as u32, "check")),
        made => format!("Nothing found by {made} of {} checks; {blind} could not be made.", all.len()),
    }
}

fn proof(one: &Diagnosis) -> String {
    one.proof.as_ref().map_or_else(String::new, |proof| {
        let cpu = proof.cpu.map_or_else(String::new, |cpu| format!(" --cpu {cpu}"));
        format!("; prove: {}", command(&format!("experiment {} {}{cpu}", quoted(&proof.knob), proof.probe)))
    })
}

fn section(out: &mut String, all: &[Diagnosis], heading: &str, of: impl Fn(&Diagnosis) -> Option<String>) {
    let own: Vec<(&str, String)> = all.iter().filter_map(|one| Some((one.name, of(one)?))).collect();
    if own.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{HEADING}{heading}{HEADING:#}");
    for (name, text) in own {
        let text = if text.is_empty() { words(name).title.to_owned() } else { text };
        let line = wrapped(&format!("{name}: {text}"), 4).join("\n");
        let _ = writeln!(out, "  {}", line.trim_start());
    }
}

/// Long values say little where nothing was found.
fn short(name: &str, value: &str) -> String {
    format!("{name} {}", shortened(value, 40))
}

fn cost(cost: Cost) -> String {
    match cost {
        Cost::Share(share) => format!("{} of a CPU", percent(share)),
        Cost::Call(nanos) => format!("{} at each call", time(nanos)),
        Cost::WakeUp(nanos) => format!("{} at each wake-up", time(nanos)),
    }
}

/// A name of evidence: who took the CPU in words, and everything else by the name that `list` has it under.
fn in_words(name: &str) -> String {
    let Some(taker) = name.strip_prefix("lost to ") else { return name.to_owned() };
    match (taker, taker.strip_prefix("outside, train of ")) {
        (_, Some(rate)) => format!("lost outside of this kernel, periodic, {rate}"),
        ("outside, steal", _) => "lost to the hypervisor (steal)".to_owned(),
        ("unseen", _) => "lost while nothing of this kernel ran".to_owned(),
        ("task", _) => "lost to other tasks".to_owned(),
        ("tick", _) => "lost to the tick".to_owned(),
        _ => name.to_owned(),
    }
}

fn evidence(evidence: &Evidence) -> String {
    let source = if evidence.source.is_empty() { String::new() } else { format!(" ({})", evidence.source) };
    format!("{}: {}{source}{}", in_words(&evidence.name), value(&evidence.value), before(evidence))
}

/// Earlier value on this machine, in words.
fn before(evidence: &Evidence) -> String {
    let Some(Before { low, high, recordings }) = evidence.before else { return String::new() };
    let of = |number: f64| match evidence.value {
        ObservedValue::Share(_) => percent(number),
        ObservedValue::Rate(_) => format!("{number:.1}"),
        ObservedValue::Time(_) | ObservedValue::Text(_) => time(number),
    };
    format!(" [before: {} to {} in {recordings} recordings]", of(low), of(high))
}

fn value(observed: &ObservedValue) -> String {
    match observed {
        ObservedValue::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        ObservedValue::Time(nanos) => time(*nanos),
        ObservedValue::Share(share) => percent(*share),
        ObservedValue::Rate(rate) => format!("{rate:.1} a second"),
    }
}

/// For scrapers: 1 where something was found, 0 where it was not; what cannot be seen has no sample.
#[must_use]
pub fn open_metrics(all: &[Diagnosis]) -> String {
    let mut out = String::from(
        "# TYPE tickmark_finding gauge\n# HELP tickmark_finding Whether tickmark doctor found it here; absent where that cannot be seen.\n",
    );
    for one in all {
        let found = match one.outcome {
            Outcome::Found(_) => 1,
            Outcome::Fine | Outcome::Usual(_) => 0,
            Outcome::NotVisible(_) => continue,
        };
        let _ = writeln!(out, "tickmark_finding{{name=\"{}\"}} {found}", one.name);
    }
    out.push_str("# TYPE tickmark_finding_cost gauge\n# HELP tickmark_finding_cost What it costs: a share of a CPU, or seconds at each call or wake-up.\n");
    for one in all {
        if let Outcome::Found(Some(cost)) = one.outcome {
            let (per, value) = match cost {
                Cost::Share(share) => ("cpu", share),
                Cost::Call(nanos) => ("call", nanos / 1e9),
                Cost::WakeUp(nanos) => ("wake_up", nanos / 1e9),
            };
            let _ = writeln!(out, "tickmark_finding_cost{{name=\"{}\",per=\"{per}\"}} {value}", one.name);
        }
    }
    out.push_str("# EOF\n");
    out
}

/// Whether what a cause promised came, a line each.
#[must_use]
pub fn promises(cause: &str, promises: &[Promise]) -> String {
    if promises.is_empty() {
        return format!("whether what {cause} took is saved is not known: too few runs saw it\n");
    }
    let one = |promise: &Promise| {
        let (what, text): (_, fn(f64) -> String) = match promise.what {
            Saved::Lost => ("less of the CPU is lost", |share| format!("{:.1} %", 100.0 * share)),
            Saved::WakeUpP99 => ("99 % of wake-ups are at most this late", time),
            Saved::WakeUpP999 => ("99.9 % of wake-ups are at most this late", time),
        };
        let interval = |[low, value, high]: [f64; 3]| {
            let signed = |value: f64| if value < 0.0 { format!("-{}", text(-value)) } else { text(value) };
            format!("{} ({} to {})", signed(value), signed(low), signed(high))
        };
        let held = if promise.held() { "it held" } else { "it did not hold" };
        let line = format!(
            "without {cause}, {what}: promised {}, measured {}: {held}",
            interval(promise.promised),
            interval(promise.measured)
        );
        wrapped(&line, 2).join("\n").trim_start().to_owned() + "\n"
    };
    promises.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_words() {
        for check in tickmark_analysis::doctor::checks() {
            let Words { title, advice } = words(check.name);
            assert!(!title.is_empty() && !advice.is_empty(), "{}", check.name);
        }
    }

    #[test]
    fn a_proof_can_be_typed() {
        let knob = "/sys/fs/cgroup/a/cpu.max=50000 100000,max 100000".to_owned();
        let proof =
            Some(tickmark_analysis::doctor::Proof { knob, probe: "tick", cpu: Some(1), removes: None });
        let outcome = Outcome::Found(None);
        let text = super::proof(&Diagnosis { name: "throttled", outcome, evidence: Vec::new(), proof });
        assert!(
            text.contains("experiment '/sys/fs/cgroup/a/cpu.max=50000 100000,max 100000' tick --cpu 1"),
            "{text}"
        );
    }

    #[test]
    fn who_took_the_cpu_is_said_in_words_and_a_fact_by_its_name() {
        for (name, words) in [
            ("lost to outside, steal", "lost to the hypervisor (steal)"),
            ("lost to outside, train of 100.000 Hz", "lost outside of this kernel, periodic, 100.000 Hz"),
            ("lost to unseen", "lost while nothing of this kernel ran"),
            ("lost to sh (17)", "lost to sh (17)"),
            ("clock.source", "clock.source"),
        ] {
            assert_eq!(in_words(name), words);
        }
    }
}

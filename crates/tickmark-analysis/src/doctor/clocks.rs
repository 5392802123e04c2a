//! Clocks and ticks.

use super::{Check, Cost, Diagnosis, ObservedValue, Patient, looked, measured};
use crate::noise::GapCause;
use tickmark_wire::{Environment, Nanos, Priority, names};

const READ: &str = "clock.monotonic.read";
const SYSCALL: &str = "clock.monotonic.syscall";
const COUNTER: &str = "clock.tsc.plain";

pub(super) const CHECKS: &[Check] = &[
    Check { name: "slow-clock", probes: &[READ, SYSCALL, COUNTER], look: slow_clock },
    Check { name: "clock-through-kernel", probes: &[READ, SYSCALL, COUNTER], look: through_kernel },
    Check { name: "clocks-apart", probes: &[names::BETWEEN_CPUS], look: apart },
    Check { name: "tick-share", probes: &[names::TICK], look: tick_share },
    Check { name: "tick-never-stops", probes: &[], look: periodic },
    Check { name: "nohz-full-broken", probes: &[names::TICK], look: nohz_full },
    Check { name: "timer-slack", probes: &[names::SLEEP], look: slack },
];

/// Clock sources behind a bus or a hypervisor's call, and such as only step with the tick.
const SLOW: [&str; 6] = ["hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies", "i8253"];
/// A read that takes this share of the system call went through the kernel, or took as long.
const KERNEL_PATH: f64 = 0.7;
/// A tick that takes more is worth a change.
const SHARE: f64 = 0.01;
/// Slack that is a smaller part of the wake-up latency is not what delays them.
const SLACK: f64 = 0.1;
/// Fewer interruptions are the kernel's housekeeping in a short run.
const FEW: usize = 5;
/// Clocks of two CPUs this far apart give wrong orders, in ns.
const APART: f64 = 1_000.0;

/// Cost of a read beyond that of the processor's counter.
fn beyond_counter(patient: &Patient<'_>) -> Result<(f64, f64), String> {
    let read = patient.point(READ)?;
    Ok((read, (read - patient.point(COUNTER).unwrap_or(0.0)).max(0.0)))
}

fn slow_clock(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "slow-clock";
    looked(NAME, || {
        let source = patient.fact("clock.source")?;
        let (read, beyond) = beyond_counter(patient)?;
        let mut evidence: Vec<_> = ["clock.source", "clock.sources", "clock.unstable"]
            .into_iter()
            .filter_map(|name| patient.shown(name))
            .collect();
        evidence.push(measured(READ, ObservedValue::Time(read)));
        let found = SLOW.contains(&source);
        let diagnosis = Diagnosis::found_or_fine(NAME, found, Some(Cost::Call(beyond)), evidence);
        let sources = patient.fact("clock.sources").unwrap_or_default();
        let better =
            ["tsc", "kvm-clock"].into_iter().find(|better| sources.split(' ').any(|one| one == *better));
        Ok(match better {
            Some(better) => diagnosis.proved_by(format!("clocksource={source},{better}"), READ),
            None => diagnosis,
        })
    })
}

fn through_kernel(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "clock-through-kernel";
    looked(NAME, || {
        let (read, beyond) = beyond_counter(patient)?;
        let call = patient.point(SYSCALL)?;
        let mut evidence: Vec<_> =
            ["kernel.vdso", "clock.source"].into_iter().filter_map(|name| patient.shown(name)).collect();
        evidence.push(measured(READ, ObservedValue::Time(read)));
        evidence.push(measured(SYSCALL, ObservedValue::Time(call)));
        // A slow source is slow in both ways: that is another finding.
        let slow = patient.fact("clock.source").is_ok_and(|source| SLOW.contains(&source));
        // Without what the counter itself takes, which traps on some machines.
        let counter = read - beyond;
        let found = beyond > KERNEL_PATH * (call - counter) && !slow;
        Ok(Diagnosis::found_or_fine(NAME, found, Some(Cost::Call(beyond)), evidence))
    })
}

fn apart(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "clocks-apart";
    looked(NAME, || {
        let of = |figure: &str| patient.point(&format!("{}.{figure}", names::BETWEEN_CPUS));
        let row = patient.row(&format!("{}.backwards", names::BETWEEN_CPUS));
        let (steps, offset) = (row.ok_or("clocks of two CPUs were not compared")?.total(), of("offset")?);
        let evidence = vec![
            measured(
                &format!("{}.backwards", names::BETWEEN_CPUS),
                ObservedValue::Text(format!("{steps:.0} steps")),
            ),
            measured(&format!("{}.offset", names::BETWEEN_CPUS), ObservedValue::Time(offset)),
        ];
        Ok(Diagnosis::found_or_fine(NAME, steps > 0.0 || offset.abs() > APART, None, evidence))
    })
}

/// The share of the CPU that the tick takes, where rate and cost are both known to be its own.
fn own_tick(patient: &Patient<'_>) -> Result<(f64, f64, f64), String> {
    let row = patient.row(&format!("{}.rate", names::TICK)).ok_or("the tick was not measured")?;
    if row.unconfirmed {
        return Err("no count of timer interrupts confirms the tick".to_owned());
    }
    let of = |figure: &str| patient.point(&format!("{}.{figure}", names::TICK));
    Ok((of("rate")?, of("cost")?, of("share")?))
}

fn tick_share(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "tick-share";
    looked(NAME, || {
        let (rate, cost, share) = own_tick(patient)?;
        let evidence = vec![
            measured("tick.rate", ObservedValue::Rate(rate)),
            measured("tick.cost", ObservedValue::Time(cost)),
            measured("tick.share", ObservedValue::Share(share)),
        ];
        Ok(Diagnosis::found_or_fine(NAME, share > SHARE, Some(Cost::Share(share)), evidence))
    })
}

fn periodic(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "tick-never-stops";
    looked(NAME, || {
        let stops = stops_while_idle(patient.facts).ok_or("the kernel's configuration cannot be read")?;
        let evidence = ["kernel.config.NO_HZ_COMMON", "kernel.config.HZ_PERIODIC", "kernel.command_line"];
        let evidence = evidence.into_iter().filter_map(|name| patient.shown(name)).collect();
        Ok(Diagnosis::found_or_fine(NAME, !stops, None, evidence))
    })
}

/// Whether the tick of an idle CPU stops; none where neither the command line nor the configuration says.
pub(crate) fn stops_while_idle(facts: &Environment) -> Option<bool> {
    let line = facts.get("kernel.command_line").unwrap_or_default();
    if line.split(' ').any(|word| ["nohz=off", "nohz=0"].contains(&word)) {
        return Some(false);
    }
    let set = |option: &str| facts.get(&format!("kernel.config.{option}")) == Some("y");
    facts.get("kernel.config.HZ")?;
    Some(!set("HZ_PERIODIC") && (set("NO_HZ_COMMON") || set("NO_HZ_IDLE")))
}

/// A CPU that should have no tick, and has interruptions of this kernel all the same.
fn nohz_full(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "nohz-full-broken";
    looked(NAME, || {
        let list = patient.fact("cpu.nohz_full")?;
        let cpu = patient.fact("cpu.measured")?;
        if list.is_empty() || list == "(null)" {
            return Err("no CPU is in nohz_full".to_owned());
        }
        if !in_list(list, cpu) {
            let why = format!("CPU {cpu}, which was watched, is none of nohz_full ({list})");
            return Err(why);
        }
        let noise = patient.noise.as_ref().ok_or("no loop watched the CPU")?;
        let seconds = noise.span / 1e9;
        let own = noise.kinds.iter().filter(|kind| {
            !matches!(
                kind.what,
                GapCause::Outside(_) | GapCause::Unseen | GapCause::Unknown | GapCause::Fault
            )
        });
        let mut evidence: Vec<_> = patient.shown("cpu.nohz_full").into_iter().collect();
        let (mut rate, mut share, mut all) = (0.0, 0.0, 0);
        for kind in own {
            let times = kind.count as f64 / seconds;
            (rate, share, all) = (rate + times, share + kind.total / noise.span, all + kind.count);
            evidence.push(measured(&format!("lost to {}", kind.what.code()), ObservedValue::Rate(times)));
        }
        // One a second is the kernel's own housekeeping.
        Ok(Diagnosis::found_or_fine(NAME, rate > 2.0 && all >= FEW, Some(Cost::Share(share)), evidence))
    })
}

/// True if a list such as `1-3,7` names a CPU.
fn in_list(list: &str, cpu: &str) -> bool {
    let listed = tickmark_wire::text::list(list).unwrap_or_default();
    cpu.parse().is_ok_and(|cpu| listed.contains(&cpu))
}

/// The slack of every task that nobody changed, in ns (prctl(2), PR_SET_TIMERSLACK).
const DEFAULT_SLACK: f64 = 50_000.0;

fn slack(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "timer-slack";
    looked(NAME, || {
        let late = patient.point(names::SLEEP)?;
        let system: f64 = patient.fact("clock.slack_ns")?.parse().map_err(|_| "the slack is no number")?;
        let session = patient.recording.sessions.first().ok_or("nothing was measured")?;
        if session.settled.priority != Priority::Other {
            return Err("measured at a real-time priority, which has no slack".to_owned());
        }
        let nanos = session.settings.slack.map_or(system, Nanos::as_f64);
        let evidence = patient.shown("clock.slack_ns").into_iter();
        let evidence = evidence.chain([measured(names::SLEEP, ObservedValue::Time(late))]).collect();
        let diagnosis =
            Diagnosis::found_or_fine(NAME, nanos > SLACK * late, Some(Cost::WakeUp(nanos)), evidence);
        let diagnosis = diagnosis.usual(nanos <= DEFAULT_SLACK);
        Ok(diagnosis.proved_by(format!("slack={nanos:.0}ns,1ns"), names::SLEEP))
    })
}

#[cfg(test)]
mod tests {
    use super::in_list;

    #[test]
    fn lists_of_cpus_are_read() {
        assert!(in_list("1-3,7", "2") && in_list("1-3,7", "7") && in_list("0", "0"));
        assert!(!in_list("1-3,7", "4") && !in_list("", "0") && !in_list("(null)", "0") && !in_list("1", "x"));
    }
}

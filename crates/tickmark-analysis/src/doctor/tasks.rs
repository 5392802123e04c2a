//! Who else has the CPU: the hypervisor, other tasks, interrupts, and what limits this one.

use super::{Check, Cost, Diagnosis, Evidence, ObservedValue, Patient, Proof, looked, measured};
use crate::noise::{Cause, GapCause, OTHER_TASKS, REAL_TIME_THREADS, Witness};
use tickmark_wire::{Environment, Priority, names};

pub(super) const CHECKS: &[Check] = &[
    Check { name: "steal", probes: &[names::TICK], look: steal },
    Check { name: "noisy-neighbour", probes: &[names::TICK], look: outside },
    Check { name: "interrupts-here", probes: &[names::TICK], look: interrupts },
    Check { name: "busy-cpu", probes: &[names::TICK], look: busy },
    Check { name: "pressure", probes: &[], look: pressure },
    Check { name: "throttled", probes: &[], look: throttled },
    Check { name: "real-time-limits", probes: &[], look: real_time },
];

/// Share of the time below which a loss is normal.
const SHARE: f64 = 0.01;
/// Interrupts that take more of a CPU are worth another one.
const INTERRUPTS: f64 = 0.002;
/// Soft interrupts that devices' interrupts bring.
const DEVICES: [&str; 3] = ["NET_RX", "NET_TX", "BLOCK"];
/// Tasks that wait for a CPU for more of the time.
const PRESSURE: f64 = 0.1;
/// Periods in which a quota ended a turn.
const PERIODS: f64 = 0.01;

/// Where a smaller part of the lost time has a name, as events were dropped, the counters are asked.
const KNOWN: f64 = 0.95;
/// A cause is worth a proof from this share of the CPU on.
const LARGE: f64 = 0.002;
/// Threads of the kernel that cannot be moved and wait for a task in real time; and those whose soft interrupts do not wait.
const WORKERS: [&str; 3] = ["kworker/", "cpuhp/", "backlog_napi/"];
const SOFT_INTERRUPTS: &str = "ksoftirqd/";
/// Causes of a kind that are told by name, the largest.
const NAMED: usize = 5;

/// The share of the watched CPU that went to some causes, and the largest of them: by the kernel's events where they were recorded, else by its counters;
/// under `none` where there are none.
fn lost(
    patient: &Patient<'_>,
    none: &str,
    by_events: impl Fn(&Cause) -> bool,
    by_counters: impl Fn(&GapCause) -> bool,
) -> Result<(f64, Vec<Evidence>), String> {
    let noise = patient.noise.as_ref().ok_or("no loop watched the CPU")?;
    let shares: Vec<(String, f64)> = if let Some(witness) = knowing_witness(patient) {
        let own = witness.takers.iter().filter(|taker| by_events(&taker.cause));
        own.map(|taker| (taker.cause.words(), taker.net(witness.event_cost) / witness.span)).collect()
    } else {
        let own = noise.kinds.iter().filter(|kind| by_counters(&kind.what));
        own.map(|kind| (kind.what.code(), kind.total / noise.span)).collect()
    };
    let each =
        |(name, share): &(String, f64)| measured(&format!("lost to {name}"), ObservedValue::Share(*share));
    let mut evidence: Vec<Evidence> = shares.iter().take(NAMED).map(each).collect();
    if evidence.is_empty() {
        evidence.push(measured(none, ObservedValue::Share(0.0)));
    }
    Ok((shares.iter().map(|(_, share)| share).sum(), evidence))
}

/// What the kernel's own events said, where they name enough of the lost time.
fn knowing_witness<'a>(patient: &'a Patient<'_>) -> Option<&'a Witness> {
    let witness = patient.noise.as_ref()?.witness.as_ref()?.as_ref().ok();
    witness.filter(|own| own.named()[0] >= KNOWN)
}

/// A proof that what the largest of some causes took can be saved, where the kernel's events say which it is. `knob` gives, of a cause and the watched CPU, what
/// to change and the name of what that removes.
fn removal(patient: &Patient<'_>, knob: impl Fn(&Cause, u32) -> Option<[String; 2]>) -> Option<Proof> {
    let witness = knowing_witness(patient).filter(|own| !own.foreign)?;
    let cpu = patient.recording.sessions.first()?.settled.cpu;
    let large = witness.takers.iter().filter(|taker| taker.net(witness.event_cost) > LARGE * witness.span);
    let [knob, removed] = large.into_iter().find_map(|taker| knob(&taker.cause, cpu))?;
    Some(Proof { knob, probe: names::TICK, cpu: Some(cpu), removes: Some(removed) })
}

/// By the kernel's account of the CPU, over everything that was measured.
fn steal(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "steal";
    looked(NAME, || {
        let end = patient.end.ok_or("the end of the recording is missing")?;
        let times = |facts: &Environment| -> Option<Vec<f64>> {
            facts.get("state.cpu_times")?.split_whitespace().map(|field| field.parse().ok()).collect()
        };
        // Of the session that ended with it: of another boot or CPU they are other counters.
        let session = patient.recording.sessions.len() == 1;
        let both = times(patient.facts)
            .zip(times(end))
            .filter(|(a, b)| session && a.len() > 7 && a.len() == b.len());
        let (before, after) = both.ok_or("/proc/stat does not account for steal over one session")?;
        let spent: Vec<f64> =
            after.iter().zip(&before).map(|(after, before)| (after - before).max(0.0)).collect();
        if after[7] == 0.0 {
            return Err("/proc/stat has counted no steal since the boot: a machine of its own, or a hypervisor that does not tell".to_owned());
        }
        // The guest's time is in the user's already (proc_stat(5)).
        let all: f64 = spent.iter().take(8).sum();
        let share = if all > 0.0 { spent[7] / all } else { 0.0 };
        let evidence = vec![Evidence {
            name: "steal".to_owned(),
            value: ObservedValue::Share(share),
            source: "/proc/stat".to_owned(),
            before: None,
        }];
        // A step of 10 ms is no share of a short run.
        let found = share > SHARE && spent[7] > 2.0;
        Ok(Diagnosis::found_or_fine(NAME, found, Some(Cost::Share(share)), evidence))
    })
}

/// Time that no counter of this kernel knows of: a neighbour on the host, its ticks, firmware.
fn outside(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "noisy-neighbour";
    looked(NAME, || {
        let is_outside = |cause: &Cause| *cause == Cause::Outside;
        let (share, evidence) = lost(patient, "lost outside this kernel", is_outside, |what| {
            matches!(what, GapCause::Outside(_) | GapCause::Unseen)
        })?;
        Ok(Diagnosis::found_or_fine(NAME, share > SHARE, Some(Cost::Share(share)), evidence))
    })
}

fn interrupts(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "interrupts-here";
    looked(NAME, || {
        // Interrupts that CPUs send each other cannot be moved: devices' have a number.
        let device = |what: &GapCause| match what {
            GapCause::Interrupt(line) => line.starts_with(|first: char| first.is_ascii_digit()),
            GapCause::SoftInterrupt(line) => DEVICES.contains(&line.as_str()),
            _ => false,
        };
        let by_events = |cause: &Cause| match cause {
            Cause::Device { .. } => true,
            Cause::SoftInterrupt(name) => DEVICES.contains(&name.as_str()),
            _ => false,
        };
        let (share, mut evidence) = lost(patient, "lost to devices", by_events, device)?;
        evidence.extend(patient.shown("interrupts.on_cpu"));
        let found = Diagnosis::found_or_fine(NAME, share > INTERRUPTS, Some(Cost::Share(share)), evidence);
        Ok(found.removed_by(removal(patient, |cause, cpu| match cause {
            Cause::Device { number, .. } => Some([format!("irq:{number}=now,not:{cpu}"), cause.words()]),
            _ => None,
        })))
    })
}

fn busy(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "busy-cpu";
    looked(NAME, || {
        let (share, evidence) = lost(
            patient,
            "lost to task",
            // A worker's function is its task's time.
            |cause| matches!(cause, Cause::Task { .. } | Cause::Work(_)),
            |what| *what == GapCause::Task,
        )?;
        let found = Diagnosis::found_or_fine(NAME, share > SHARE, Some(Cost::Share(share)), evidence);
        Ok(found.removed_by(removal(patient, |cause, cpu| {
            let priority = || {
                // A loop that has a priority already was left by what has a higher one, or by the reserve for others.
                let settings = &patient.recording.sessions.first()?.settings;
                let priority = ["policy=other,fifo:1", OTHER_TASKS].map(str::to_owned);
                (settings.priority == Priority::Other).then_some(priority)
            };
            let (name, thread) = match cause {
                Cause::Task { name, thread, .. } => (name, thread),
                Cause::Work(_) => return priority(),
                _ => return None,
            };
            let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
            if starts(&WORKERS) {
                return priority();
            }
            let is_bound = starts(&REAL_TIME_THREADS) || name.starts_with(SOFT_INTERRUPTS);
            (!is_bound).then(|| [format!("affinity:{thread}=now,not:{cpu}"), cause.words()])
        })))
    })
}

/// `some avg10=9.38 avg60=...; full ...`
fn pressure(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "pressure";
    looked(NAME, || {
        let mut evidence = Vec::new();
        let mut most = 0.0f64;
        for what in ["cpu", "memory", "io"] {
            let name = format!("state.pressure.{what}");
            let text = patient.fact(&name)?;
            let average =
                text.split_whitespace().find_map(|word| word.strip_prefix("avg60=")?.parse::<f64>().ok());
            let share = average.ok_or_else(|| format!("{name} has no avg60"))? / 100.0;
            most = most.max(share);
            let value = ObservedValue::Share(share);
            evidence.push(Evidence { value, ..patient.shown(&name).ok_or("not recorded")? });
        }
        // A share of time in which some task waited is no share of a CPU.
        Ok(Diagnosis::found_or_fine(NAME, most > PRESSURE, None, evidence))
    })
}

/// A number of cgroup's cpu.stat: `nr_throttled 5; throttled_usec 7`.
fn count(text: &str, name: &str) -> Option<f64> {
    text.split(';').find_map(|entry| entry.trim().strip_prefix(name)?.trim().parse().ok())
}

/// True if a fact is how often a quota was used up, of the own cgroup or of one above it.
fn is_throttling(name: &str) -> bool {
    name.starts_with("state.cgroup.") && name.ends_with("cpu.stat")
}

fn throttled(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "throttled";
    looked(NAME, || {
        patient.fact(NEAREST)?;
        let of = |text: &str| -> Option<[f64; 3]> {
            let micros = count(text, "throttled_usec").or_else(|| Some(count(text, "throttled_time")? / 1e3));
            Some([count(text, "nr_periods")?, count(text, "nr_throttled")?, micros?])
        };
        // Of every group with a quota, the one that stopped its tasks for longest.
        let stats = patient.facts.iter().filter(|(name, _)| is_throttling(name));
        let spans = stats.filter_map(|(name, fact)| {
            let text = fact.value.as_deref()?;
            let end = patient.end.and_then(|facts| facts.get(name)).unwrap_or(text);
            Some((name, of(text)?, of(end)?))
        });
        let (group, before, after) = spans
            .max_by(|(_, a, b), (_, c, d)| (b[2] - a[2]).total_cmp(&(d[2] - c[2])))
            .ok_or("cpu.stat has no nr_throttled")?;
        let [periods, times, micros] = [0, 1, 2].map(|at| (after[at] - before[at]).max(0.0));
        let files =
            ["cgroup.cpu.max", "cgroup.cpu.cfs_quota_us", "cgroup.cpu.cfs_period_us", "cgroup.cpu.quotas"];
        let mut evidence: Vec<_> = files.into_iter().filter_map(|name| patient.shown(name)).collect();
        let share = |times: f64, periods: f64| if periods > 0.0 { times / periods } else { 0.0 };
        for (name, value) in [
            ("periods that the quota ended while this was measured", share(times, periods)),
            ("since the cgroup was made", share(after[1], after[0])),
        ] {
            let source = "cpu.stat of the cgroup".to_owned();
            evidence.push(Evidence {
                name: name.to_owned(),
                value: ObservedValue::Share(value),
                source,
                before: None,
            });
        }
        // Summed over CPUs, over the time between the two readings.
        let uptime = |facts: &Environment| facts.get("state.uptime")?.split(' ').next()?.parse::<f64>().ok();
        let seconds = uptime(patient.facts).zip(patient.end.and_then(uptime)).map(|(a, b)| b - a);
        let cost =
            seconds.filter(|seconds| *seconds > 0.0).map(|seconds| Cost::Share(micros / 1e6 / seconds));
        let is_found = share(times, periods) > PERIODS && times > 1.0;
        let proof = lifted_quota(patient).filter(|_| group == NEAREST);
        Ok(Diagnosis::found_or_fine(NAME, is_found, cost, evidence).removed_by(proof))
    })
}

/// Counts of the nearest group that has a quota.
const NEAREST: &str = "state.cgroup.cpu.stat";

/// The quota of the own cgroup taken off, by either version of its file.
fn lifted_quota(patient: &Patient<'_>) -> Option<Proof> {
    let files = [("cgroup.cpu.max", "max"), ("cgroup.cpu.cfs_quota_us", "-1")];
    let knob = files.into_iter().find_map(|(name, none)| {
        let (_, fact) = patient.facts.iter().find(|(own, _)| *own == name)?;
        let now = fact.value.as_deref()?;
        let (quota, period) =
            now.split_once(' ').map_or((now, String::new()), |(quota, period)| (quota, format!(" {period}")));
        (quota != none).then(|| format!("{}={now},{none}{period}", fact.source))
    })?;
    let witness = patient.noise.as_ref().and_then(|noise| noise.witness.as_ref()?.as_ref().ok());
    let removes = witness.map(|_| GapCause::Quota.code());
    Some(Proof { knob, probe: names::TICK, cpu: None, removes })
}

/// Limits on real-time tasks: they are refused, or throttled in each period.
fn real_time(patient: &Patient<'_>) -> Diagnosis {
    const NAME: &str = "real-time-limits";
    looked(NAME, || {
        let runtime: f64 =
            patient.fact("sched.rt_runtime_us")?.parse().map_err(|_| "sched_rt_runtime_us is no number")?;
        let period = patient.fact("sched.rt_period_us").ok().and_then(|us| us.parse().ok()).unwrap_or(1e6);
        let names = [
            "sched.rt_runtime_us",
            "cgroup.cpu.rt_runtime_us",
            "sched.fair_server_ns",
            "process.rtprio_limit",
        ];
        let mut evidence: Vec<_> = names.into_iter().filter_map(|name| patient.shown(name)).collect();
        let session = patient.recording.sessions.first();
        let refused = session.and_then(|session| session.settled.priority_refused.as_deref());
        evidence.extend(refused.map(|why| measured("priority refused", ObservedValue::Text(why.to_owned()))));
        // It is a limit for those alone who ask for such a priority.
        let is_real_time = session.is_some_and(|session| session.settings.priority != Priority::Other);
        let no_budget = patient.fact("cgroup.cpu.rt_runtime_us") == Ok("0");
        let limited = (0.0..period).contains(&runtime);
        // A task of that priority that never sleeps gives its CPU to others all the same: the fair server does that since Linux 6.12, and
        // sched_rt_runtime_us did before.
        let had = patient.noise.as_ref().filter(|_| is_real_time && refused.is_none()).map_or(0.0, |noise| {
            noise
                .others()
                .filter(|(what, _)| **what == GapCause::RealTimeReserve)
                .map(|(_, share)| share)
                .sum()
        });
        let gave = had > SHARE;
        if gave {
            evidence
                .push(measured("taken from the real-time task by the reserve", ObservedValue::Share(had)));
        }
        let found = refused.is_some() || gave || (is_real_time && (no_budget || limited));
        Ok(Diagnosis::found_or_fine(NAME, found, gave.then_some(Cost::Share(had)), evidence))
    })
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts_of_a_cgroup_are_read_by_name() {
        let text = "usage_usec 10; nr_periods 200; nr_throttled 50; throttled_usec 1000000";
        assert_eq!([count(text, "nr_periods"), count(text, "nr_throttled")], [Some(200.0), Some(50.0)]);
        assert_eq!(count(text, "throttled_time"), None);
    }
}

//! Who took a CPU, by the kernel's own events, as text.

use crate::fold::wrapped;
use crate::grid::{fitting, lines};
use crate::noise::{HEADING, heat, share};
use crate::number::{count, percent, time};
use std::fmt::Write;
use tickmark_analysis::noise::{Cause, EventCounts, Occupancy, Taker, Witness, WitnessedGap};

/// Causes that have a row; the others are one.
const ROWS: usize = 16;
/// Causes whose time is shown over time.
const HEATED: usize = 5;
/// Parts of a gap that are told, the longest.
const PARTS: usize = 4;
/// Causes of which is said what would keep them away: those of so much of the lost time.
const REMEDIES: usize = 3;
const LARGE: f64 = 0.1;

/// What was found, in a line or two.
pub(crate) fn summary(witness: &Witness) -> String {
    let [named, _] = witness.named();
    let outside = witness.outside.1 / witness.lost.max(1.0);
    format!(
        "with the kernel's events recorded, alternately, for {:.2} s: {} lost; {} of that has a name, {} of it is outside of this kernel",
        witness.span / 1e9,
        share(witness.lost / witness.span),
        percent(named),
        percent(outside),
    )
}

/// Who took the CPU, when, and the longest gaps.
pub(crate) fn tables(witness: &Witness) -> String {
    let seconds = witness.span / 1e9;
    let mut out = String::new();
    let heading = ["who took the CPU", "of the CPU", "times/s", "median", "p99", "longest", "woken, set by"];
    let row = |taker: &Taker| {
        let at = |q| taker.lengths.quantile(q).map_or_else(String::new, time);
        vec![
            what(&taker.cause),
            share(taker.net(witness.event_cost) / witness.span),
            format!("{:.1}", taker.count as f64 / seconds),
            at(0.5),
            at(0.99),
            at(1.0),
            woken_by(taker),
        ]
    };
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(witness.takers.iter().take(ROWS).map(row));
    if let Some(others) = witness.takers.get(ROWS..).filter(|others| !others.is_empty()) {
        let time: f64 = others.iter().map(|taker| taker.net(witness.event_cost)).sum();
        let times: usize = others.iter().map(|taker| taker.count).sum();
        let mut row = vec![format!("{} others", others.len()), share(time / witness.span)];
        row.push(format!("{:.1}", times as f64 / seconds));
        row.resize(heading.len(), String::new());
        rows.push(row);
    }
    for (number, line) in fitting(&rows, &[1, 2, 3, 4, 5], &[4, 6, 3, 2, 5]).into_iter().enumerate() {
        let _ = if number == 0 {
            writeln!(out, "  {HEADING}{line}{HEADING:#}")
        } else {
            writeln!(out, "  {line}")
        };
    }
    let all = ("all".to_owned(), witness.over_time.clone());
    let of = |taker: &Taker| (what(&taker.cause), taker.over_time.clone());
    out += &heat(seconds, std::iter::once(all).chain(witness.takers.iter().take(HEATED).map(of)).collect());
    let _ = writeln!(out, "\n{HEADING}Longest{HEADING:#}");
    let row = |gap: &WitnessedGap| vec![format!("at {:.6} s", gap.start / 1e9), time(gap.length), parts(gap)];
    for line in lines(witness.longest().into_iter().map(row), [0, 1]) {
        let _ = writeln!(out, "  {}", wrapped(&line, 2).join("\n").trim_start());
    }
    out
}

/// Who had some CPUs where no loop looked for gaps.
pub(crate) fn occupancy(occupancy: &Occupancy) -> String {
    let whole = occupancy.known();
    if whole <= 0.0 {
        return "who had the CPUs is not known: events of one of them were dropped from the beginning\n"
            .to_owned();
    }
    let heading = ["by the kernel's events", "CPU time", "of one CPU", "times", "longest", "woken, set by"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    let row = |who: String, own: f64, takers: &[&Taker]| {
        let times: usize = takers.iter().map(|taker| taker.count).sum();
        vec![who, time(own), share(own / whole), times.to_string()]
    };
    let groups = occupancy.groups();
    for (own, group) in groups.iter().take(ROWS) {
        let longest = group.iter().filter_map(|taker| taker.lengths.quantile(1.0)).fold(0.0, f64::max);
        let woken_by = if group.len() == 1 { woken_by(group[0]) } else { String::new() };
        rows.push([row(group_name(group), *own, group), vec![time(longest), woken_by]].concat());
    }
    if let Some(others) = groups.get(ROWS..).filter(|others| !others.is_empty()) {
        let own = others.iter().map(|(own, _)| own).sum();
        let all: Vec<&Taker> = others.iter().flat_map(|(_, group)| group.iter().copied()).collect();
        rows.push([row(format!("{} others", others.len()), own, &all), vec![String::new(); 2]].concat());
    }
    let left =
        ["nobody: the computing tasks".to_owned(), time(occupancy.left), share(occupancy.left / whole)];
    rows.push([left.to_vec(), vec![String::new(); 3]].concat());
    let mut out = String::new();
    for (number, line) in fitting(&rows, &[1, 2, 3, 4], &[4, 3, 5]).into_iter().enumerate() {
        let _ =
            if number == 0 { writeln!(out, "{HEADING}{line}{HEADING:#}") } else { writeln!(out, "{line}") };
    }
    out
}

/// A cause, or tasks of one name.
fn group_name(group: &[&Taker]) -> String {
    match (&group[0].cause, group.len()) {
        (Cause::Task { name, .. }, threads @ 2..) => format!("{name} ({threads} threads)"),
        (cause, _) => what(cause),
    }
}

/// Causes that a line has room for, those of more than a thousandth.
const TOLD: usize = 4;

/// Who had a CPU, as shares of the time, the largest first; as one of them the time of which that is not known.
#[must_use]
pub fn occupants(occupancy: &Occupancy) -> Vec<(String, f64)> {
    let one = |(own, group): &(f64, Vec<&Taker>)| (group_name(group), own / occupancy.span);
    let mut all = occupancy.groups().iter().map(one).collect::<Vec<_>>();
    all.push((what(&Cause::Unknown), occupancy.unknown / occupancy.span));
    all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    all.into_iter().filter(|(_, share)| *share > 0.001).take(TOLD).collect()
}

/// What is missing among the events of it, and what recording cost.
pub(crate) fn occupancy_notes(occupancy: &Occupancy) -> String {
    let counts = occupancy.events;
    let mut text = format!(
        " By the kernel's events: one run of its own, beside the computing tasks; each time is the cause's own, without what interrupted it; what recording {} took is subtracted.",
        counted(counts.recorded, "event")
    );
    if counts.dropped > 0 {
        let _ = write!(
            text,
            " {} are missing: names near them may be wrong, and of {} it is not known who had the CPUs.",
            counted(counts.dropped, "event"),
            time(occupancy.unknown)
        );
    }
    text.extend(unnamed_wakers(counts).map(|note| format!(" {note}")));
    if !occupancy.refused.is_empty() {
        let _ = write!(text, " Not recorded: {}.", occupancy.refused.join(", "));
    }
    text
}

/// Wake-ups of which the waker is not known.
fn unnamed_wakers(counts: EventCounts) -> Option<String> {
    (counts.wakings_dropped > 0).then(|| {
        format!(
            "The records of {} by other CPUs are missing: who woke is not known of these.",
            counted(counts.wakings_dropped, "wake-up")
        )
    })
}

fn counted(number: u64, what: &str) -> String {
    count(u32::try_from(number).unwrap_or(u32::MAX), what)
}

/// Its causes, those with the most time, in the order in which they came first.
fn parts(gap: &WitnessedGap) -> String {
    let mut all: Vec<(&Cause, f64)> = Vec::new();
    for (cause, length) in &gap.parts {
        match all.iter_mut().find(|(other, _)| *other == cause) {
            Some((_, sum)) => *sum += length,
            None => all.push((cause, *length)),
        }
    }
    let mut times: Vec<f64> = all.iter().map(|(_, length)| *length).collect();
    times.sort_unstable_by(|a, b| b.total_cmp(a));
    let least = times.get(PARTS - 1).copied().unwrap_or(0.0);
    let shown = all.iter().filter(|(_, length)| *length >= least);
    let mut words: Vec<String> =
        shown.map(|(cause, length)| format!("{} {}", what(cause), time(*length))).collect();
    let more = all.len() - words.len();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

fn woken_by(taker: &Taker) -> String {
    // One that had ended before it could be asked has no name.
    match taker.woken_by.iter().find(|(by, _)| !by.is_empty()) {
        Some((by, times)) if *times * 10 >= taker.count * 9 => by.clone(),
        Some((by, times)) => format!("{by} ({})", percent(*times as f64 / taker.count as f64)),
        None => String::new(),
    }
}

/// A cause in words.
fn what(cause: &Cause) -> String {
    match cause {
        Cause::Idle => "idle: the loop was not allowed to run".to_owned(),
        Cause::Outside => "nothing of this kernel ran".to_owned(),
        Cause::Unknown => "not known: events were dropped".to_owned(),
        other => other.words(),
    }
}

/// The largest causes with their shares, in a line.
pub(crate) fn largest(witness: &Witness) -> String {
    let one = |taker: &Taker| {
        format!("{} {}", what(&taker.cause), share(taker.net(witness.event_cost) / witness.span))
    };
    witness.takers.iter().take(HEATED).map(one).collect::<Vec<_>>().join(", ")
}

/// What keeps a cause from this CPU, where something does.
fn remedy(cause: &Cause, cpu: u32) -> Option<String> {
    let queues = "leave the CPU out of /sys/devices/virtual/workqueue/cpumask (unbound queues)";
    let text = match cause {
        Cause::Tick => format!("nohz_full={cpu} on the kernel's command line stops it while one task runs"),
        Cause::Device { number, .. } => {
            format!("write other CPUs into /proc/irq/{number}/smp_affinity_list")
        }
        Cause::SoftInterrupt(name) if name.starts_with("NET") => {
            "move the interrupts of the network device, and rps_cpus of its queues, to other CPUs".to_owned()
        }
        Cause::SoftInterrupt(name) if name == "RCU" => format!("rcu_nocbs={cpu} on the kernel's command line"),
        Cause::Work(_) => queues.to_owned(),
        Cause::Task { name, .. } if name.starts_with("kworker") => queues.to_owned(),
        Cause::Task { .. } => {
            "taskset -pc LIST NUMBER (a list of other CPUs, the task's number), or a cpuset, where it may move".to_owned()
        }
        Cause::TlbFlush => "threads of its process on other CPUs unmap memory; keep them apart".to_owned(),
        Cause::Outside => "on a guest give the virtual CPU one of the host's for itself; on metal look at the firmware's settings (SMI)".to_owned(),
        _ => return None,
    };
    Some(text)
}

/// What would keep the largest causes away.
pub(crate) fn remedies(witness: &Witness, cpu: u32) -> Option<String> {
    let large = witness.takers.iter().take(REMEDIES).filter(|taker| taker.total > LARGE * witness.lost);
    // What helps against several is said once.
    let mut all: Vec<(String, String)> = Vec::new();
    for taker in large {
        let Some(remedy) = remedy(&taker.cause, cpu) else { continue };
        match all.iter_mut().find(|(_, known)| *known == remedy) {
            Some((names, _)) => *names += &format!(", {}", what(&taker.cause)),
            None => all.push((what(&taker.cause), remedy)),
        }
    }
    let all: Vec<String> = all.into_iter().map(|(names, remedy)| format!("{names}: {remedy}")).collect();
    (!all.is_empty()).then(|| format!("To lose less: {}.", all.join("; ")))
}

/// How the names came about, and what recording cost; `without` is the share that is lost without it.
pub(crate) fn notes(witness: &Witness, without: f64) -> Vec<String> {
    let mut notes = Vec::new();
    notes.push(
        "Names come from the kernel's tracepoints, recorded on this CPU; each time is the cause's own, without what interrupted it. \
         A stop of the CPU in the midst of an interrupt is counted to that interrupt. Nothing of this kernel ran: no event was recorded; on a guest that is the hypervisor, else firmware (SMI) or the processor itself."
            .to_owned(),
    );
    if let Some(cost) = witness.event_cost {
        let own = witness.own().map_or(0.0, |[_, own, _]| own);
        let between =
            |[low, cost, high]: [f64; 3]| format!("{} ({} to {})", time(cost), time(low), time(high));
        notes.push(format!(
            "Recording the first event of an interruption takes {} here, each further one {} (95 %). It is subtracted from the shares of the CPU and not from \
             the times of each: {} of the CPU for {}. Lost without recording: {}; with: {}; with its cost subtracted: {}.",
            between(cost.first),
            between(cost.further),
            share(own / witness.span),
            counted(witness.events.recorded, "event"),
            share(without),
            share(witness.lost / witness.span),
            share((witness.lost - own).max(0.0) / witness.span),
        ));
    }
    let steal = witness.steal.map(|steal| format!("the steal counter says {}", share(steal)));
    let trains: Vec<String> = witness.trains.iter().map(|rate| format!("{rate:.2} Hz")).collect();
    let trains = (!trains.is_empty()).then(|| format!("periodic at {}", trains.join(", ")));
    if witness.outside.0 > 0 {
        let managed =
            witness.management.map(|count| format!("this (or the virtual) processor counted {count} SMI"));
        let known: Vec<String> = steal.into_iter().chain(managed).chain(trains).collect();
        let known = if known.is_empty() { String::new() } else { format!("; {}", known.join("; ")) };
        notes.push(format!(
            "Outside of this kernel: {} without an event{known}.",
            counted(witness.outside.0 as u64, "gap")
        ));
    }
    if witness.cgroups.len() > 1 {
        let one = |(name, own): &(String, f64)| format!("{name} {}", share(own / witness.span));
        let all: Vec<String> = witness.cgroups.iter().take(HEATED).map(one).collect();
        notes.push(format!("By cgroup: {}.", all.join(", ")));
    }
    if witness.events.dropped > 0 {
        notes.push(format!(
            "{} of the kernel's are missing: what ran in {} is not known, and names near the missing ones may be wrong. Where the buffer was full, watch for less long, or beside less load.",
            counted(witness.events.dropped, "event"),
            counted(witness.unknown.0 as u64, "gap")
        ));
    }
    notes.extend(unnamed_wakers(witness.events));
    if !witness.refused.is_empty() {
        notes.push(format!("Not recorded: {}.", witness.refused.join(", ")));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_which_nothing_is_known_is_nobodys_share() {
        let occupancy = Occupancy {
            span: 10.0,
            traces: 1,
            left: 4.0,
            unknown: 6.0,
            takers: Vec::new(),
            events: EventCounts { recorded: 3, dropped: 5, wakings_dropped: 7 },
            refused: Vec::new(),
            event_cost: None,
        };
        assert_eq!(occupants(&occupancy), [("not known: events were dropped".to_owned(), 0.6)]);
        let notes = occupancy_notes(&occupancy);
        for part in ["5 events are missing", "The records of 7 wake-ups by other CPUs are missing"] {
            assert!(notes.contains(part), "{part} is not in {notes}");
        }
    }
}

//! A machine on which all is well, and the same with one thing wrong at a time.

use super::*;
use crate::noise::{Cause, EventCounts, GapCause, Kind, Taker, Witness};
use std::collections::BTreeSet;
use tickmark_stats::Sorted;
use tickmark_wire::names;

/// A recording of all that the doctor measures, on an ordinary guest.
fn recording() -> Recording {
    let folder = format!("{}/../../fixtures/doctor", env!("CARGO_MANIFEST_DIR"));
    tickmark_store::load(std::path::Path::new(&folder)).unwrap()
}

/// A planted fault: facts, facts at the end, figures, causes of lost CPU time.
struct Planted {
    recording: Recording,
    facts: Environment,
    end: Environment,
    model: Model,
    noise: Noise,
}

impl Planted {
    /// The recording's machine, made one without fault: what a guest lacks is there, and what is usual on all is not.
    fn good() -> Self {
        let recording = recording();
        let mut planted = Self {
            facts: recording.environment().unwrap().clone(),
            end: recording.ends.last().unwrap().clone(),
            model: report::build(&recording, &|_| true, false),
            noise: noise::summarize_noise(&recording).unwrap(),
            recording,
        };
        for (name, value) in [
            ("clock.slack_ns", "1"),
            ("cpu.governor", "performance"),
            ("cpu.driver", "acpi-cpufreq"),
            ("cpu.idle.states", "POLL 0 us; C1 2 us; C6 133 us off"),
            // Enhanced IBRS and what an older kernel joins with commas cost next to nothing at a call.
            (
                "cpu.mitigations",
                "retbleed: Mitigation: Enhanced IBRS; spectre_v2: Mitigation: Retpolines, IBPB: conditional, IBRS_FW",
            ),
            ("cpu.nohz_full", "30-31"),
            ("memory.thp", "always [madvise] never"),
            ("state.pressure.cpu", "some avg10=0.10 avg60=0.20 avg300=1.00 total=5"),
            ("state.pressure.io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5"),
            ("state.pressure.memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=5"),
            ("state.cgroup.cpu.stat", "nr_periods 1000; nr_throttled 2; throttled_usec 20000"),
            ("cgroup.cpu.max", "max 100000"),
            ("cgroup.cpu.rt_runtime_us", "950000"),
            ("state.cpu_times", "100 0 100 1000 0 0 0 10 0 0"),
        ] {
            planted.fact(name, value);
        }
        planted.end.know("state.cpu_times", "/proc/stat", "300 0 300 1300 0 0 0 12 0 0");
        for (metric, value) in [
            ("clock.monotonic.read", 21.0),
            ("clock.monotonic.syscall", 130.0),
            ("clock.tsc.plain", 9.0),
            ("clock.monotonic.between_cpus.backwards", 0.0),
            ("clock.monotonic.between_cpus.offset", 40.0),
            (names::SLEEP, 60_000.0),
            ("tick.share", 0.004),
        ] {
            planted.figure(metric, value);
        }
        planted.noise.kinds.clear();
        planted.lost(GapCause::Tick, 250, 0.004);
        planted
    }

    fn fact(&mut self, name: &str, value: &str) {
        self.facts.know(name, "planted", value);
    }

    fn figure(&mut self, metric: &str, value: f64) {
        let mut rows = self.model.groups.iter_mut().flat_map(|(_, rows)| rows);
        let row = rows.find(|row| row.metric == metric).unwrap_or_else(|| panic!("no row {metric}"));
        row.value.as_mut().unwrap_or_else(|| panic!("{metric} has no figure")).point = value;
        row.each.iter_mut().for_each(|each| each.value = value);
    }

    /// The CPU was lost to something, so many times a second, for this share.
    fn lost(&mut self, what: GapCause, times: usize, share: f64) {
        let (span, count) = (self.noise.span, (times as f64 * self.noise.span / 1e9) as usize);
        let lengths = Sorted::new(vec![share * span / count as f64; count]);
        self.noise.kinds.push(Kind { what, count, total: share * span, lengths, over_time: Vec::new() });
    }

    fn found(self) -> BTreeSet<&'static str> {
        let is_found = |one: &Diagnosis| matches!(one.outcome, Outcome::Found(_));
        self.diagnoses().into_iter().filter(is_found).map(|one| one.name).collect()
    }

    fn diagnoses(self) -> Vec<Diagnosis> {
        let Self { recording, facts, end, model, noise } = self;
        let patient =
            Patient { recording: &recording, facts: &facts, end: Some(&end), model, noise: Some(noise) };
        checks().map(|check| (check.look)(&patient)).collect()
    }
}

#[test]
fn every_planted_fault_is_found_and_nothing_else() {
    assert_eq!(Planted::good().found(), BTreeSet::new(), "all is well");
    type Plant = fn(&mut Planted);
    let faults: &[(&str, Plant)] = &[
        ("slow-clock", |p| {
            p.fact("clock.source", "hpet");
            p.figure("clock.monotonic.read", 1_100.0);
            p.figure("clock.monotonic.syscall", 1_250.0);
        }),
        ("slow-clock", |p| p.fact("clock.source", "acpi_pm")),
        ("clock-through-kernel", |p| {
            p.fact("clock.source", "xen");
            p.figure("clock.monotonic.read", 128.0);
        }),
        ("clock-through-kernel", |p| p.figure("clock.monotonic.read", 128.0)),
        ("clocks-apart", |p| p.figure("clock.monotonic.between_cpus.backwards", 3.0)),
        ("clocks-apart", |p| p.figure("clock.monotonic.between_cpus.offset", 25_000.0)),
        ("tick-share", |p| p.figure("tick.share", 0.03)),
        ("tick-never-stops", |p| p.fact("kernel.config.HZ_PERIODIC", "y")),
        ("tick-never-stops", |p| p.fact("kernel.command_line", "quiet nohz=off")),
        ("timer-slack", |p| p.fact("clock.slack_ns", "500000")),
        ("deep-idle", |p| {
            p.fact("cpu.idle.states", "POLL 0 us; C1 2 us; C6 133 us");
            p.figure(names::SLEEP, 160_000.0);
        }),
        ("governor", |p| p.fact("cpu.governor", "powersave")),
        ("mitigations", |p| p.fact("cpu.mitigations", "meltdown: Mitigation: PTI")),
        ("mitigations", |p| p.fact("cpu.mitigations", "spec_rstack_overflow: Mitigation: IBPB")),
        ("mitigations", |p| p.fact("cpu.mitigations", "mds: Mitigation: Clear CPU buffers; SMT vulnerable")),
        ("huge-pages-off", |p| p.fact("memory.thp", "always madvise [never]")),
        ("steal", |p| p.end.know("state.cpu_times", "/proc/stat", "300 0 300 1300 0 0 0 60 0 0")),
        ("noisy-neighbour", |p| p.lost(GapCause::Unseen, 2_000, 0.02)),
        ("noisy-neighbour", |p| p.lost(GapCause::Outside(noise::Evidence::Train(1_000_000)), 1_000, 0.02)),
        ("interrupts-here", |p| p.lost(GapCause::SoftInterrupt("NET_RX".to_owned()), 900, 0.01)),
        ("busy-cpu", |p| p.lost(GapCause::Task, 50, 0.3)),
        ("pressure", |p| p.fact("state.pressure.io", "some avg10=1.00 avg60=44.00 avg300=1.00 total=5")),
        ("throttled", |p| {
            p.fact("state.cgroup.cpu.stat", "nr_periods 100; nr_throttled 60; throttled_time 3000000000");
            let end = "nr_periods 200; nr_throttled 120; throttled_time 6000000000";
            p.end.know("state.cgroup.cpu.stat", "planted", end);
        }),
        ("real-time-limits", |p| {
            p.fact("cgroup.cpu.rt_runtime_us", "0");
            p.recording.sessions[0].settings.priority = tickmark_wire::Priority::Fifo(50);
        }),
    ];
    for (name, plant) in faults {
        let mut planted = Planted::good();
        plant(&mut planted);
        assert_eq!(planted.found(), BTreeSet::from([*name]));
    }
    // A real-time task that never sleeps, and others that have its CPU for a part of each second.
    let mut planted = Planted::good();
    planted.lost(GapCause::Task, 1, 0.05);
    planted.recording.sessions[0].settings.priority = tickmark_wire::Priority::Fifo(50);
    assert_eq!(planted.found(), BTreeSet::from(["busy-cpu", "real-time-limits"]));
    // A CPU that should be left alone: what interrupts it is a fault that is none elsewhere.
    let mut planted = Planted::good();
    let cpu = planted.facts.get("cpu.measured").unwrap().to_owned();
    planted.fact("cpu.nohz_full", &format!("{cpu},30-31"));
    assert_eq!(planted.found(), BTreeSet::from(["nohz-full-broken"]));
    let named: BTreeSet<&str> = faults.iter().map(|(name, _)| *name).chain(["nohz-full-broken"]).collect();
    assert_eq!(named, checks().map(|check| check.name).collect(), "each check has a fault of its own");
}

/// Either version of a cgroup's files; a quota of a group above is not this program's to lift.
#[test]
fn a_quota_of_the_own_group_can_be_lifted_for_a_proof() {
    let proof = |name: &str, value: &str| {
        let mut planted = Planted::good();
        planted.fact(name, value);
        planted.fact("state.cgroup.cpu.stat", "nr_periods 100; nr_throttled 60; throttled_time 3000000000");
        let end = "nr_periods 200; nr_throttled 120; throttled_time 6000000000";
        planted.end.know("state.cgroup.cpu.stat", "planted", end);
        let all = planted.diagnoses();
        all.into_iter().find(|one| one.name == "throttled").unwrap().proof.map(|proof| proof.knob)
    };
    assert_eq!(proof("cgroup.cpu.max", "50000 200000").unwrap(), "planted=50000 200000,max 200000");
    assert_eq!(proof("cgroup.cpu.cfs_quota_us", "50000").unwrap(), "planted=50000,-1");
    assert_eq!(proof("cgroup.cpu.quotas", "0.5 CPUs by /sys/fs/cgroup/above"), None);
}

/// A task that the kernel's events name is moved away for a proof; where they were dropped it may be another, and the counters are asked.
#[test]
fn a_task_is_named_and_moved_where_no_events_were_dropped() {
    let by_cause = |cause: Cause, unknown: (usize, f64)| {
        let mut planted = Planted::good();
        planted.lost(GapCause::Task, 1, 0.3);
        let taker = Taker {
            cause,
            count: 30,
            total: 2.9e8,
            events: 60,
            entries: 30,
            lengths: Sorted::new(vec![1e7; 30]),
            woken_by: Vec::new(),
            over_time: Vec::new(),
        };
        planted.noise.witness = Some(Ok(Witness {
            span: 1e9,
            lost: 3e8,
            unknown,
            outside: (0, 0.0),
            trains: Vec::new(),
            steal: None,
            management: None,
            clock: "monotonic_raw".to_owned(),
            runs: Vec::new(),
            takers: vec![taker],
            cgroups: Vec::new(),
            gaps: Vec::new(),
            over_time: Vec::new(),
            events: EventCounts { recorded: 60, dropped: unknown.0 as u64, wakings_dropped: 0 },
            refused: Vec::new(),
            foreign: false,
            event_cost: None,
        }));
        let one = planted.diagnoses().into_iter().find(|one| one.name == "busy-cpu").unwrap();
        let names: Vec<String> = one.evidence.iter().map(|evidence| evidence.name.clone()).collect();
        (matches!(one.outcome, Outcome::Found(_)), names, one.proof.map(|proof| proof.knob))
    };
    let task = || Cause::Task { name: "busy".to_owned(), thread: 4711, cgroup: None, real_time: false };
    let busy = |unknown| by_cause(task(), unknown);
    let cpu = Planted::good().recording.sessions[0].settled.cpu;
    let moved = Some(format!("affinity:4711=now,not:{cpu}"));
    assert_eq!(busy((0, 0.0)), (true, vec!["lost to busy (4711)".to_owned()], moved));
    assert_eq!(busy((900, 1e8)), (true, vec!["lost to task".to_owned()], None));
    // What a worker of the kernel does is a task's time, and waits for one in real time.
    let work = by_cause(Cause::Work("kcryptd_crypt".to_owned()), (0, 0.0));
    let waits = Some("policy=other,fifo:1".to_owned());
    assert_eq!(work, (true, vec!["lost to work kcryptd_crypt".to_owned()], waits));
}

/// An unreadable fact is reported as unknown and never as fine.
#[test]
fn what_is_missing_is_said() {
    let mut planted = Planted::good();
    planted.facts.miss(
        "cpu.governor",
        "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "No such file",
    );
    let Planted { recording, facts, end, model, noise } = planted;
    let patient =
        Patient { recording: &recording, facts: &facts, end: Some(&end), model, noise: Some(noise) };
    let look = |name: &str| {
        let check = checks().find(|check| check.name == name).unwrap();
        (check.look)(&patient).outcome
    };
    assert!(
        matches!(look("governor"), Outcome::NotVisible(why) if why.contains("scaling_governor: No such file"))
    );
    assert_eq!(look("huge-pages-off"), Outcome::Fine);
    let none = Environment::default();
    let blind = Patient { facts: &none, end: None, noise: None, ..patient };
    let outcomes = checks().map(|check| (check.name, (check.look)(&blind).outcome));
    for (name, outcome) in outcomes {
        let by_figures = ["clock-through-kernel", "clocks-apart", "tick-share"].contains(&name);
        assert!(by_figures || matches!(outcome, Outcome::NotVisible(_)), "{name}: {outcome:?}");
    }
}

#[test]
fn the_dearest_comes_first() {
    let costs = [Cost::Share(0.02), Cost::Call(1_000.0), Cost::WakeUp(50_000.0)];
    assert_eq!(costs.map(|cost| (cost.weight() * 1e3).round()), [20.0, 100.0, 50.0]);
    let recording = recording();
    let all: Vec<&Check> = checks().collect();
    let ranks: Vec<(u8, f64)> = examine(&recording, &all)
        .iter()
        .map(|one| match &one.outcome {
            Outcome::Found(cost) => (0, -cost.map_or(0.0, Cost::weight)),
            Outcome::NotVisible(_) => (1, 0.0),
            Outcome::Usual(_) => (2, 0.0),
            Outcome::Fine => (3, 0.0),
        })
        .collect();
    assert!(ranks.is_sorted(), "{ranks:?}");
    assert_eq!(ranks.len(), all.len());
}

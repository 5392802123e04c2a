//! Chains of late wake-ups.

use super::*;
use tickmark_wire::{EventSubject, Nanos, Wakings};

const THREAD: u32 = 700;

/// A wait for 1,000 us with slack of 50 us: an idle CPU, the timer's interrupt, and a task that is switched to first; and one that a
/// softirq of another interrupt held up.
fn trace() -> GapTrace {
    let tracepoints = [
        "sched/sched_waking",
        "sched/sched_switch",
        "irq_vectors/local_timer_entry",
        "irq_vectors/local_timer_exit",
        "timer/hrtimer_expire_entry",
        "timer/hrtimer_expire_exit",
        "irq/softirq_entry",
        "irq/softirq_exit",
    ];
    let subject =
        |name: &str, id: Option<u32>| EventSubject { name: name.to_owned(), id, ..EventSubject::default() };
    let subjects = vec![
        subject("", None),
        subject("swapper", Some(0)),
        subject("hog", Some(9)),
        subject("waiter", Some(THREAD)),
        subject("hrtimer_wakeup", None),
        subject("NET_RX", None),
    ];
    // Time in us, tracepoint, subject.
    let first = [
        (400, 1, 1),
        (1_060, 2, 0),
        (1_062, 4, 4),
        (1_065, 5, 4),
        (1_067, 3, 0),
        (1_070, 1, 2),
        (1_470, 1, 3),
    ];
    let second = [(1_500, 1, 1), (1_990, 6, 5), (2_090, 7, 5), (2_091, 2, 0), (2_092, 4, 4), (2_095, 1, 3)];
    let events: Vec<(i64, u32, u32)> = first.into_iter().chain(second).collect();
    let us = |us: i64| Nanos::new(us * 1_000);
    let events = KernelEvents {
        tracepoints: tracepoints.map(str::to_owned).to_vec(),
        thread: THREAD,
        subjects,
        time: events.iter().map(|event| us(event.0)).collect(),
        tracepoint: events.iter().map(|event| event.1).collect(),
        subject: events.iter().map(|event| event.2).collect(),
        wakings: Wakings {
            time: vec![us(1_064), us(2_093)],
            cpu: vec![0, 0],
            task: vec![3, 3],
            by: vec![1, 1],
            dropped: 0,
        },
        slack: Some(us(50)),
        ..KernelEvents::default()
    };
    GapTrace {
        threshold: us(98),
        span: us(5_000),
        start: vec![us(1_000), us(2_000)],
        length: vec![us(475), us(98)],
        events: Some(Box::new(events)),
        ..GapTrace::default()
    }
}

fn events_of(trace: &mut GapTrace) -> &mut KernelEvents {
    trace.events.as_mut().unwrap()
}

fn links(wake: &LateWake) -> Vec<(&'static str, f64)> {
    wake.links.iter().map(|(link, length)| (link.code(), length / 1e3)).collect()
}

#[test]
fn a_late_wake_up_is_told_link_by_link() {
    let run = LateRun::from_trace(1_000, &trace(), 0).unwrap();
    let late: Vec<&LateWake> = run.late.iter().flatten().collect();
    assert_eq!(
        links(late[0]),
        [("timer_slack", 50.0), ("interrupt", 10.0), ("handler", 4.0), ("switch", 406.0), ("return", 5.0)]
    );
    let hog = Cause::Task { name: "hog".to_owned(), thread: 9, cgroup: None, real_time: false };
    let reason = Reason { link: Link::Switch, cause: Some(hog) };
    assert_eq!((late[0].reason(), late[0].without(&reason)), (Some(&reason), 75_000.0));
    // Its own parts are all of it.
    for wake in &late {
        assert!((wake.parts.values().sum::<f64>() - wake.late).abs() < 1e-6, "{wake:?}");
    }
    // The interrupt came within the slack's reach of the CPU, which served a softirq until 90 us behind the time.
    assert_eq!(links(late[1])[..2], [("timer_slack", 50.0), ("interrupt", 41.0)]);
    let soft = Reason { link: Link::Interrupt, cause: Some(Cause::SoftInterrupt("NET_RX".to_owned())) };
    assert_eq!(late[1].parts[&soft], 40_000.0);
}

/// Some kernels record nothing from an idle CPU.
#[test]
fn what_an_idle_cpu_does_not_record_is_told_as_one() {
    let mut trace = trace();
    let events = events_of(&mut trace);
    let kept = |at: &usize| [0, 5, 6, 7].contains(at);
    let numbered = |column: &[u32]| -> Vec<u32> {
        column.iter().enumerate().filter(|(at, _)| kept(at)).map(|(_, value)| *value).collect()
    };
    (events.tracepoint, events.subject) = (numbered(&events.tracepoint), numbered(&events.subject));
    events.time = events.time.iter().enumerate().filter(|(at, _)| kept(at)).map(|(_, time)| *time).collect();
    events.wakings = Wakings::default();
    let run = LateRun::from_trace(1_000, &trace, 0).unwrap();
    let late: Vec<&LateWake> = run.late.iter().flatten().collect();
    // The hog's turn and the switch to the thread are there, and in the other wait the switch to idle alone.
    assert_eq!(links(late[0]), [("timer_slack", 50.0), ("switch", 420.0), ("return", 5.0)]);
    assert_eq!(late[0].reason().unwrap().label().as_deref(), Some("hog"));
    assert_eq!(links(late[1]), [("timer_slack", 50.0), ("idle", 48.0)]);
    assert_eq!(late[1].reason().unwrap(), &Reason { link: Link::Slack, cause: None });
    // A wake-up by another CPU, behind the last event of this one.
    let woken = Nanos::new(2_060_000);
    events_of(&mut trace).wakings =
        Wakings { time: vec![woken], cpu: vec![1], task: vec![3], by: vec![1], dropped: 0 };
    let run = LateRun::from_trace(1_000, &trace, 0).unwrap();
    let late: Vec<&LateWake> = run.late.iter().flatten().collect();
    assert_eq!(links(late[1]), [("timer_slack", 50.0), ("other_cpu", 10.0), ("return", 38.0)]);
}

#[test]
fn a_tail_without_a_cause_is_of_all_wake_ups() {
    let run = || vec![LateRun::from_trace(1_000, &trace(), 0).unwrap()];
    let late = joined("x".to_owned(), run(), 1e5, 0.95);
    assert_eq!((late.wake_ups, late.above, late.latest.len(), late.unknown.len()), (1_000, 98_000.0, 2, 0));
    assert_eq!(late.quantiles[1].map(|known| known.value), None, "the second latest is not known");
    let all: Vec<f64> = (1..=50).map(|us| f64::from(us) * 1e3).collect();
    assert_eq!(quantile(&all, 1_000, 0.0, 0.99, 0.95).map(|known| known.value), Some(40_000.0));
    assert_eq!(quantile(&all, 1_000, 45_000.0, 0.99, 0.95), None);
    assert_eq!(quantile(&all, 100_000, 0.0, 0.99, 0.95), None);
}

#[test]
fn what_is_damaged_has_no_chain() {
    let damaged = [
        GapTrace { length: vec![Nanos::new(1)], ..trace() },
        GapTrace { length: vec![Nanos::new(0), Nanos::new(5)], ..trace() },
        GapTrace { start: vec![Nanos::new(9), Nanos::new(5)], ..trace() },
        GapTrace { events: None, ..trace() },
    ];
    assert!(damaged.iter().all(|trace| LateRun::from_trace(1_000, trace, 0).is_none()));
    assert!(LateRun::from_trace(1, &trace(), 0).is_none(), "more late ones than wake-ups");
    // Without events there are late ones of which no more is known.
    let mut without = trace();
    without.events = Some(Box::new(KernelEvents { dropped: 7, ..KernelEvents::default() }));
    let late = joined("x".to_owned(), vec![LateRun::from_trace(2, &without, 0).unwrap()], 1e5, 0.95);
    assert_eq!((late.unknown.len(), late.groups.len(), late.dropped), (2, 0, 7));
}

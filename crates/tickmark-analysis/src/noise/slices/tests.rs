//! Parts of gaps.

use super::*;
use tickmark_wire::Nanos;

const LOOP: u32 = 700;

/// Events by their tracepoints and subjects.
#[derive(Default)]
struct Written(KernelEvents);

impl Written {
    fn new() -> Self {
        Self(KernelEvents { thread: LOOP, ..KernelEvents::default() })
    }

    fn index<T: PartialEq>(all: &mut Vec<T>, one: T) -> u32 {
        let at = all.iter().position(|other| *other == one).unwrap_or_else(|| {
            all.push(one);
            all.len() - 1
        });
        at as u32
    }

    fn subject(&mut self, name: &str, id: Option<u32>) -> u32 {
        let subject = EventSubject { name: name.to_owned(), id, ..EventSubject::default() };
        Self::index(&mut self.0.subjects, subject)
    }

    fn event(mut self, time: i64, tracepoint: &str, name: &str, id: Option<u32>) -> Self {
        let subject = self.subject(name, id);
        let tracepoint = Self::index(&mut self.0.tracepoints, tracepoint.to_owned());
        self.0.time.push(Nanos::new(time));
        self.0.tracepoint.push(tracepoint);
        self.0.subject.push(subject);
        self
    }

    fn waking(mut self, time: i64, cpu: u32, task: (&str, u32), by: (&str, u32)) -> Self {
        let (task, by) = (self.subject(task.0, Some(task.1)), self.subject(by.0, Some(by.1)));
        self.0.wakings.time.push(Nanos::new(time));
        self.0.wakings.cpu.push(cpu);
        self.0.wakings.task.push(task);
        self.0.wakings.by.push(by);
        self
    }

    /// Causes of the parts of gaps, with their lengths.
    fn cut(&self, gaps: &[(f64, f64)]) -> Vec<Vec<(String, f64)>> {
        let slices = self.slices(gaps);
        let part = |slice: &Slice| (slices.occurrences[slice.occurrence].cause.words(), slice.length);
        slices.gaps.iter().map(|parts| parts.iter().map(part).collect()).collect()
    }

    fn slices(&self, gaps: &[(f64, f64)]) -> Slices {
        let (start, length): (Vec<f64>, Vec<f64>) = gaps.iter().copied().unzip();
        let slices = Walk::cut(&self.0, 0, &start, &length);
        for (parts, length) in slices.gaps.iter().zip(&length) {
            let sum: f64 = parts.iter().map(|part| part.length).sum();
            assert!((sum - length).abs() < 1e-6, "the parts are the gap: {sum} and {length}");
        }
        let (own, lost): (f64, f64) =
            (slices.occurrences.iter().map(|one| one.own).sum(), length.iter().sum());
        assert!((own - lost).abs() < 1e-6, "own times are the lost time: {own} and {lost}");
        slices
    }

    fn tick(self, time: i64) -> Self {
        self.event(time, "irq_vectors/local_timer_entry", "", None)
            .event(time + 100, "timer/hrtimer_expire_entry", "tick_nohz_handler", None)
            .event(time + 900, "timer/hrtimer_expire_exit", "", None)
            .event(time + 1000, "irq_vectors/local_timer_exit", "", None)
    }
}

fn parts(all: &[(&str, f64)]) -> Vec<(String, f64)> {
    all.iter().map(|(name, length)| ((*name).to_owned(), *length)).collect()
}

#[test]
fn a_tick_is_one_occurrence_with_its_interrupt() {
    let written = Written::new().tick(5_000);
    assert_eq!(written.cut(&[(4_800.0, 1_500.0)]), [parts(&[("the tick", 1_500.0)])]);
    let slices = written.slices(&[(4_800.0, 1_500.0)]);
    assert_eq!((slices.occurrences.len(), slices.occurrences[0].events), (1, 4));
}

#[test]
fn what_comes_above_is_not_counted_below() {
    // A device's interrupt comes while a soft interrupt runs that the tick left.
    let written = Written::new()
        .tick(1_000)
        .event(2_100, "irq/softirq_entry", "NET_RX", None)
        .event(3_000, "irq/irq_handler_entry", "virtio0-rx", Some(36))
        .event(3_400, "irq/irq_handler_exit", "", None)
        .event(5_000, "irq/softirq_exit", "NET_RX", None);
    let expected = [
        ("the tick", 1_300.0),
        ("softirq NET_RX", 900.0),
        ("interrupt 36 virtio0-rx", 400.0),
        ("softirq NET_RX", 1_800.0),
    ];
    assert_eq!(written.cut(&[(800.0, 4_400.0)]), [parts(&expected)]);
    let soft = |one: &&Occurrence| one.cause == Cause::SoftInterrupt("NET_RX".to_owned());
    let slices = written.slices(&[(800.0, 4_400.0)]);
    assert_eq!(slices.occurrences.iter().filter(soft).count(), 1, "once, in two parts");
}

#[test]
fn a_task_has_its_name_its_work_and_who_woke_it() {
    let written = Written::new()
        .event(1_000, "irq_vectors/reschedule_entry", "", None)
        .event(1_100, "irq_vectors/reschedule_exit", "", None)
        .event(1_500, "sched/sched_switch", "kworker/0:1", Some(33))
        .event(2_000, "workqueue/workqueue_execute_start", "flush_to_ldisc", None)
        .event(2_500, "irq_vectors/call_function_single_entry", "", None)
        .event(2_550, "csd/csd_function_entry", "flush_tlb_func", None)
        .event(2_650, "csd/csd_function_exit", "flush_tlb_func", None)
        .event(2_700, "irq_vectors/call_function_single_exit", "", None)
        .event(4_000, "workqueue/workqueue_execute_end", "flush_to_ldisc", None)
        .event(4_200, "sched/sched_switch", "tickmark", Some(LOOP))
        .waking(900, 1, ("kworker/0:1", 33), ("bash", 55));
    let expected = [
        ("interrupt: reschedule", 700.0),
        ("kworker/0:1 (33)", 500.0),
        ("work flush_to_ldisc", 500.0),
        ("TLB flush for another CPU", 200.0),
        ("work flush_to_ldisc", 1_300.0),
        ("kworker/0:1 (33)", 600.0),
    ];
    assert_eq!(written.cut(&[(800.0, 3_800.0)]), [parts(&expected)]);
    let slices = written.slices(&[(800.0, 3_800.0)]);
    let woken: Vec<&str> = slices.occurrences.iter().filter_map(|one| one.woken_by.as_deref()).collect();
    assert_eq!(woken, ["bash"]);
}

#[test]
fn what_ends_without_a_beginning_is_counted_once() {
    // Work that had begun before the events did, and an interrupt whose end nobody may record.
    let written = Written::new()
        .event(1_000, "sched/sched_switch", "kworker/0:1", Some(33))
        .event(1_500, "workqueue/workqueue_execute_end", "old_work", None)
        .event(2_000, "irq_vectors/irq_work_entry", "", None)
        .event(3_000, "sched/sched_switch", "tickmark", Some(LOOP))
        .event(9_000, "irq_vectors/irq_work_entry", "", None)
        .waking(950, 1, ("kworker/0:1", 33), ("bash", 55))
        .waking(8_000, 0, ("cat", 44), ("tickmark", LOOP))
        .waking(900, 2, ("kworker/0:1", 33), ("make", 66));
    let all = written.cut(&[(900.0, 2_200.0), (8_900.0, 500.0)]);
    assert_eq!(all[0], parts(&[("kworker/0:1 (33)", 2_200.0)]));
    assert_eq!(all[1], parts(&[("interrupt: irq work", 500.0)]));
    // The last one before it ran, whichever CPU that was on.
    let slices = written.slices(&[(900.0, 2_200.0)]);
    assert_eq!(slices.occurrences[0].woken_by.as_deref(), Some("bash"));
}

#[test]
fn a_task_that_is_preempted_goes_on_with_its_work() {
    let written = Written::new()
        .event(1_000, "sched/sched_switch", "kworker/0:1", Some(33))
        .event(1_100, "workqueue/workqueue_execute_start", "long_work", None)
        .event(2_000, "sched/sched_switch", "tickmark", Some(LOOP))
        .event(9_000, "sched/sched_switch", "kworker/0:1", Some(33))
        .event(9_500, "workqueue/workqueue_execute_end", "long_work", None)
        .event(9_600, "sched/sched_switch", "tickmark", Some(LOOP));
    let all = written.cut(&[(900.0, 1_200.0), (8_900.0, 800.0)]);
    let task = "kworker/0:1 (33)";
    assert_eq!(all[0], parts(&[(task, 200.0), ("work long_work", 900.0), (task, 100.0)]));
    // The way into the kernel is a part of what came.
    assert_eq!(all[1], parts(&[("work long_work", 600.0), (task, 200.0)]));
}

#[test]
fn a_gap_without_an_event_is_outside_or_not_known() {
    let mut written = Written::new().tick(5_000);
    let gaps = [(1_000.0, 500.0), (4_800.0, 1_500.0), (9_000.0, 700.0)];
    let outside = |length: f64| parts(&[("outside of this kernel", length)]);
    assert_eq!(written.cut(&gaps)[0], outside(500.0));
    assert_eq!(written.cut(&gaps)[2], outside(700.0));
    // Where events were dropped, it was full from the last one that is here.
    written.0.dropped = 3;
    assert_eq!(written.cut(&gaps)[0], outside(500.0));
    assert_eq!(written.cut(&gaps)[2], parts(&[("not known", 700.0)]));
    // So is the rest of the gap in which it became full.
    assert_eq!(
        written.cut(&[(4_800.0, 90_000.0)])[0],
        parts(&[("the tick", 1_200.0), ("not known", 88_800.0)])
    );
    // A task that has no end in the events, and a fault, are no way out.
    let mut all = Written::new();
    for at in 0..20 {
        all = all.tick(at * 100_000);
    }
    let all = all.event(9_000_000, "sched/sched_switch", "long", Some(9)).event(
        9_900_000,
        "exceptions/page_fault_user",
        "",
        None,
    );
    let mut gaps: Vec<(f64, f64)> = (0..20).map(|at| (f64::from(at) * 1e5 - 200.0, 1_500.0)).collect();
    gaps.extend([(9e6, 2e5), (9.9e6, 1e5)]);
    assert_eq!(all.cut(&gaps)[20..], [parts(&[("long (9)", 2e5)]), parts(&[("page fault", 1e5)])]);
}

#[test]
fn a_cpu_that_was_held_back_before_its_interrupt_is_outside() {
    // Ticks that begin 200 ns after the gap, and one 50 us after it.
    let mut written = Written::new();
    let mut gaps = Vec::new();
    for at in 1..=20 {
        written = written.tick(at * 1_000_000);
        let early = if at == 15 { 50_000.0 } else { 200.0 };
        let late = if at == 18 { 30_000.0 } else { 300.0 };
        gaps.push((at as f64 * 1e6 - early, early + 1_000.0 + late));
    }
    let all = written.cut(&gaps);
    assert_eq!(all[3], parts(&[("the tick", 1_500.0)]));
    assert_eq!(all[14], parts(&[("outside of this kernel", 49_800.0), ("the tick", 1_500.0)]));
    assert_eq!(all[17], parts(&[("the tick", 1_500.0), ("outside of this kernel", 29_700.0)]));
}

#[test]
fn faults_and_non_maskable_interrupts_have_their_time() {
    let mut written = Written::new().event(1_000, "exceptions/page_fault_user", "", None).event(
        1_400,
        "nmi/nmi_handler",
        "perf_event_nmi_handler",
        None,
    );
    written.0.lasted.push((1, Nanos::new(150)));
    let expected = [("page fault", 450.0), ("NMI perf_event_nmi_handler", 150.0), ("page fault", 300.0)];
    assert_eq!(written.cut(&[(800.0, 900.0)]), [parts(&expected)]);
}

#[test]
fn a_turn_of_nobody_is_idle_and_damage_is_no_panic() {
    let written = Written::new().event(1_000, "sched/sched_switch", "swapper/0", Some(0)).event(
        9_000,
        "sched/sched_switch",
        "tickmark",
        Some(LOOP),
    );
    assert_eq!(written.cut(&[(900.0, 8_200.0)]), [parts(&[("idle", 8_200.0)])]);
    let mut damaged = Written::new().tick(1_000).event(3_000, "irq/softirq_exit", "RCU", None);
    damaged.0.tracepoint[0] = 99;
    damaged.0.subject[1] = 99;
    damaged.0.wakings.time.push(Nanos::new(5));
    assert_eq!(damaged.cut(&[(800.0, 3_000.0)]).len(), 1);
}

#[test]
fn a_timer_has_the_task_that_set_it() {
    let mut written = Written::new()
        .event(1_000, "irq_vectors/local_timer_entry", "", None)
        .event(1_200, "timer/hrtimer_expire_entry", "timerfd_tmrproc", None)
        .event(1_900, "timer/hrtimer_expire_exit", "", None)
        .event(2_000, "irq_vectors/local_timer_exit", "", None)
        .event(5_000, "irq/softirq_entry", "TIMER", None)
        .event(5_100, "timer/timer_expire_entry", "delayed_work_timer_fn", None)
        .event(5_400, "timer/timer_start", "delayed_work_timer_fn", None)
        .event(5_900, "timer/timer_expire_exit", "", None)
        .event(6_000, "irq/softirq_exit", "TIMER", None);
    let setter = written.subject("setter", Some(9));
    // Its expiry, and one of which nobody knows who had set it.
    written.0.armed = vec![(1, setter)];
    let slices = written.slices(&[(900.0, 1_200.0), (4_900.0, 1_200.0)]);
    let timers: Vec<(String, Option<&str>, f64)> = slices
        .occurrences
        .iter()
        .filter(|one| matches!(one.cause, Cause::Timer(_)))
        .map(|one| (one.cause.words(), one.woken_by.as_deref(), one.own))
        .collect();
    assert_eq!(
        timers,
        [
            ("timer timerfd_tmrproc".to_owned(), Some("setter"), 1_200.0),
            ("timer delayed_work_timer_fn".to_owned(), None, 800.0)
        ]
    );
    // That a timer was set is no time of its own, and an event that took time to record.
    assert_eq!(slices.occurrences.iter().map(|one| one.events).sum::<u32>(), 9);
}

#[test]
fn without_a_loop_all_of_a_span_is_somebodys() {
    // A task that was on the CPU from before the beginning, the tick above it, another task, and none.
    let written = Written::new()
        .event(-500, "sched/sched_switch", "first", Some(5))
        .tick(1_000)
        .event(4_000, "sched/sched_switch", "loop", Some(LOOP))
        .event(7_000, "sched/sched_switch", "", Some(0));
    let all = Walk::whole(&written.0, 0, 10_000.0);
    let own: Vec<(String, f64)> = all.iter().map(|one| (one.cause.words(), one.own)).collect();
    let expected =
        [("first (5)", 3_000.0), ("the tick", 1_000.0), ("loop (700)", 3_000.0), ("idle", 3_000.0)];
    assert_eq!(own, parts(&expected));
}

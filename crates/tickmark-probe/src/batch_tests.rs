//! The batch loop under a mock clock: nothing here depends on the machine.

use super::*;
use crate::Counts;
use crate::clock::Mock;
use crate::{Gauge, Reading};
use std::cell::{Cell, RefCell};

fn shape() -> Shape {
    Shape {
        operations: NonZeroU64::MIN,
        expected: Expected::NONE,
        physical_floor: Picos::ZERO,
        bytes: 0,
        over: 0,
        most: 1 << 40,
    }
}

fn budget(time_ms: i32) -> Budget {
    Budget {
        time: Nanos::from_millis(time_ms),
        batch: Nanos::new(100_000),
        gauge: Gauge::nanos(),
        phase: None,
        stop: None,
    }
}

/// Says that the thread had `share` per cent of the CPU, and what a test puts into `counts`.
struct MockMeter<'a> {
    clock: &'a Cell<u64>,
    counts: &'a RefCell<Counts>,
    share: u64,
}

impl Meter for MockMeter<'_> {
    fn counts(&mut self) -> Counts {
        self.clock.set(self.clock.get() + 211);
        *self.counts.borrow()
    }
    fn reading(&mut self) -> Reading {
        Reading { cpu: self.cpu(), multiply: Picos::new(1000), ..Reading::default() }
    }
    fn cpu(&mut self) -> Nanos {
        Nanos::new((self.clock.get() * self.share / 100) as i64)
    }
}

/// A machine whose operation costs `cost` ns and that loses `tick` ns every `period` ns.
fn run(cost: u64, period: u64, tick: u64, share: u64, time_ms: i32) -> (Batches, Vec<Segment>) {
    let now = Cell::new(1_000);
    let counts = RefCell::new(Counts::default());
    let mut meter = MockMeter { clock: &now, counts: &counts, share };
    let mut body = |count: u64| {
        let before = now.get();
        let work = count * cost;
        let ticks = (before + work) / period - before / period;
        now.set(before + work + ticks * tick);
        Ok(())
    };
    stream(Mock(&now), &mut meter, &shape(), &budget(time_ms), &mut body, None).unwrap()
}

#[test]
fn batches_hold_at_most_their_length_and_carry_every_tick() {
    let (batches, _) = run(50, 4_000_000, 15_000, 100, 100);
    let n = batches.iterations.get() as i64;
    assert!(n * 50 <= 100_000 && n * 50 >= 50_000, "{n}");
    let ticked = batches.elapsed.iter().filter(|e| e.get() > n * 50).count();
    assert!(batches.elapsed.iter().all(|e| (e.get() - n * 50) % 15_000 == 0));
    let span = batches.start.last().unwrap().get() as usize;
    assert!(ticked.abs_diff(span / 4_000_000) <= 1, "{ticked} ticks in {span} ns");
}

#[test]
fn the_stream_is_contiguous() {
    let (batches, _) = run(50, u64::MAX, 0, 100, 20);
    let gap = |i: usize| batches.start[i + 1].get() - batches.start[i].get() - batches.elapsed[i].get();
    assert!((0..batches.start.len() - 1).all(|i| gap(i) == 211), "only getrusage stands between");
    assert_eq!(batches.start[0], Nanos::new(211));
}

#[test]
fn one_operation_longer_than_a_batch_is_a_batch() {
    let (batches, _) = run(1_400_000, u64::MAX, 0, 100, 100);
    assert_eq!(batches.iterations.get(), 1);
    assert_eq!(batches.elapsed.len(), 100, "goes on past its budget for a percentile");
}

#[test]
fn a_starved_probe_gets_four_times_its_time_and_no_more() {
    let span = |share| run(50, u64::MAX, 0, share, 40).0.start.last().unwrap().get() / 1_000_000;
    assert!((39..=40).contains(&span(100)));
    assert!((79..=80).contains(&span(25)), "{}", span(25));
    assert!((159..=160).contains(&span(1)), "{}", span(1));
}

#[test]
fn segments_cover_the_run_and_last_50_ms() {
    let (batches, segments) = run(50, u64::MAX, 0, 100, 180);
    assert_eq!(segments.len(), 3);
    assert!(segments.iter().all(|s| s.wall.get() >= 50_000_000), "{segments:?}");
    let end = segments.last().map(|s| s.start.get() + s.wall.get()).unwrap();
    assert!(end >= batches.start.last().unwrap().get());
    assert!(segments.iter().all(|s| (s.cpu.get() - s.wall.get()).abs() < 1_000));
}

#[test]
fn a_batch_carries_its_deviation_from_what_the_spec_declares() {
    let now = Cell::new(0);
    let counts = RefCell::new(Counts::default());
    let mut meter = MockMeter { clock: &now, counts: &counts, share: 100 };
    let calls = Cell::new(0);
    let mut body = |count: u64| {
        calls.set(calls.get() + 1);
        now.set(now.get() + count * 10_000);
        let extra = i64::from(calls.get() == 40);
        let mut c = counts.borrow_mut();
        *c = Counts { switches: c.switches + count as i64 + extra, faults: c.faults + 2 * extra, ..*c };
        Ok(())
    };
    let shape = Shape { expected: Expected { switches: Some(1), faults: Some(0) }, ..shape() };
    let (batches, _) = stream(Mock(&now), &mut meter, &shape, &budget(10), &mut body, None).unwrap();
    assert_eq!(batches.disturbed.len(), 1);
    assert_eq!((batches.disturbed[0].switches, batches.disturbed[0].faults), (1, 2));
    let warm_up = 40 - 1 - batches.disturbed[0].batch;
    assert!(warm_up > 0 && warm_up < 40);
}

#[test]
fn a_cost_below_the_physical_floor_is_refused() {
    let now = Cell::new(0);
    let counts = RefCell::new(Counts::default());
    let mut meter = MockMeter { clock: &now, counts: &counts, share: 100 };
    let mut body = |_count: u64| {
        now.set(now.get() + 30);
        Ok(())
    };
    let shape = Shape { physical_floor: Picos::new(100), ..shape() };
    let error = stream(Mock(&now), &mut meter, &shape, &budget(1), &mut body, None).unwrap_err();
    assert!(matches!(error, ProbeError::BelowFloor { .. }), "{error}");
}

#[test]
fn a_failing_operation_ends_the_run() {
    let now = Cell::new(0);
    let counts = RefCell::new(Counts::default());
    let mut meter = MockMeter { clock: &now, counts: &counts, share: 100 };
    let mut body = |_| Err(CallError { call: "read", errno: libc::EIO });
    let error = stream(Mock(&now), &mut meter, &shape(), &budget(1), &mut body, None).unwrap_err();
    assert!(matches!(error, ProbeError::Call(CallError { errno: libc::EIO, .. })));
}

#[test]
fn what_is_done_between_batches_is_in_no_batch() {
    let now = std::rc::Rc::new(Cell::new(1_000));
    let counts = RefCell::new(Counts::default());
    let mut meter = MockMeter { clock: &now, counts: &counts, share: 100 };
    let mut body = |count: u64| {
        now.set(now.get() + count * 50);
        Ok(())
    };
    let later = std::rc::Rc::clone(&now);
    let mut between: Between = Box::new(move || {
        later.set(later.get() + 7_000);
        Ok(())
    });
    let shape = Shape { most: 64, ..shape() };
    let batches =
        stream(Mock(&now), &mut meter, &shape, &budget(20), &mut body, Some(&mut between)).unwrap().0;
    assert_eq!(batches.iterations.get(), 64, "no more calls than what was made ready");
    assert!(batches.elapsed.iter().all(|elapsed| elapsed.get() == 64 * 50));
    let gap = |i: usize| batches.start[i + 1].get() - batches.start[i].get() - batches.elapsed[i].get();
    assert!((0..batches.start.len() - 1).all(|i| gap(i) == 7_000 + 2 * 211));
}

//! Deadlines on both kinds of clocks.

use super::*;
use crate::counter_is_trusted;

/// A sleeper on each kind of clock.
fn both() -> [Sleeper; 2] {
    let with = Sleeper::new(Options::default());
    let mut without = Sleeper::new(Options::default());
    without.clock = None;
    [with, without]
}

#[test]
fn nothing_returns_before_its_deadline() {
    for mut sleeper in both() {
        let mut early = 0;
        for step in 0..200u64 {
            let deadline = monotonic_ns() + 1_000 + step * 2_500;
            let woken = sleeper.sleep_until(deadline).unwrap();
            let now = monotonic_ns();
            // The counter's ticks and the clock's are rounded.
            early += usize::from(now + 50 < deadline || woken.late > now.saturating_sub(deadline) + 50);
        }
        // A hypervisor may stop all four readings of an anchor.
        assert!(early <= 2, "{early} of 200");
        let report = sleeper.report();
        assert_eq!(report.wakes, 200);
        assert!(report.spun > 0 && report.cpu > 0.0 && report.late <= 200);
    }
}

#[test]
fn a_deadline_that_has_passed_returns_at_once() {
    for mut sleeper in both() {
        for deadline in [0, 1, monotonic_ns() - 5_000_000] {
            let woken = sleeper.sleep_until(deadline).unwrap();
            assert!(!woken.in_time && woken.spun == 0 && woken.late >= 5_000_000);
        }
    }
}

#[test]
fn deadlines_of_the_counter_are_met() {
    let mut sleeper = Sleeper::new(Options::default());
    if !counter_is_trusted() {
        let refused = sleeper.sleep_until_counter(0).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        return;
    }
    let clock = sleeper.clock.unwrap();
    for micros in [0, 3, 200, 20_000] {
        let deadline = counter() + clock.ticks(micros * 1_000);
        sleeper.sleep_until_counter(deadline).unwrap();
        assert!(counter() >= deadline);
    }
    assert!(!sleeper.sleep_until_counter(counter() - 1_000_000).unwrap().in_time);
}

/// A period below the margin: it does not spin for ever, as it would learn nothing more.
#[test]
fn short_periods_are_slept_for_now_and_then() {
    let mut sleeper = Sleeper::new(Options::default());
    let mut deadline = monotonic_ns();
    for _ in 0..400 {
        deadline = deadline.max(monotonic_ns()) + 50_000;
        sleeper.sleep_until(deadline).unwrap();
    }
    assert!(sleeper.latencies.wake_ups() > 0, "{:?}", sleeper.report());
}

#[test]
fn the_slack_of_the_thread_comes_back() {
    std::thread::spawn(|| {
        assert!(sys::set_slack(77_000));
        let sleeper = Sleeper::new(Options::default());
        assert_eq!(sys::slack(), Some(1));
        drop(sleeper);
        assert_eq!(sys::slack(), Some(77_000));
    })
    .join()
    .unwrap();
}

#[test]
fn a_tick_within_the_wait_is_seen() {
    let tick = Tick { period: 4e6, phase: 1_000_000, cost: 15_000 };
    assert!(tick.falls_into(4_999_000, 5_001_000) && tick.falls_into(5_000_000, 5_000_001));
    assert!(!tick.falls_into(5_000_100, 8_999_000) && !tick.falls_into(1_000_100, 1_000_200));
    assert!(tick.falls_into(0, 1_000_000));
}

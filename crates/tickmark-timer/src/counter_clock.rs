//! The counter as a clock of a running program: calibrated against CLOCK_MONOTONIC, and again as time goes on.

use crate::{Anchor, CLOCKSOURCE, Scale, counter, counter_is_invariant, fenced_counter, monotonic_ns};
use std::sync::OnceLock;

/// The first calibration takes so long, in ns: 10 ns of each anchor's error are 10 ppm, and of a margin 1 ns.
const FIRST: u64 = 2_000_000;
/// The rate is that of the last stretch of so many ns, at most twice as many: the clock is steered (NTP), the counter is not.
const STRETCH: u64 = 16_000_000_000;
/// A rate does not change by so much, as a share: one of both stood still, as the clock does while the machine is suspended.
const JUMP: f64 = 1e-3;
/// Readings of the clock that are tried at most until one was not interrupted.
const TRIES: usize = 16;

/// True if the processor's counter can stand for a clock: it runs at one rate, and the kernel, which watches it, has not taken it off its
/// list of clock sources. Without /sys the processor's word has to do.
#[must_use]
pub fn counter_is_trusted() -> bool {
    let list = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let listed = |text: String| text.split_whitespace().any(|name| name == CLOCKSOURCE);
    counter_is_invariant() && std::fs::read_to_string(list).map_or(true, listed)
}

/// The counter and its rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CounterClock {
    scale: Scale,
    /// Ticks in a nanosecond.
    rate: f64,
    first: Anchor,
    last: Anchor,
    /// By how much the rate changed at the last calibration, as a share.
    drift: f64,
    /// Time of a reading of the clock that is not interrupted, in ticks.
    narrow: u64,
}

impl CounterClock {
    /// Takes 2 ms, once in the life of the program. None where there is no counter to trust.
    pub(crate) fn calibrated() -> Option<Self> {
        static FOUND: OnceLock<Option<CounterClock>> = OnceLock::new();
        *FOUND.get_or_init(Self::calibrate)
    }

    fn calibrate() -> Option<Self> {
        if !counter_is_trusted() {
            return None;
        }
        let first = Anchor::take();
        while monotonic_ns() - first.nanos < FIRST {}
        let last = Anchor::take();
        let scale = Scale::between(first, last)?;
        // Of the first reading nobody knows whether it was interrupted: what is known from here on is the least of some.
        let narrow = (0..TRIES).map(|_| bracketed().0).min().unwrap_or(u64::MAX);
        Some(Self { scale, rate: scale.frequency() / 1e9, first, last, drift: 0.0, narrow })
    }

    /// One moment on both clocks, in the time of three readings; calibrates again where the stretch since the last time has doubled.
    pub(crate) fn now(&mut self) -> Anchor {
        let anchor = self.read();
        self.take_in(anchor);
        anchor
    }

    fn take_in(&mut self, anchor: Anchor) {
        let (known, own) =
            (self.last.nanos - self.first.nanos, anchor.nanos.saturating_sub(self.first.nanos));
        if own > (2 * known).max(FIRST) {
            let scale = Scale::between(self.first, anchor);
            let drift = scale.map(|scale| scale.frequency() / 1e9 / self.rate - 1.0);
            // Of a new stretch any rate is taken: it began after what made the last one wrong.
            match scale.zip(drift).filter(|(_, drift)| known == 0 || drift.abs() < JUMP) {
                Some((scale, drift)) => {
                    (self.scale, self.rate, self.drift) = (scale, scale.frequency() / 1e9, drift);
                    self.first = if known > STRETCH { self.last } else { self.first };
                    self.last = anchor;
                }
                // A suspend: the rate stays, and a new stretch begins.
                None => (self.first, self.last) = (anchor, anchor),
            }
        }
    }

    /// Reads the clock between two readings of the counter, again where that took much longer than it can.
    fn read(&mut self) -> Anchor {
        self.closest(std::iter::repeat_with(bracketed).take(TRIES))
    }

    /// The first of these readings that was not interrupted, else the one that took least: where none is as short as it was, the processor is slower now.
    fn closest(&mut self, readings: impl Iterator<Item = (u64, Anchor)>) -> Anchor {
        let mut best = (u64::MAX, Anchor { ticks: 0, nanos: 0 });
        for (width, anchor) in readings {
            if width < best.0 {
                best = (width, anchor);
            }
            if width <= self.narrow.saturating_add(self.narrow / 2) {
                self.narrow = self.narrow.min(width);
                return best.1;
            }
        }
        self.narrow = best.0;
        best.1
    }

    /// Ticks in so many ns.
    #[inline]
    pub(crate) fn ticks(&self, nanos: u64) -> u64 {
        (nanos as f64 * self.rate) as u64
    }

    /// Nanoseconds in so many ticks.
    #[inline]
    pub(crate) fn nanos(&self, ticks: u64) -> u64 {
        self.scale.nanos(ticks)
    }

    /// Spins until the counter has this value, by how many ns it was exceeded; none where there is a reason to stop before.
    #[inline]
    pub(crate) fn spin_until(&self, target: u64, stop: impl Fn() -> bool) -> Option<u64> {
        loop {
            // The difference is negative until then: a counter may wrap around.
            let over = counter().wrapping_sub(target);
            if over < 1 << 63 {
                return Some(self.scale.nanos(over));
            }
            if stop() {
                return None;
            }
        }
    }

    /// By how much the rate of the counter against the clock changed at the last calibration, as a share.
    pub(crate) fn drift(&self) -> f64 {
        self.drift
    }
}

/// One moment on both clocks, and how many ticks the reading took.
fn bracketed() -> (u64, Anchor) {
    let before = fenced_counter();
    let nanos = monotonic_ns();
    let width = fenced_counter().wrapping_sub(before);
    (width, Anchor { ticks: before.wrapping_add(width / 2), nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reading_is_interrupted_and_is_not_believed() {
        let wide = |width: u64| (width, Anchor { ticks: width, nanos: 0 });
        let mut clock = CounterClock { narrow: 60, ..clock(1.0) };
        let readings = [1_000_000, 500_000, 70, 60].map(wide);
        assert_eq!(clock.closest(readings.into_iter()).ticks, 70);
        assert_eq!(clock.closest([200_000, 55].map(wide).into_iter()).ticks, 55);
        assert_eq!(clock.narrow, 55);
        // Half the frequency: the least of them, and from then on the first that is no longer than that.
        assert_eq!(clock.closest([130, 110, 120].map(wide).into_iter()).ticks, 110);
        assert_eq!(clock.closest([9_000, 115, 100].map(wide).into_iter()).ticks, 115);
        let known = CounterClock::calibrate().is_none_or(|clock| clock.narrow < u64::MAX);
        assert!(known, "a calibrated clock knows what a reading takes");
    }

    #[test]
    fn the_counter_keeps_the_clocks_time_for_a_while() {
        let Some(mut clock) = CounterClock::calibrate() else {
            assert!(!counter_is_trusted());
            return;
        };
        let first = clock.now();
        while monotonic_ns() - first.nanos < 50_000_000 {
            clock.now();
        }
        let last = clock.now();
        let own = clock.nanos(last.ticks - first.ticks) as f64;
        let real = (last.nanos - first.nanos) as f64;
        assert!((own / real - 1.0).abs() < 1e-3, "{own} for {real}");
        assert!(clock.ticks(1_000_000).abs_diff(clock.ticks(2_000_000) / 2) <= 1);
        // A microsecond ahead, and not over at once.
        let target = counter() + clock.ticks(1_000);
        assert!(clock.spin_until(target, || false).is_some() && counter() >= target);
        assert_eq!(clock.spin_until(counter() + clock.ticks(1_000_000_000), || true), None);
    }

    /// A counter of 1 GHz, so many seconds after it was calibrated; it is 30 s ahead from the first suspend on.
    fn planted(suspended: bool, seconds: f64) -> Anchor {
        let nanos = 1_000_000_000_000 + (seconds * 1e9) as u64;
        Anchor { ticks: nanos + if suspended { 30_000_000_000 } else { 0 }, nanos }
    }

    fn clock(rate: f64) -> CounterClock {
        let (first, last) = (planted(false, 0.0), planted(false, 0.002));
        let scale =
            Scale::between(first, Anchor { ticks: first.ticks + (2e6 * rate) as u64, ..last }).unwrap();
        CounterClock { scale, rate, first, last, drift: 0.0, narrow: u64::MAX }
    }

    #[test]
    fn a_suspend_changes_no_rate() {
        let mut clock = clock(1.0);
        for second in 1..40 {
            clock.take_in(planted(second > 20, f64::from(second)));
            assert!((clock.rate - 1.0).abs() < 1e-6, "{second} s: {}", clock.rate);
            assert_eq!(clock.ticks(30_000), 30_000);
        }
    }

    #[test]
    fn a_rate_that_was_wrong_from_the_beginning_is_put_right() {
        let mut clock = clock(1.05);
        for second in 1..10 {
            clock.take_in(planted(false, f64::from(second)));
        }
        assert!((clock.rate - 1.0).abs() < 1e-6, "{}", clock.rate);
    }
}

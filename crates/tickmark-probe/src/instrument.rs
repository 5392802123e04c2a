//! The instrument measures itself: which clock stamps, how fine it is, what it costs.

use crate::clock::{COUNTER, Clock, Counter, Monotonic};
use crate::sys::chain;
use tickmark_timer::{Anchor, Scale, counter_is_trusted};
use tickmark_wire::{Instrument, Nanos, Picos, StampClock};

/// The clock to stamp with, and what one of its ticks is worth.
#[derive(Debug, Clone, Copy)]
pub struct Gauge {
    /// The clock.
    pub clock: StampClock,
    /// A first calibration, over some milliseconds; runs refine it over their own length.
    pub scale: Scale,
    first: Anchor,
    /// True if the scale is known and needs no calibration.
    exact: bool,
}

impl Gauge {
    /// Takes the counter where processor and kernel both trust it, or the plan knows what it is, else CLOCK_MONOTONIC.
    #[must_use]
    pub fn choose(counter_is_nanoseconds: bool) -> Self {
        let first = Anchor::take();
        let monotonic = Self { clock: StampClock::Monotonic, scale: Scale::NANOS, first, exact: true };
        if counter_is_nanoseconds {
            return Self { clock: COUNTER, ..monotonic };
        }
        if !counter_is_trusted() {
            return monotonic;
        }
        while tickmark_timer::monotonic_ns() - first.nanos < 2_000_000 {}
        match Scale::between(first, Anchor::take()) {
            Some(scale) => Self { clock: COUNTER, scale, first, exact: false },
            None => monotonic,
        }
    }

    /// A gauge for ticks that are nanoseconds.
    #[cfg(test)]
    pub(crate) fn nanos() -> Self {
        let first = Anchor { ticks: 0, nanos: 0 };
        Self { clock: StampClock::Monotonic, scale: Scale::NANOS, first, exact: true }
    }

    /// True if the processor's counter stamps, and not a clock of the kernel.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.clock == COUNTER
    }

    /// True if time is a count of instructions: then nothing is done that a plain loop would not do.
    #[must_use]
    pub fn counts_instructions(&self) -> bool {
        self.counts() && self.exact
    }

    /// The longest batch of a length that the clock can tell: twenty of its steps, where those are longer. A clock that
    /// steps with the tick rounds everything that is shorter to nothing.
    #[must_use]
    pub fn longest_batch(&self, limit: Nanos) -> Nanos {
        let step = || {
            let begin = Monotonic.now();
            let changed = std::iter::repeat_with(|| Monotonic.now()).find(|now| *now != begin);
            changed.map_or(0, |now| now - begin)
        };
        let step = if self.counts() {
            0
        } else {
            // The first may be the rest of one, and another task may make one long.
            step();
            (0..3).map(|_| step()).min().unwrap_or(0)
        };
        limit.max(Nanos::new(step as i64 * 20))
    }

    /// Ticks a second of the counter, also where another clock stamps.
    #[must_use]
    pub fn counter_frequency(&self) -> f64 {
        if self.counts() {
            return self.scale.frequency();
        }
        while tickmark_timer::monotonic_ns() - self.first.nanos < 2_000_000 {}
        Scale::between(self.first, Anchor::take()).map_or(1e9, Scale::frequency)
    }

    /// The calibration from an earlier anchor to now, where that is longer than the first one.
    #[must_use]
    pub fn refined(&self, since: Anchor) -> Scale {
        if self.exact {
            return self.scale;
        }
        let now = Anchor::take();
        let longer = now.nanos.saturating_sub(since.nanos) > 10_000_000;
        let from = if longer { since } else { self.first };
        Scale::between(from, now).unwrap_or(self.scale)
    }

    /// Precision, cost of a stamp and cost of an empty iteration, as this process finds them.
    #[must_use]
    pub fn measure(&self) -> Instrument {
        let (precision, stamp, empty_iteration) =
            if self.counts() { self.measure_with(Counter) } else { self.measure_with(Monotonic) };
        let frequency = self.refined(self.first).frequency();
        Instrument { clock: self.clock, precision, stamp, empty_iteration, frequency }
    }

    fn measure_with<C: Clock>(&self, clock: C) -> (Picos, Picos, Picos) {
        let mut step = u64::MAX;
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            if now > last {
                step = step.min(now - last);
            }
            last = now;
        }
        let stamp = self.least(clock, 100, |count| {
            for _ in 0..count {
                std::hint::black_box(clock.now());
            }
        });
        let empty = self.least(clock, 10_000, |count| {
            let mut carried = 0;
            for _ in 0..count {
                carried = chain::opaque(carried);
            }
        });
        (self.picos(step, 1), stamp, empty)
    }

    /// The cost of one iteration in the fastest of 20 short batches.
    fn least<C: Clock>(&self, clock: C, count: u64, body: impl Fn(u64)) -> Picos {
        let batch = |_| {
            let start = clock.now();
            body(count);
            clock.now() - start
        };
        self.picos((0..20).map(batch).min().unwrap_or(0), count)
    }

    fn picos(&self, ticks: u64, count: u64) -> Picos {
        // Scaled up first: single ticks are below a nanosecond.
        Picos::per(Nanos::new(self.scale.nanos(ticks.saturating_mul(1 << 20)) as i64), count << 20)
    }
}

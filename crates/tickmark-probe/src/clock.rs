//! Clocks that stamp batches.

use tickmark_wire::StampClock;

/// The clock that reads the processor's counter.
pub(crate) const COUNTER: StampClock =
    if cfg!(target_arch = "aarch64") { StampClock::Cntvct } else { StampClock::Tsc };

/// A clock that counts up. Ticks become nanoseconds after the measuring (tickmark-timer's `Scale`).
pub trait Clock: Copy {
    /// Whether its loop asks the kernel after long gaps which task had the CPU.
    const ASKS: bool = true;

    /// The present, in ticks.
    fn now(self) -> u64;
}

/// The processor's counter, read after everything before it was executed.
#[derive(Debug, Clone, Copy)]
pub struct Counter;

impl Clock for Counter {
    #[inline(always)]
    fn now(self) -> u64 {
        tickmark_timer::fenced_counter()
    }
}

/// CLOCK_MONOTONIC; a tick is a nanosecond.
#[derive(Debug, Clone, Copy)]
pub struct Monotonic;

impl Clock for Monotonic {
    #[inline(always)]
    fn now(self) -> u64 {
        tickmark_timer::monotonic_ns()
    }
}

/// A clock that a test moves by hand; a tick is a nanosecond.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mock<'a>(pub(crate) &'a std::cell::Cell<u64>);

#[cfg(test)]
impl Clock for Mock<'_> {
    fn now(self) -> u64 {
        self.0.get()
    }
}

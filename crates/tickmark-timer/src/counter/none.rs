//! No counter that this crate reads on this architecture: CLOCK_MONOTONIC in its stead.

use crate::monotonic_ns;

/// The kernel's name for it as a clock source.
pub const CLOCKSOURCE: &str = "none";

/// True if there is a counter that a program can read.
#[must_use]
pub fn has_counter() -> bool {
    false
}

/// True if it runs at one rate in every power state.
#[must_use]
pub fn counter_is_invariant() -> bool {
    false
}

/// CLOCK_MONOTONIC.
#[must_use]
pub fn counter() -> u64 {
    monotonic_ns()
}

/// CLOCK_MONOTONIC.
#[must_use]
pub fn fenced_counter() -> u64 {
    monotonic_ns()
}

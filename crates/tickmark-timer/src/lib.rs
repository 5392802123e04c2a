//! The time stamp counter as a clock: whether it can be trusted, how to read it, and how its ticks
//! become nanoseconds of CLOCK_MONOTONIC.

mod scale;
mod sys;

pub use scale::{Anchor, Scale};
pub use sys::{fenced_tsc, has_rdtscp, has_tsc, monotonic_ns, rdtscp, tsc, tsc_is_invariant};

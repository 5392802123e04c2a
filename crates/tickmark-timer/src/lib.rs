//! The processor's counter as a clock: whether it can be trusted, how to read it, and how its ticks
//! become nanoseconds of CLOCK_MONOTONIC.

mod counter;
mod monotonic;
mod scale;

pub use counter::*;
pub use monotonic::monotonic_ns;
pub use scale::{Anchor, Scale};

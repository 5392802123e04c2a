//! Timers for programs that mean it: the processor's counter as a clock, sleeping until a deadline to some ten nanoseconds, and a queue for millions of
//! pending timers.
//!
//! - [`counter()`] and its kin read the counter (TSC, CNTVCT_EL0); [`Anchor`] and [`Scale`] turn its ticks into CLOCK_MONOTONIC.
//! - [`Sleeper`] sleeps until a deadline, of the clock or of the counter.
//! - [`TimerQueue`] keeps pending timers in the order of their deadlines; [`Timers`] serves one on a thread of its own.
//! - [`AsyncTimers`] wakes tasks: of tokio or of any other executor.
//!
//! # Where things are
//!
//! - **Timers**: `timer/src/sleeper.rs` (its margin: `margin.rs`), `queue.rs` (the wheel in `queue/`), `driver.rs` (what wakes it:
//!   `driver/event.rs`, on loom's primitives under `--cfg loom`). What they are compared with: `benches/`.

mod counter;
mod counter_clock;
mod driver;
mod future;
mod margin;
mod monotonic;
mod queue;
mod scale;
mod sleeper;
mod sys;

pub use counter::*;
pub use counter_clock::counter_is_trusted;
pub use driver::{DriverOptions, Served, Timers};
pub use future::{AsyncTimers, SleepUntil};
pub use monotonic::monotonic_ns;
pub use queue::{Expired, Full, TimerId, TimerQueue};
pub use scale::{Anchor, Scale};
pub use sleeper::{Options, Report, Sleeper, Tick, Woken};

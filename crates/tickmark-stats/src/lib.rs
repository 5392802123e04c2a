//! Pure statistics. Slices of numbers come in, figures come out: no file, no clock, no recording.
#![forbid(unsafe_code)]

pub mod batches;
pub mod contention;
pub mod curve;
mod estimate;
pub mod offset;
mod quantile;
mod spectrum;
pub mod tick;

pub use estimate::{Estimate, Interval, Spread, median_of_runs, spread};
pub use quantile::{Sorted, median};

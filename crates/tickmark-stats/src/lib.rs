//! Pure statistics. Slices of numbers come in, figures come out: no file, no clock, no recording.
#![forbid(unsafe_code)]

pub mod batches;
pub mod contention;
pub mod curve;
mod estimate;
pub mod multiple;
pub mod nested;
pub mod offset;
mod quantile;
pub mod rank;
mod spectrum;
pub mod student;
pub mod tick;
pub mod two;
pub mod verdict;

pub use estimate::{Estimate, Interval, Spread, median_of_runs, spread};
pub use quantile::{Sorted, median};

//! Pure statistics. Slices of numbers come in, figures come out: no file, no clock, no recording.
#![forbid(unsafe_code)]

pub mod balance;
pub mod batches;
pub mod bootstrap;
pub mod change;
pub mod composite;
pub mod contention;
pub mod curve;
pub mod dose;
pub mod earlier;
mod estimate;
pub mod extreme;
pub mod gate;
pub mod linear;
pub mod multiple;
pub mod nested;
pub mod offset;
pub mod outlying;
pub mod permutation;
pub mod plan;
mod quantile;
pub mod rank;
pub mod rare;
pub mod series;
pub mod states;
pub mod student;
pub mod summary;
pub mod tick;
pub mod trend;
pub mod trimmed;
pub mod two;
pub mod verdict;

pub use estimate::{Estimate, Interval, Spread, median_of_runs, spread};
pub use quantile::{Sorted, median, quantile};

//! Pure statistics. Slices of numbers come in, figures come out: no file, no clock, no recording.
//!
//! # Where things are
//!
//! - **Verdicts**: `stats/src/verdict.rs`; `verdict/sides.rs` has the designs, `verdict/family.rs` says which test judges and shares the level.
//!   The tests are `permutation.rs` (labels), `two.rs`, `trimmed.rs` and `student.rs` beside it; `composite.rs` makes one value of a group,
//!   `trend.rs` of settings that are numbers; `plan.rs` looks ahead. What counts as a replicate: `tickmark-analysis/src/comparison/basis.rs`;
//!   what earlier recordings say of them: `history.rs` beside it, `pace.rs` for what is told by the processor's own pace; groups and trends:
//!   `group.rs`, `trend.rs`. Blocks that are added: `tickmark/src/command/setting/more.rs`. How often it is wrong: `stats/tests/`, `cargo xtask peers
//!   aa`, `peers history` and `trials`.
//! - **Levels in history**: `stats/src/change.rs` finds them, `tickmark-analysis/src/history.rs` says of what.
//! - **Levels of memory**: `stats/src/curve.rs` finds them, `tickmark-analysis/src/report/levels.rs` names them.
#![forbid(unsafe_code)]

pub mod balance;
pub mod batches;
pub mod bisection;
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
pub mod order;
pub mod outlying;
pub mod permutation;
pub mod plan;
mod quantile;
pub mod rank;
pub mod rare;
pub mod sequential;
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

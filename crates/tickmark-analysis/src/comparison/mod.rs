//! Recordings side by side. What is compared are replicates, never the runs or samples inside one, unless that is asked for.

mod basis;
mod build;
mod class;
mod environment;
mod figures;
mod group;
mod history;
mod judged;
mod line;
mod model;
mod no_claim;
mod options;
mod pace;
mod side;
mod trend;

pub use basis::{Basis, Unit};
pub use build::{Incomparable, build};
pub use environment::Difference;
pub(crate) use environment::between;
pub use group::GroupLine;
pub use history::{Earlier, Occasions};
pub use line::{Checks, Exact, Line, Marked, Word};
pub use model::{Against, Caution, Deciding, Model, Party};
pub use no_claim::NoClaimReason;
pub use options::{CompareOptions, RowFilter, RowSelection};
pub use side::Side;
pub(crate) use side::of_runs;
pub use trend::{Doses, TrendLine};

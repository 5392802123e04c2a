//! Recordings side by side. What is compared are replicates, never the runs or samples inside one, unless that is asked for.

mod basis;
mod build;
mod environment;
mod history;
mod line;
mod model;
mod side;
mod why;

pub use basis::{Basis, Unit};
pub use build::{Asked, Incomparable, build};
pub use environment::Difference;
pub use history::{Earlier, Occasions};
pub use line::{Checks, Exact, Line, Marked, Word};
pub use model::{Against, Caution, Deciding, Model, Party};
pub use side::Side;
pub use why::Why;

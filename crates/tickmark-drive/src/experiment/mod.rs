//! Interleaved experiments: a knob, its settings in blocks of random order, everything put back at the end.

mod definition;
mod outcome;
mod run;
mod sides;

pub use definition::{Added, Asked, Experiment};
pub use outcome::{Outcome, Take};
pub use run::{Guard, Halt, not_restored};

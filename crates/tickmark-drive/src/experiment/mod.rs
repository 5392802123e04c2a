//! Interleaved experiments: a knob, its settings in blocks of random order, everything put back at the end.

mod definition;
mod file;
mod outcome;
mod run;
mod sides;

pub use definition::Experiment;
pub use file::{Asked, read};
pub use outcome::{Outcome, Take};
pub use run::{Guard, Halt, not_restored};

pub(crate) use file::from_toml;

//! Interleaved experiments: a knob, its settings in blocks of random order, everything put back at the end.

mod commands;
mod definition;
mod extraction;
mod outcome;
mod program;
mod run;
mod sides;

pub use definition::{Added, Experiment, ExperimentRequest};
pub use extraction::{Extraction, Finder};
pub use outcome::{Outcome, OutcomeSource};
pub use program::{Program, Trial, run_command};
pub use run::{Guard, Halt, not_restored};

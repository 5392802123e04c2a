//! Carries plans out: targets (this machine, one over ssh, a guest), knobs that are turned in interleaved blocks, the journal by
//! which everything is put back, matrices of boots.
//!
//! It makes no figure, prints nothing and knows no command line: what there is to say on the way goes to the [`Control`] of the
//! work, and what goes wrong is an [`Error`].
#![forbid(unsafe_code)]

mod control;
mod error;
pub mod experiment;
pub mod file;
pub mod fleet;
mod journal;
pub mod knob;
pub mod lab;
pub mod plan;
mod setting_file;
mod shell;
pub mod target;

pub use control::{Control, Told};
pub use error::Error;
pub use experiment::Experiment;
pub use journal::restore::{Restored, restore};
pub use journal::restore_after_panic;
pub use target::{Heard, Target, ThisMachine};

//! Interleaved experiments: a knob, its settings in blocks of random order, everything put back at the end.

mod definition;
mod file;
mod journal;
mod knob;
mod lock;
mod outcome;
mod pilot;
mod quota;
mod restore;
mod run;
mod setting_file;
mod shell;
mod sides;

pub(crate) use definition::Experiment;
pub(crate) use file::{Asked, from_toml, read};
pub(crate) use knob::{Knob, distinct, parse};
pub(crate) use outcome::{Outcome, Take};
pub(crate) use pilot::{PAIRS, POWER, Reach, expected, reach};
pub(crate) use restore::restore;
pub(crate) use run::{Guard, Halt, not_restored};

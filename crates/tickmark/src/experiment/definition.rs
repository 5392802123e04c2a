//! An experiment as it is to be carried out.

use super::knob::Knob;
use super::outcome::Outcome;
use std::time::Duration;
use tickmark_probe::Probe;
use tickmark_wire::{Nanos, Settings};

/// What is to be done.
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) knob_name: String,
    pub(crate) knob: Knob,
    /// The first is what the others are compared with.
    pub(crate) settings: Vec<String>,
    pub(crate) probes: Vec<&'static Probe>,
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) blocks: u32,
    /// What one block of one setting may measure.
    pub(crate) slice: Nanos,
    /// Ends it, after the block that runs.
    pub(crate) budget: Option<Duration>,
    pub(crate) measured: Settings,
    /// The recordings to go on with, one for each setting; none to begin anew.
    pub(crate) resumed: Vec<tickmark_store::Id>,
}

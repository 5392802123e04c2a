//! An experiment as it is to be carried out.

use super::outcome::Outcome;
use crate::knob::Knob;
use std::time::Duration;
use tickmark_wire::{Nanos, Offer, Settings};

/// What is to be done.
pub struct Experiment {
    /// What its recordings are called, before their setting.
    pub name: String,
    /// As it was typed.
    pub knob_name: String,
    /// What is turned.
    pub knob: Box<dyn Knob>,
    /// The first is what the others are compared with.
    pub settings: Vec<String>,
    /// What is measured.
    pub probes: Vec<Offer>,
    /// Commands whose numbers are kept beside it.
    pub outcomes: Vec<Outcome>,
    /// How often each setting is measured.
    pub blocks: u32,
    /// What one block of one setting may measure.
    pub slice: Nanos,
    /// Ends it, after the block that runs.
    pub budget: Option<Duration>,
    /// What the measured processes are given, whatever the setting.
    pub measured: Settings,
    /// The recordings to go on with, one for each setting; none to begin anew.
    pub resumed: Vec<tickmark_store::Id>,
}

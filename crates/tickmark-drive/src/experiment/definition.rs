//! An experiment as it is to be carried out.

use super::outcome::Outcome;
use super::program::Program;
use crate::knob::{Knob, Turned};
use crate::lab::Report;
use std::ops::RangeInclusive;
use std::time::Duration;
use tickmark_wire::{Nanos, Offer, Settings};

/// An experiment to carry out.
pub struct Experiment {
    /// Name of its recordings, before the setting.
    pub name: String,
    /// As it was typed.
    pub knob_name: String,
    /// The knob.
    pub knob: Box<dyn Knob>,
    /// The first is what the others are compared with.
    pub settings: Vec<String>,
    /// The probes to measure.
    pub probes: Vec<Offer>,
    /// Commands whose numbers are kept beside it.
    pub outcomes: Vec<Outcome>,
    /// The command that each setting is about, with all that the kernel says of it; none for an experiment on probes.
    pub programs: Vec<Program>,
    /// After how many blocks it is looked at, and ends if it is decided; empty where it is looked at once.
    pub looks: Vec<u32>,
    /// The metrics that carry its claims; empty where all do.
    pub primary: Vec<String>,
    /// How often each setting is measured.
    pub blocks: u32,
    /// Longest measuring time of one setting in a block.
    pub slice: Nanos,
    /// Ends it, after the block that runs.
    pub budget: Option<Duration>,
    /// Settings of the measured processes under every setting of the knob.
    pub measured: Settings,
    /// The recordings to go on with, one for each setting; none to begin anew.
    pub resumed: Vec<tickmark_store::Id>,
    /// The experiment that the blocks are added to.
    pub added: Option<Added>,
}

/// An experiment that gets more blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Its id.
    pub experiment: String,
    /// The last of its blocks.
    pub blocks: u32,
}

impl Experiment {
    /// Settings of the measured processes under one setting of the knob.
    #[must_use]
    pub fn given(&self, number: usize) -> Settings {
        self.knob.settings(&self.settings[number], &self.measured)
    }

    /// The commands whose numbers are kept, each with its name: their recordings hold them as what was asked for.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        self.outcomes.iter().map(|outcome| format!("{}: {}", outcome.name, outcome.command)).collect()
    }

    /// The blocks that are to be made, by their numbers.
    pub(super) fn numbers(&self) -> RangeInclusive<u32> {
        let before = self.added.as_ref().map_or(0, |added| added.blocks);
        before + 1..=before + self.blocks
    }
}

/// An experiment as it was asked for: what the command line and a file have in common.
#[derive(Debug)]
pub struct ExperimentRequest {
    /// The knob.
    pub knob: Turned,
    /// Suites, probes, patterns.
    pub probes: Vec<String>,
    /// Commands with a number.
    pub outcomes: Vec<Outcome>,
    /// Of its recordings.
    pub name: Option<String>,
    /// How many.
    pub blocks: Option<u32>,
    /// The half-width of intervals at which it ends.
    pub width: Option<f64>,
    /// After which it ends.
    pub budget: Option<Nanos>,
    /// Below which changes do not matter.
    pub margin: Option<f64>,
    /// The document whose question it answers.
    pub answers: Option<String>,
    /// Reports beside the comparison.
    pub report: Vec<Report>,
}

impl ExperimentRequest {
    /// A knob with nothing else said.
    #[must_use]
    pub fn with_knob(knob: Turned) -> Self {
        let (probes, outcomes) = (Vec::new(), Vec::new());
        Self {
            knob,
            probes,
            outcomes,
            name: None,
            blocks: None,
            width: None,
            budget: None,
            margin: None,
            answers: None,
            report: Vec::new(),
        }
    }
}

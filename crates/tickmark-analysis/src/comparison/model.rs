//! A comparison of recordings, as every format renders it.

use super::basis::Basis;
use super::environment::Difference;
use super::group::GroupLine;
use super::line::{Line, Word};
use super::side::Side;
use super::trend::Doses;
use tickmark_stats::verdict::Correction;
use tickmark_store::Id;

/// A side as it is named.
#[derive(Debug, Clone)]
pub struct Party {
    /// Of its first recording.
    pub name: String,
    /// Of its recordings.
    pub ids: Vec<Id>,
    /// The most runs that any metric has.
    pub runs: usize,
    /// Who measured.
    pub tool: String,
    /// When the first of them was begun.
    pub created: Option<jiff::Timestamp>,
}

/// Everything that a renderer shows.
pub struct Model {
    /// The baseline.
    pub base: Party,
    /// Changes below it do not matter: a share.
    pub margin: f64,
    /// Claims that were corrected for each other.
    pub claims: usize,
    /// How they were.
    pub correction: Correction,
    /// The others.
    pub against: Vec<Against>,
    /// How figures follow settings that are numbers.
    pub doses: Option<Doses>,
}

/// One side against the first.
pub struct Against {
    /// Who they are.
    pub party: Party,
    /// The unit that counts as a replicate.
    pub basis: Basis,
    /// Cautions that hold for all lines.
    pub cautions: Vec<Caution>,
    /// Differences between the environments.
    pub differences: Vec<Difference>,
    /// A figure each.
    pub lines: Vec<Line>,
    /// Related figures together.
    pub groups: Vec<GroupLine>,
    /// Metrics without a figure on the other side: of the first side, of this one.
    pub without: [Vec<String>; 2],
    /// The first metric that carries claims and has no figure on this side.
    pub lost: Option<String>,
    /// The experiment that would decide.
    pub experiment: Option<Deciding>,
}

/// An experiment: what it turns, and what it measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deciding {
    /// A knob with its settings, as `experiment` takes it.
    pub knob: String,
    /// Probes; none where those are too many to name.
    pub probes: Vec<String>,
}

/// A caution that holds for all lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caution {
    /// The difference of some figures changes from block to block.
    Drifts {
        /// How many.
        figures: usize,
        /// Of how many.
        of: usize,
        /// Metric and figure of the first.
        such_as: (String, &'static str),
    },
}

impl Against {
    /// How many lines have each verdict, in the order of the words.
    #[must_use]
    pub fn counts(&self) -> Vec<(Word, usize)> {
        let count = |word: &Word| self.lines.iter().filter(|line| line.word == *word).count();
        Word::ALL.iter().map(|word| (*word, count(word))).filter(|(_, count)| *count > 0).collect()
    }
}

impl Model {
    /// True if a line of some side is so.
    pub fn any(&self, is: impl Fn(&Line) -> bool) -> bool {
        self.against.iter().flat_map(|against| &against.lines).any(is)
    }
}

impl Party {
    pub(super) fn from_side(side: &Side, runs: usize) -> Self {
        let first = side.recordings.first();
        let meta = first.map(|recording| &recording.meta);
        let ids: Vec<Id> = side.recordings.iter().map(|recording| recording.meta.id.clone()).collect();
        let name = meta.map_or("", |meta| meta.name.as_str());
        let name = name.to_owned();
        let tool =
            first.and_then(|recording| recording.imported.as_ref()).map_or("tickmark", |from| &from.tool);
        let created = meta.map(|meta| meta.created);
        Self { name, ids, runs, tool: tool.to_owned(), created }
    }
}

//! The unit that counts as one replicate; it decides which claims a comparison may make.

use super::side::Side;
use std::collections::BTreeSet;
use tickmark_stats::sequential;
use tickmark_stats::verdict::{Family, LEVEL, Looks, Sides};
use tickmark_store::{Arm, Recording, Status};
use tickmark_wire::ImportedFrom;

/// The unit of inference that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Each recording.
    Recording,
    /// Each run.
    Run,
}

/// The unit of inference that the recordings allow.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// Counts of instructions: nothing varies but where in the tick a boot begins, and each such phase is a pair.
    Phases {
        /// The knob of the experiment.
        knob: Option<String>,
    },
    /// The runs of one block belong together: settings of one interleaved experiment.
    Blocks {
        /// Its id.
        experiment: String,
        /// The knob of the experiment.
        knob: String,
        /// How many blocks there were each time before more were added.
        looks: Vec<usize>,
        /// True if it ended before all planned blocks were made.
        early: bool,
        /// Of the level that each look has, where the looks were planned: it ended at the first that decided.
        share: Option<f64>,
    },
    /// Each recording is an occasion.
    Recordings {
        /// Of each side.
        counts: [usize; 2],
        /// In which they were begun: A the base, B the candidate; none of what another program measured.
        order: Option<String>,
    },
    /// Each run is an execution of its own, as those that other programs printed.
    Apart,
    /// Each run, because that was asked for.
    RequestedRuns,
    /// Too few replicates: one or two recordings a side, or more of them that were made one side after the other, each side
    /// one stretch of time. Earlier recordings of the machine may say how far they spread.
    Few {
        /// In which they were begun.
        order: String,
        /// True if another program measured them.
        imported: bool,
    },
}

/// Fewer recordings a side say nothing of how occasions spread.
const ENOUGH: usize = 3;

impl Basis {
    pub(super) fn for_sides(base: &Side, other: &Side, unit: Unit) -> Self {
        // An experiment to which blocks were added has a recording of each setting for each time.
        let arm = |side: &Side| {
            let mut arms = side.recordings.iter().map(|one| one.meta.arm.clone().filter(|arm| !arm.pilot));
            let first = arms.next()??;
            let same = |arm: Option<Arm>| {
                arm.is_some_and(|arm| (&arm.experiment, arm.number) == (&first.experiment, first.number))
            };
            arms.all(same).then_some(first)
        };
        // What an instruction takes and where in the tick each boot began, where that was in the guest's hands.
        let counted = |side: &Side| match &side.recordings[..] {
            [one] => {
                let phase =
                    |hello: &tickmark_wire::Hello| hello.settings.phase.map(|phase| (phase.number, phase.of));
                let phases = one.sessions.iter().map(phase).collect::<Option<BTreeSet<_>>>()?;
                let rounds: BTreeSet<u32> = one.runs.iter().map(|run| run.planned.round).collect();
                let each = phases.len() == rounds.len();
                crate::instruction(one).filter(|_| each).map(|instruction| (instruction.to_bits(), phases))
            }
            _ => None,
        };
        if counted(base).is_some() && counted(base) == counted(other) {
            return Self::Phases { knob: arm(base).map(|arm| arm.knob) };
        }
        if let (Some(first), Some(second)) = (arm(base), arm(other))
            && first.experiment == second.experiment
            && first.number != second.number
        {
            let mut parts = [base, other].into_iter().flat_map(|side| &side.recordings);
            let early = parts.any(|one| one.runs.iter().any(|run| run.status == Status::Open));
            // What is about a command has no blocks added.
            if !first.looks.is_empty() || !first.primary.is_empty() {
                let made = base.recordings.iter().map(blocks).max().unwrap_or(0);
                let planned: Vec<usize> = first.looks.iter().map(|look| *look as usize).collect();
                let share = Some(sequential::share(&planned, LEVEL));
                let looks = planned.into_iter().filter(|look| *look < made).collect();
                return Self::Blocks { experiment: first.experiment, knob: first.knob, looks, early, share };
            }
            // A part that ended before its first block was no look.
            let mut made: Vec<usize> = base.recordings.iter().map(blocks).filter(|made| *made > 0).collect();
            made.dedup();
            made.pop();
            let (experiment, knob) = (first.experiment, first.knob);
            return Self::Blocks { experiment, knob, looks: made, early, share: None };
        }
        if unit == Unit::Run {
            return Self::RequestedRuns;
        }
        let all = || [base, other].into_iter().flat_map(|side| &side.recordings);
        let (counts, order) = ([base.recordings.len(), other.recordings.len()], order(base, other));
        // When another program measured is not known.
        let imported = all().all(|recording| recording.imported.is_some());
        if counts.iter().all(|count| *count >= ENOUGH) && (imported || Self::by_turns(&order)) {
            return Self::Recordings { counts, order: (!imported).then_some(order) };
        }
        let is_one =
            |recording: &Recording| recording.imported.as_ref().is_some_and(ImportedFrom::is_one_replicate);
        if imported && !all().any(is_one) {
            return Self::Apart;
        }
        Self::Few { order, imported }
    }

    /// For programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blocks { .. } => "block",
            Self::Phases { .. } => "phase",
            Self::Recordings { .. } | Self::Few { .. } => "recording",
            Self::Apart | Self::RequestedRuns => "run",
        }
    }

    /// Figures that are judged together: an experiment can get more blocks, and single recordings are judged by earlier ones.
    pub(super) fn family<'a>(&'a self, figures: Vec<Sides<'a>>, earlier: Vec<f64>) -> Family<'a> {
        Family { looks: self.looks(), earlier, ..Family::once(figures) }
    }

    fn looks(&self) -> Looks<'_> {
        match self {
            Self::Blocks { looks: before, share: Some(share), .. } => {
                Looks::Planned { before, share: *share }
            }
            Self::Blocks { looks: before, early, .. } => Looks::Added { before, early: *early },
            _ => Looks::Once,
        }
    }

    /// Share of the planned blocks that a resumable experiment has; none for other recordings.
    pub(super) fn part(&self) -> Option<f64> {
        match self {
            Self::Blocks { .. } => Some(self.looks().part()),
            _ => None,
        }
    }

    /// True if the recordings came by turns: no side waited for the other to be over.
    #[must_use]
    pub fn by_turns(order: &str) -> bool {
        let changes = order.as_bytes().windows(2).filter(|pair| pair[0] != pair[1]).count();
        // A..A B..B changes once; half of the steps is what chance gives.
        changes * 3 >= order.len()
    }
}

/// The last block of a recording that was made.
fn blocks(recording: &Recording) -> usize {
    let made = recording.runs.iter().filter(|run| run.status != Status::Open);
    made.map(|run| run.planned.round as usize).max().unwrap_or(0)
}

/// In which order the recordings were begun, as letters.
fn order(base: &Side, other: &Side) -> String {
    let begun = |side: &Side, letter: char| -> Vec<_> {
        side.recordings.iter().map(|recording| (recording.meta.created, letter)).collect()
    };
    let mut all = [begun(base, 'A'), begun(other, 'B')].concat();
    all.sort();
    all.into_iter().map(|(_, letter)| letter).collect()
}

#[cfg(test)]
mod tests {
    use super::Basis;

    #[test]
    fn turns() {
        for order in ["ABABAB", "ABBAABBA", "AABABBAB"] {
            assert!(Basis::by_turns(order), "{order}");
        }
        for order in ["AAABBB", "AAAABBBB", "BBBBBAAAAAB"] {
            assert!(!Basis::by_turns(order), "{order}");
        }
    }
}

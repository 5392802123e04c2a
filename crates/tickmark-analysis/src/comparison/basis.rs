//! What counts as an occasion: by that stands or falls what can be claimed.

use super::side::Side;
use std::collections::BTreeSet;

/// The unit of inference that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Each recording.
    Recording,
    /// Each run.
    Run,
}

/// The unit of inference that the recordings allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// Counts of instructions: nothing varies but where in the tick a boot begins, and each such phase is a pair.
    Phases {
        /// What was turned.
        knob: Option<String>,
    },
    /// The runs of one block belong together: settings of one interleaved experiment.
    Blocks {
        /// Its id.
        experiment: String,
        /// What was turned.
        knob: String,
    },
    /// Each recording is an occasion.
    Recordings {
        /// Of each side.
        counts: [usize; 2],
        /// In which they were begun: A the base, B the candidate.
        order: String,
    },
    /// Each run was made apart, as those that other programs printed; or, of columns of numbers, each line.
    Apart {
        /// Whether it is each line.
        lines: bool,
    },
    /// Each run, because that was asked for.
    Asked,
    /// Too few occasions: earlier recordings of the machine may say how far they spread.
    Few,
}

/// Fewer recordings a side say nothing of how occasions spread.
const ENOUGH: usize = 3;

impl Basis {
    pub(super) fn of(base: &Side, other: &Side, unit: Unit) -> Self {
        let arm = |side: &Side| match &side.recordings[..] {
            [one] => one.meta.arm.clone().filter(|arm| !arm.pilot),
            _ => None,
        };
        // What an instruction takes and where in the tick each boot began, where that was in the guest's hands.
        let counted = |side: &Side| match &side.recordings[..] {
            [one] => {
                let phase =
                    |hello: &tickmark_wire::Hello| hello.asked.phase.map(|phase| (phase.number, phase.of));
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
            return Self::Blocks { experiment: first.experiment, knob: first.knob };
        }
        if unit == Unit::Run {
            return Self::Asked;
        }
        let counts = [base.recordings.len(), other.recordings.len()];
        if counts.iter().all(|count| *count >= ENOUGH) {
            return Self::Recordings { counts, order: order(base, other) };
        }
        let all = || [base, other].into_iter().flat_map(|side| &side.recordings);
        let tools = || all().map(|recording| recording.imported.as_ref().map(|from| from.tool.as_str()));
        // What hyperfine ran, it ran one after the other.
        if tools().all(|tool| tool.is_some_and(|tool| !tool.starts_with("hyperfine"))) {
            let lines = tools().flatten().any(|tool| tool == "columns");
            return Self::Apart { lines };
        }
        Self::Few
    }

    /// For programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Blocks { .. } => "block",
            Self::Phases { .. } => "phase",
            Self::Recordings { .. } | Self::Few => "recording",
            Self::Apart { .. } | Self::Asked => "run",
        }
    }

    /// Whether the recordings came by turns: no side waited for the other to be over.
    #[must_use]
    pub fn by_turns(order: &str) -> bool {
        let changes = order.as_bytes().windows(2).filter(|pair| pair[0] != pair[1]).count();
        // A..A B..B changes once; half of the steps is what chance gives.
        changes * 3 >= order.len()
    }
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

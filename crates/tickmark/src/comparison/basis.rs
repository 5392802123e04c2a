//! What counts as an occasion: by that stands or falls what can be claimed.

use super::side::Side;
use crate::lab;
use std::collections::BTreeSet;

/// The unit of inference that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Unit {
    Recording,
    Run,
}

/// The unit of inference that the recordings allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Counts of instructions: nothing varies but where in the tick a boot begins, and each such phase is a pair.
    Phases { knob: Option<String> },
    /// The runs of one block belong together: settings of one interleaved experiment.
    Blocks { experiment: String, knob: String },
    /// Each recording is an occasion.
    Recordings { counts: [usize; 2], order: String },
    /// Each run was made apart, as those that other programs printed; or, of columns of numbers, each line.
    Apart { lines: bool },
    /// Each run, because that was asked for.
    Asked,
    /// Too few occasions: earlier recordings of the machine may say how far they spread.
    Few,
}

/// Fewer recordings a side say nothing of how occasions spread.
pub(super) const ENOUGH: usize = 3;

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
                lab::instruction(one).filter(|_| each).map(|instruction| (instruction.to_bits(), phases))
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

    /// What the range beside a change is.
    pub(super) fn range(&self) -> &'static str {
        if matches!(self, Self::Phases { .. }) { "over phases" } else { "95 %" }
    }

    /// What more of would decide.
    pub(super) fn noun(&self) -> &'static str {
        match self {
            Self::Blocks { .. } => "blocks",
            Self::Phases { .. } => "phases",
            Self::Recordings { .. } | Self::Few => "recordings a side",
            Self::Apart { lines: true } => "lines a side",
            Self::Apart { lines: false } | Self::Asked => "runs a side",
        }
    }

    /// For programs.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Blocks { .. } => "block",
            Self::Phases { .. } => "phase",
            Self::Recordings { .. } | Self::Few => "recording",
            Self::Apart { .. } | Self::Asked => "run",
        }
    }

    /// Whether the recordings came by turns: no side waited for the other to be over.
    pub(super) fn by_turns(order: &str) -> bool {
        let changes = order.as_bytes().windows(2).filter(|pair| pair[0] != pair[1]).count();
        // A..A B..B changes once; half of the steps is what chance gives.
        changes * 3 >= order.len()
    }

    /// How the values were obtained, and what that means.
    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Self::Phases { knob } => {
                let what = knob.as_ref().map_or(String::new(), |knob| format!(" ({knob})"));
                vec![format!(
                    "exact{what}: guests whose time is a count of instructions, the same in every boot; no cache and no device latency. \
                     The range is over the phases of the tick at which boots begin, and no interval of a chance"
                )]
            }
            Self::Blocks { experiment, knob } => {
                vec![format!("interleaved: {knob} was turned in experiment {experiment}; the runs of one block are a pair")]
            }
            Self::Recordings { counts: [a, b], order } => {
                let mut notes = vec![format!("each recording is an occasion: {a} and {b}, made in the order {order}")];
                if !Self::by_turns(order) {
                    notes.push(
                        "they were not made by turns: what drifted meanwhile looks like a change; `tickmark experiment` interleaves"
                            .to_owned(),
                    );
                }
                notes
            }
            Self::Apart { lines: false } => {
                vec!["each run counts as an occasion: another program's runs were made apart".to_owned()]
            }
            Self::Apart { lines: true } => vec![
                "each line counts as an occasion, which only its maker can know: samples of one process are none".to_owned(),
            ],
            Self::Asked => {
                vec!["--unit run: this is what the runs would say if the occasions of both recordings were alike".to_owned()]
            }
            Self::Few => vec![
                "one or two recordings a side are so many occasions, and occasions differ also where nothing was changed; \
                 in brackets what the runs would say if they did not"
                    .to_owned(),
            ],
        }
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

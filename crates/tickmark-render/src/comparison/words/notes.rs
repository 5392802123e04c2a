//! How the values of a comparison were obtained, and what is to be known of all of its lines.

use super::super::states::states;
use super::replicates;
use tickmark_analysis::comparison::{Against, Basis, Caution, Line, Word};
use tickmark_stats::states::compare_states;
use tickmark_stats::verdict::{LEVEL, Test};

/// Of so many values the means are normal: nothing is to be said of their labels.
const MANY: usize = 2_000;

/// How the values were obtained, what that means, and what is to be known of all lines.
pub(crate) fn notes(against: &Against) -> Vec<String> {
    let mut notes = of_basis(&against.basis);
    notes.extend(against.cautions.iter().map(|caution| match caution {
        Caution::Drifts { figures, of, such_as: (metric, figure) } => format!(
            "the difference drifts from block to block in {figures} of {of} figures, such as {metric} {figure}: it is not constant"
        ),
    }));
    notes.extend(two_states(against));
    notes.extend(too_few_labels(against));
    notes.extend(unseen(against));
    notes
}

/// The most figures whose states are told.
const TOLD: usize = 3;

/// Figures whose values are in two states: their shares and levels apart.
fn two_states(against: &Against) -> Vec<String> {
    let one = |line: &Line| {
        let [base, candidate] = &line.values;
        let found = compare_states(base, candidate)?;
        let shown = |value: f64| crate::number::value(value, None, line.unit);
        Some(format!("{} {}: {}", line.metric, line.figure, states(&found, &shown)))
    };
    against.lines.iter().filter(|line| line.word != Word::NotCompared).filter_map(one).take(TOLD).collect()
}

/// Limits of "equivalent", in words.
fn unseen(against: &Against) -> Option<String> {
    let line = against.lines.iter().find(|line| line.word == Word::Equivalent && line.claim.is_some())?;
    let share = line.unseen().filter(|_| line.history.is_none())?;
    Some(format!(
        "equivalent speaks of the mean: what happens in fewer than {:.0} % of the {} is missed by one comparison in twenty",
        share * 100.0,
        replicates(&against.basis).trim_end_matches(" a side")
    ))
}

/// Where the replicates are too few for their labels to tell a difference from chance.
fn too_few_labels(against: &Against) -> Option<String> {
    let by_means = |line: &&Line| line.claim.is_some_and(|claim| claim.test == Some(Test::Means));
    let line = against.lines.iter().filter(by_means).max_by_key(|line| line.replicates)?;
    let [m, n] = line.replicates;
    (m.max(n) < MANY).then(|| {
        format!(
            "{} {} are too few for a test by their labels: Student's t judges, which assumes that means are normal",
            m.min(n),
            replicates(&against.basis)
        )
    })
}

fn of_basis(basis: &Basis) -> Vec<String> {
    let note = match basis {
        Basis::Phases { knob } => {
            let what = knob.as_ref().map_or(String::new(), |knob| format!(" ({knob})"));
            format!(
                "exact{what}: guests whose time is a count of instructions, the same in every boot; no cache and no device latency. \
                 The range is over the phases of the tick at which boots begin; it is not a confidence interval"
            )
        }
        Basis::Blocks { experiment, knob, looks, early, share } => {
            let id = experiment.get(..8).unwrap_or(experiment);
            let again = match (share, looks.last()) {
                (Some(share), _) if *share < 1.0 => format!(
                    ". It was planned to be compared several times and to end when it is decided: each comparison is tested at {:.2} %, \
                     so that all of them together are wrong as seldom as one at 5 %",
                    share * LEVEL * 100.0
                ),
                (_, Some(blocks)) => {
                    format!(". It was compared after {blocks} blocks too: all comparisons share the 5 %")
                }
                (_, None) => String::new(),
            };
            let early = if *early && share.is_none() {
                ". It ended before all planned blocks were made, which may be where its runs happened to vary little: claims need a chance \
                 below 85 % of the usual one, and intervals are as much wider"
            } else {
                ""
            };
            format!(
                "interleaved: experiment {id} alternated {knob}; the runs of one block are a pair. It speaks of one boot of one \
                 machine{again}{early}"
            )
        }
        Basis::Recordings { counts: [a, b], order: Some(order) } => {
            format!("each recording is a replicate: {a} and {b}, made in the order {order}")
        }
        Basis::Recordings { counts: [a, b], order: None } => format!(
            "each recording is a replicate: {a} and {b}, which they are if both sides were interleaved: in which order they were made is not known"
        ),
        Basis::Apart => {
            "each run counts as a replicate, which they are if both sides were interleaved: made one side after the other, \
             drift between them looks like a change"
                .to_owned()
        }
        Basis::RequestedRuns => {
            "--unit run: this is what the runs would say if both recordings were made under the same conditions".to_owned()
        }
        Basis::Few { imported: true, .. } => {
            "each file is one replicate: its repetitions share a process, a boot or a build, and files differ even where nothing was \
             changed. Three files a side, better taken alternately, can be judged (compare 'old*' 'new*'); so can one a side beside ten \
             imported earlier. In brackets: the interval by the repetitions alone. `import --lines replicates` says that each line \
             is an execution of its own"
                .to_owned()
        }
        Basis::Few { order, .. } if !Basis::by_turns(order) => format!(
            "the recordings were made in the order {order}: each side is one stretch of time, and so one replicate; \
             `tickmark experiment` interleaves"
        ),
        Basis::Few { .. } => {
            "one or two recordings a side are judged by how far earlier ones lie from each other, and by nothing where there are \
             fewer than ten: recordings differ even where nothing was changed; in brackets: the interval by the runs alone"
                .to_owned()
        }
    };
    vec![note]
}

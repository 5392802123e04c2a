//! What is known of a figure that was compared, and what that is together.

use super::words;
use tickmark_analysis::comparison::{Against, Basis, Line, Word};
use tickmark_analysis::report::Mark;
use tickmark_stats::order::largest_first;
use tickmark_wire::Better;

/// What is known of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Worse,
    Better,
    /// Changed, and neither direction is better.
    Changed,
    /// Cannot be told.
    Open,
    /// Equivalent, or changed by less than the margin.
    Same,
    /// Not compared: other units, other sizes, no figure.
    Apart,
}

impl Kind {
    /// What changed before the rest.
    const ALL: [Self; 6] = [Self::Worse, Self::Better, Self::Changed, Self::Open, Self::Same, Self::Apart];

    pub(crate) fn of_line(line: &Line) -> Self {
        match line.word {
            Word::Equivalent | Word::BelowMargin if !line.same_centre => Self::Same,
            Word::Undecided if !line.same_centre => Self::Open,
            Word::NotCompared if !line.same_centre => Self::Apart,
            _ => match (line.better, line.is_up()) {
                (Better::Neither | Better::Other(_), _) => Self::Changed,
                (Better::Lower, true) | (Better::Higher, false) => Self::Worse,
                (Better::Lower, false) | (Better::Higher, true) => Self::Better,
            },
        }
    }

    /// Above those of this kind.
    pub(crate) const fn heading(self) -> &'static str {
        match self {
            Self::Worse => "got worse",
            Self::Better => "got better",
            Self::Changed => "changed",
            Self::Open => "undecided",
            Self::Apart => "not compared",
            Self::Same => "the same",
        }
    }

    /// Beside one.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Changed => "changed",
            Self::Open => "undecided",
            Self::Apart => "not compared",
            Self::Same => "same",
        }
    }
}

/// The largest change first.
pub(crate) fn by_size(lines: &mut [&Line]) {
    let size = |line: &&Line| line.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    largest_first(lines, size);
}

/// The figures of each kind that has some; of what changed the largest change first.
pub(crate) fn by_kind(against: &Against) -> Vec<(Kind, Vec<&Line>)> {
    let one = |kind: Kind| {
        let mut lines: Vec<&Line> = against.lines.iter().filter(|line| Kind::of_line(line) == kind).collect();
        if matches!(kind, Kind::Worse | Kind::Better | Kind::Changed) {
            by_size(&mut lines);
        }
        (kind, lines)
    };
    Kind::ALL.into_iter().map(one).filter(|(_, lines)| !lines.is_empty()).collect()
}

/// What would decide the undecided figures.
pub(crate) fn next(against: &Against) -> Option<String> {
    let is_open = against.lines.iter().any(|line| Kind::of_line(line) == Kind::Open);
    match (&against.experiment, &against.basis) {
        (Some(deciding), _) => Some(format!("to decide, run: {}", words::command(deciding))),
        (None, Basis::Few { imported: true, .. }) if is_open => {
            Some("to decide: three or more files a side".to_owned())
        }
        (None, Basis::Few { .. }) if is_open => Some(format!(
            "to decide: three or more recordings a side, made alternately (`{}`, then with the change `--name after`, and again); then `{}`",
            crate::command("run PROBE --once --name before"),
            crate::command("compare 'before*' 'after*'")
        )),
        _ => None,
    }
}

/// How many figures got worse or better, are the same, or are undecided.
pub(crate) fn answer(against: &Against, margin: f64) -> String {
    let count = |kind| against.lines.iter().filter(|line| Kind::of_line(line) == kind).count();
    let within = words::per_cent(margin);
    let parts = [
        (count(Kind::Worse), "got worse".to_owned()),
        (count(Kind::Better), "got better".to_owned()),
        (count(Kind::Changed), "changed".to_owned()),
        (count(Kind::Same), format!("the same within {within}")),
        (count(Kind::Open), "undecided".to_owned()),
        (count(Kind::Apart), "not compared".to_owned()),
    ];
    let known: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    known.join(", ")
}

/// The figures that changed most: the first of those that got worse, and of those that got better.
pub(crate) fn largest(against: &Against, margin: f64) -> Option<String> {
    let changed = by_kind(against)
        .into_iter()
        .filter(|(kind, _)| !matches!(kind, Kind::Open | Kind::Same | Kind::Apart));
    let one = |(_, lines): (Kind, Vec<&Line>)| {
        let line = lines.first()?;
        let printed = words::printed(line, &against.basis, margin);
        let figure = if line.figure == "value" { String::new() } else { format!(" {}", line.figure) };
        let contended = line.marks.iter().any(|marked| matches!(marked.mark, Mark::Contended { .. }));
        let beside = if contended { ", contended" } else { "" };
        Some(format!("{}{figure} {} ({}{beside})", line.metric, printed.change, printed.interval))
    };
    let most: Vec<String> = changed.filter_map(one).collect();
    (!most.is_empty()).then(|| format!("largest: {}", most.join(", ")))
}

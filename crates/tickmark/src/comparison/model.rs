//! What there is to say of recordings side by side. All numbers that are printed are made into text here, so that every
//! renderer says the same.

use super::basis::Basis;
use super::environment::Difference;
use super::line::{Line, Word};
use super::side::Side;
use tickmark_store::Id;

/// A side as it is named.
#[derive(Debug, Clone)]
pub(crate) struct Party {
    /// What a column is headed with.
    pub(crate) label: String,
    pub(crate) ids: Vec<Id>,
    /// Runs of the first recording's metrics, at most.
    pub(crate) runs: usize,
    /// Who measured.
    pub(crate) tool: String,
    /// When the first of them was begun.
    pub(crate) created: String,
}

/// Everything that a renderer shows.
pub(crate) struct Model {
    pub(crate) base: Party,
    pub(crate) margin: f64,
    /// Claims that were corrected for each other.
    pub(crate) claims: usize,
    pub(crate) against: Vec<Against>,
}

/// One side against the first.
pub(crate) struct Against {
    pub(crate) party: Party,
    pub(crate) basis: Basis,
    /// How the values were obtained and what that means, as lines.
    pub(crate) notes: Vec<String>,
    /// What the environments do not share.
    pub(crate) differences: Vec<Difference>,
    pub(crate) lines: Vec<Line>,
    /// Metrics without a figure on the other side: of the first side, of this one.
    pub(crate) without: [Vec<String>; 2],
    /// What would decide, as a command.
    pub(crate) experiment: Option<String>,
}

impl Against {
    /// How many lines have each verdict, in the order of the words.
    pub(crate) fn counts(&self) -> Vec<(Word, usize)> {
        let count = |word: &Word| self.lines.iter().filter(|line| line.word == *word).count();
        Word::ALL.iter().map(|word| (*word, count(word))).filter(|(_, count)| *count > 0).collect()
    }

    /// The same as a sentence.
    pub(crate) fn summary(&self) -> String {
        let counts: Vec<String> =
            self.counts().into_iter().map(|(word, count)| format!("{count} {}", word.plain())).collect();
        format!("{} of {} figures", counts.join(", "), self.lines.len())
    }
}

impl Model {
    /// Both sides, each in a line.
    pub(super) fn parties(&self, against: &Against) -> [String; 2] {
        [format!("base: {}", self.base.text()), format!("candidate: {}", against.party.text())]
    }

    /// What the environments do not share, as lines, of which so many are listed.
    pub(super) fn environment(&self, against: &Against, listed: usize) -> Vec<String> {
        let all = &against.differences;
        let mut lines = Vec::new();
        if self.base.tool != against.party.tool {
            let (base, other) = (&self.base.tool, &against.party.tool);
            lines.push(format!("measured by {base} and by {other}: their definitions differ"));
        }
        match all.len() {
            0 => lines.push("nothing that is recorded of the environment differs".to_owned()),
            1 => {}
            count => {
                lines.push(format!("{count} facts of the environment differ: any of them may be the cause"));
            }
        }
        lines.extend(all.iter().take(listed).map(Difference::text));
        if all.len() > listed {
            lines.push(format!("and {} more; --format json has all", all.len() - listed));
        }
        lines
    }

    /// Metrics that one side alone has.
    pub(super) fn without(&self, against: &Against) -> Vec<String> {
        let sides = [&self.base, &against.party].into_iter().zip(&against.without);
        let named = sides.filter(|(_, metrics)| !metrics.is_empty());
        named
            .map(|(party, metrics)| {
                format!("without a figure to compare with, {}: {}", party.label, metrics.join(", "))
            })
            .collect()
    }

    /// What the columns mean.
    pub(super) fn legend(&self) -> String {
        let margin = (self.margin * 1e4).round() / 100.0;
        let mut legend = format!("floor and mean cost, each as the mean over occasions; margin {margin} %");
        if self.claims > 1 {
            legend += &format!("; claims are corrected for {} comparisons (Holm)", self.claims);
        }
        legend
    }

    /// Whether a line of some side is so.
    pub(crate) fn any(&self, is: impl Fn(&Line) -> bool) -> bool {
        self.against.iter().flat_map(|against| &against.lines).any(is)
    }
}

impl Party {
    /// Name, ids, runs, program and time.
    fn text(&self) -> String {
        let more = if self.ids.len() > 1 { format!(" ({})", Id::all(&self.ids)) } else { String::new() };
        let runs = crate::report::count(self.runs as u32, "run");
        format!("{}{more}, {runs}, {}, {}", self.label, self.tool, self.created)
    }

    pub(super) fn of(side: &Side, runs: usize) -> Self {
        let first = side.recordings.first();
        let meta = first.map(|recording| &recording.meta);
        let ids: Vec<Id> = side.recordings.iter().map(|recording| recording.meta.id.clone()).collect();
        let name = meta.map_or("", |meta| meta.name.as_str());
        let label = match &ids[..] {
            [id] => format!("{name} {id}"),
            [id, rest @ ..] => format!("{name} {id} and {} more", rest.len()),
            [] => String::new(),
        };
        let tool =
            first.and_then(|recording| recording.imported.as_ref()).map_or("tickmark", |from| &from.tool);
        let created = meta.map_or(String::new(), |meta| meta.created.strftime("%Y-%m-%d %H:%M").to_string());
        Self { label, ids, runs, tool: tool.to_owned(), created }
    }
}

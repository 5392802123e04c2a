//! With which commit a figure changed: as text and as JSON.

use crate::fold::wrapped;
use crate::grid::table;
use crate::number::{change, count, percent, time};
use std::fmt::Write;
use std::ops::RangeInclusive;
use tickmark_stats::order::largest_first;

/// Commits that are listed: those with the highest chances.
const LISTED: usize = 8;
/// Columns beside the name of a commit.
const BESIDE: usize = 40;
/// Letters of a commit.
const SHORT: usize = 10;

/// How a bisection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It changed with one of these commits; and with more where others of a side differ from its end.
    Found {
        /// Which, of which the last alone can be measured.
        found: RangeInclusive<usize>,
        /// True if other commits changed it as well.
        more: bool,
    },
    /// So many measurements tell no more than that it is one of these.
    Within(RangeInclusive<usize>),
    /// The ends do not differ.
    NoChange,
}

/// A bisection.
pub struct Bisected<'a> {
    /// The commits, the good end first: name, and the first line of the message.
    pub commits: &'a [(String, String)],
    /// The figures of each.
    pub values: &'a [Vec<f64>],
    /// Why one has none.
    pub failed: &'a [Option<String>],
    /// The chance of each that the change came with it.
    pub chances: &'a [f64],
    /// How it ended.
    pub outcome: Outcome,
    /// The chance of a wrong answer that was accepted.
    pub error: f64,
    /// True if the figures are numbers that the command printed, else times in ns.
    pub printed: bool,
}

impl Bisected<'_> {
    /// The means of all values before a commit, and from it on.
    pub(crate) fn levels(&self, at: usize) -> [f64; 2] {
        let (before, after) = self.values.split_at(at);
        [before, after].map(|side| {
            let all: Vec<f64> = side.iter().flatten().copied().collect();
            all.iter().sum::<f64>() / all.len() as f64
        })
    }

    fn shown(&self, value: f64) -> String {
        match (self.printed, value.abs()) {
            (false, _) => time(value),
            (true, 1e-3..1e9) => format!("{value:.6}").trim_end_matches('0').trim_end_matches('.').to_owned(),
            (true, 0.0) => "0".to_owned(),
            _ => format!("{value:.5e}"),
        }
    }

    fn named(&self, at: usize) -> String {
        let (id, subject) = &self.commits[at];
        format!("{} {}", &id[..id.len().min(SHORT)], tickmark_wire::text::printable(subject, false))
    }

    /// For a person.
    #[must_use]
    pub fn text(&self) -> String {
        let measured: usize = self.values.iter().map(Vec::len).sum();
        let of = self.values.iter().filter(|values| !values.is_empty()).count();
        let effort = format!("{} of {}", count(measured as u32, "measurement"), count(of as u32, "commit"));
        let answer = match &self.outcome {
            Outcome::NoChange => format!(
                "no difference of both ends is shown ({effort}): {} and {}",
                self.named(0),
                self.named(self.commits.len() - 1)
            ),
            Outcome::Within(range) => format!(
                "one of the {} commits from {} to {} changed it, and {effort} tell no more: the difference is small beside the noise, or several commits made it",
                range.clone().count(),
                self.named(*range.start()),
                self.named(*range.end())
            ),
            Outcome::Found { found, more } => {
                let [before, after] = self.levels(*found.end());
                let ratio =
                    if before > 0.0 { format!(" ({})", change(after / before, 1)) } else { String::new() };
                let which = match found.start() == found.end() {
                    true => format!("with commit {}", self.named(*found.end())),
                    false => format!(
                        "with one of {} commits that cannot be told apart, the last {}",
                        found.clone().count(),
                        self.named(*found.end())
                    ),
                };
                let levels = format!("{} became {}{ratio}", self.shown(before), self.shown(after));
                let more = if *more { "; other commits changed it as well: bisect both parts" } else { "" };
                format!(
                    "{levels} {which}; wrong in at most {} of cases, by {effort}{more}",
                    percent(self.error)
                )
            }
        };
        let mut text = wrapped(&answer, 0).join("\n") + "\n\n";
        let mut ranks: Vec<usize> = (0..self.commits.len())
            .filter(|at| !self.values[*at].is_empty() || self.failed[*at].is_some())
            .collect();
        largest_first(&mut ranks, |one| self.chances[*one]);
        ranks.truncate(LISTED);
        ranks.sort_unstable();
        let heads = ["", "measured", "mean", "chance"].map(str::to_owned).to_vec();
        let row = |at: &usize| {
            let values = &self.values[*at];
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let mean = if values.is_empty() { "cannot be measured".to_owned() } else { self.shown(mean) };
            let mut name = self.named(*at);
            let room = crate::width().saturating_sub(BESIDE);
            let end = name.char_indices().nth(room).map_or(name.len(), |(at, _)| at);
            name.truncate(end);
            // Without a difference there is nothing that has a chance.
            let chance =
                if self.outcome == Outcome::NoChange { String::new() } else { percent(self.chances[*at]) };
            vec![name, values.len().to_string(), mean, chance]
        };
        table(&mut text, std::iter::once(heads).chain(ranks.iter().map(row)), 1..4);
        let unlisted = of.saturating_sub(ranks.len());
        if unlisted > 0 {
            let _ = writeln!(text, "and {} (--format json has all)", count(unlisted as u32, "commit"));
        }
        text
    }
}

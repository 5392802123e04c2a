//! Figures against limits that were given.

use super::xml::{self, Case, Outcome, Suite};
use crate::grid::fitting_table;
use crate::number::{percent, value};
use std::fmt::Write;
use tickmark_analysis::report::{Row, RowStatus};

/// A limit of a row.
pub struct Limit {
    /// The row.
    pub row: Row,
    /// In the unit of its value.
    pub limit: f64,
    /// True if it is the most, else the least.
    pub is_most: bool,
    /// True if a single value is judged as it is: of a file that has no other.
    pub takes_single: bool,
}

/// All of them.
pub struct Limits<'a> {
    /// Id of the recording.
    pub id: String,
    /// Name of the recording.
    pub name: String,
    /// Each.
    pub limits: &'a [Limit],
    /// The exit code.
    pub code: u8,
}

impl Limit {
    /// Whether the whole interval of the value keeps it; none where it reaches across, or there is none.
    #[must_use]
    pub fn holds(&self) -> Option<bool> {
        let value = self.row.value.filter(|value| value.confidence > 0.0 || self.takes_single)?;
        if value.confidence <= 0.0 {
            return Some(if self.is_most { value.point <= self.limit } else { value.point >= self.limit });
        }
        let interval = value.interval;
        let (near, far) = match self.is_most {
            true => (interval.high <= self.limit, interval.low > self.limit),
            false => (interval.low >= self.limit, interval.high < self.limit),
        };
        near.then_some(true).or(far.then_some(false))
    }

    /// Why it is neither kept nor broken.
    fn why_open(&self) -> &'static str {
        match (self.row.value, self.row.status) {
            (_, RowStatus::Unsupported) => "not judged: not supported on the recorded system",
            (_, RowStatus::Failed) => "not judged: its runs failed",
            (_, RowStatus::Timeout) => "not judged: its runs took too long",
            (_, RowStatus::Missing) => "not judged: no run of it was made",
            (None, _) => "not judged: it has no value",
            (Some(value), _) if value.confidence <= 0.0 => "not judged: one run has no interval",
            _ => "not judged: the interval of its runs reaches across the limit",
        }
    }

    fn cells(&self) -> Vec<String> {
        let shown = |number: f64| value(number, Some(number.abs() * 1e-3), self.row.unit);
        let (observed, ends) = self.row.value.map_or_else(
            || ("-".to_owned(), String::new()),
            |value| {
                (
                    shown(value.point),
                    match value.confidence > 0.0 {
                        true => format!(
                            "{} to {} ({})",
                            shown(value.interval.low),
                            shown(value.interval.high),
                            percent(value.confidence)
                        ),
                        false if self.takes_single => "one value".to_owned(),
                        false => "one run".to_owned(),
                    },
                )
            },
        );
        let said = match self.holds() {
            Some(true) => "kept",
            Some(false) => "broken",
            None => self.why_open(),
        };
        let limit = format!("{} {}", if self.is_most { "at most" } else { "at least" }, shown(self.limit));
        vec![self.row.metric.clone(), limit, observed, ends, said.to_owned()]
    }
}

const HEADS: [&str; 5] = ["metric", "limit", "value", "interval", ""];

impl Limits<'_> {
    /// For a person.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        let rows: Vec<Vec<String>> = std::iter::once(HEADS.map(str::to_owned).to_vec())
            .chain(self.limits.iter().map(Limit::cells))
            .collect();
        fitting_table(&mut out, &rows, &[1, 2, 3], &[3]);
        out
    }

    /// For a page of a project.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = format!("## tickmark: limits\n\n| {} |\n|---|---:|---:|---:|---|\n", HEADS.join(" | "));
        for limit in self.limits {
            let cells: Vec<String> = limit.cells().iter().map(|cell| xml::markdown(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
        out
    }

    /// A test each.
    #[must_use]
    pub fn suite(&self) -> Suite {
        let case = |of: &Limit| Case {
            name: of.row.metric.clone(),
            outcome: match of.holds() {
                Some(true) => Outcome::Passed,
                Some(false) => Outcome::Failed(of.cells().join(" ")),
                None => Outcome::Error(of.cells().join(" ")),
            },
        };
        Suite { name: format!("tickmark check {}", self.name), cases: self.limits.iter().map(case).collect() }
    }

    /// A line each that is not kept.
    #[must_use]
    pub fn annotations(&self) -> String {
        let broken = self.limits.iter().filter(|limit| limit.holds() != Some(true));
        broken
            .map(|limit| {
                let level = if limit.holds() == Some(false) { "error" } else { "warning" };
                xml::annotation(level, "tickmark", &limit.cells().join(" "))
            })
            .collect()
    }
}

//! What was read from another program's results: figures by host, metric and run.

use super::{page, raw};
use std::collections::BTreeMap;

/// What is known of one host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Imported {
    pub(crate) host: String,
    /// The program that measured, with its version.
    pub(crate) tool: String,
    /// Facts of the environment: name, value, where it stood.
    pub(crate) facts: Vec<(String, String, String)>,
    pub(crate) series: BTreeMap<String, Series>,
    /// How many runs.
    pub(crate) rounds: u32,
}

/// The figures of one metric, in its own unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Series {
    /// Run, value, what one step of the last printed digit is worth.
    pub(crate) values: Vec<(u32, f64, f64)>,
}

impl Imported {
    /// Keeps the figure of a run; the first one counts where a page prints it twice.
    pub(super) fn put(&mut self, metric: &str, round: u32, value: f64, step: f64) {
        let values = &mut self.series.entry(metric.to_owned()).or_default().values;
        if !values.iter().any(|(known, ..)| *known == round) {
            values.push((round, value, step));
        }
        self.rounds = self.rounds.max(round);
    }

    /// Keeps a fact once.
    pub(super) fn know(&mut self, name: &str, value: &str, source: &str) {
        if !value.is_empty() && !self.facts.iter().any(|(known, ..)| known == name) {
            self.facts.push((name.to_owned(), value.to_owned(), source.to_owned()));
        }
    }
}

/// Reads the texts of result files and summary pages, by name. Lines that should hold figures and do not are
/// named in the second part.
///
/// # Errors
/// The name of a text that is neither.
pub(crate) fn read(texts: &[(String, String)]) -> Result<(Vec<Imported>, Vec<String>), String> {
    let (mut all, mut warnings) = (Vec::new(), Vec::new());
    for (name, text) in texts {
        let found = if raw::is(text) {
            raw::read(name, text, &mut all, &mut warnings)
        } else {
            page::read(name, text, &mut all, &mut warnings)
        };
        if found == 0 {
            return Err(name.clone());
        }
    }
    Ok((all, warnings))
}

/// What was read of a host so far by this tool, or a new one.
pub(super) fn host<'a>(all: &'a mut Vec<Imported>, host: &str, tool: &str) -> &'a mut Imported {
    let at = all.iter().position(|known| known.host == host && known.tool == tool).unwrap_or_else(|| {
        all.push(Imported { host: host.to_owned(), tool: tool.to_owned(), ..Imported::default() });
        all.len() - 1
    });
    &mut all[at]
}

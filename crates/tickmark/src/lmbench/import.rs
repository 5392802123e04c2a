//! What was read from another program's results: figures by host, metric and run.

use super::{page, raw};
use std::collections::BTreeMap;
use tickmark_wire::Metric;

/// What is known of one host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Imported {
    pub(crate) host: String,
    /// The kernel's release: another kernel is another system.
    pub(crate) release: String,
    /// The program that measured, with its version.
    pub(crate) tool: String,
    /// Facts of the environment: name, value, where it stood.
    pub(crate) facts: Vec<(String, String, String)>,
    pub(crate) series: BTreeMap<String, Series>,
    /// How many runs.
    pub(crate) rounds: u32,
    /// Metrics that are not lmbench's, by name.
    pub(crate) kinds: BTreeMap<String, Metric>,
}

/// The figures of one metric, in its own unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Series {
    pub(crate) values: Vec<Value>,
}

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Value {
    pub(crate) round: u32,
    pub(crate) value: f64,
    /// What one step of the last printed digit is worth.
    pub(crate) step: f64,
    /// Bytes that the work went over, where the file says so; else 0.
    pub(crate) over: u64,
}

impl Imported {
    /// Keeps the figure of a run; the first one counts where a page prints it twice.
    pub(crate) fn put(&mut self, metric: &str, round: u32, value: f64, step: f64, over: u64) {
        let values = &mut self.series.entry(metric.to_owned()).or_default().values;
        // Rounds come in ascending order, nearly always.
        let later = values.last().is_none_or(|last| last.round < round);
        if later || !values.iter().any(|known| known.round == round) {
            values.push(Value { round, value, step, over });
        }
    }

    /// Keeps a fact once.
    pub(crate) fn know(&mut self, name: &str, value: &str, source: &str) {
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
    for (number, (name, text)) in texts.iter().enumerate() {
        if let Some((earlier, _)) = texts[..number].iter().find(|(_, earlier)| earlier == text) {
            warnings.push(format!("{name} holds the same as {earlier}: the same run counts twice"));
        }
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

/// What a recording of each is called: its host, and where that stands for several its kernel and tool as well.
pub(crate) fn names(all: &[Imported]) -> Vec<String> {
    let alone = |one: &Imported| all.iter().filter(|other| other.host == one.host).count() == 1;
    let same = |one: &Imported| {
        all.iter().filter(|other| other.host == one.host && other.release == one.release).count() > 1
    };
    let name = |one: &Imported| match (alone(one), same(one)) {
        (true, _) => one.host.clone(),
        (false, false) => format!("{} {}", one.host, one.release),
        (false, true) => format!("{} {} {}", one.host, one.release, one.tool),
    };
    all.iter().map(name).collect()
}

/// What was read of a host and its kernel so far by this tool, or a new one.
pub(super) fn host<'a>(
    all: &'a mut Vec<Imported>,
    host: &str,
    release: &str,
    tool: &str,
) -> &'a mut Imported {
    let same = |known: &Imported| known.host == host && known.release == release && known.tool == tool;
    let at = all.iter().position(same).unwrap_or_else(|| {
        let (host, release, tool) = (host.to_owned(), release.to_owned(), tool.to_owned());
        all.push(Imported { host, release, tool, ..Imported::default() });
        all.len() - 1
    });
    &mut all[at]
}

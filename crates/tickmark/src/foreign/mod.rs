//! Results of other programs than lmbench: each format is one file and one line here.

mod columns;
mod cyclictest;
mod hyperfine;
mod perf;
mod smack;
mod sysbench;
mod wrk;

use crate::lmbench::Imported;
use tickmark_wire::{Better, Group, Metric, Unit};

/// Reads one kind of result.
struct Format {
    /// Whether a text is of this kind.
    is: fn(&str) -> bool,
    /// Its name and text, to what is kept; why it cannot be read.
    read: fn(&str, &str) -> Result<Vec<Imported>, String>,
    /// Whether each file is one run, so that several make one recording.
    runs: bool,
}

/// The first that takes a text has it.
const FORMATS: &[Format] = &[
    Format { is: hyperfine::is, read: hyperfine::read, runs: false },
    Format { is: cyclictest::is, read: cyclictest::read, runs: true },
    Format { is: sysbench::is, read: sysbench::read, runs: true },
    Format { is: wrk::is, read: wrk::read, runs: true },
    Format { is: perf::is, read: perf::read, runs: true },
    Format { is: smack::is, read: smack::read, runs: false },
];

/// What a text holds, if it is of a format that says so; files of one tool that are runs are joined in `all`.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read(name: &str, text: &str, all: &mut Vec<Imported>) -> Result<bool, String> {
    let Some(format) = FORMATS.iter().find(|format| (format.is)(text)) else { return Ok(false) };
    let found = (format.read)(name, text).map_err(|why| format!("{name}: {why}"))?;
    if found.iter().any(|one| one.series.is_empty()) {
        return Err(format!("{name} has no figure that is known"));
    }
    for one in &found {
        one.check().map_err(|why| format!("{name}: {why}"))?;
    }
    for one in found {
        // Runs of the same: of one program, with the same facts and the same figures.
        let same = |known: &&mut Imported| {
            let facts = |of: &Imported| {
                of.facts.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect::<Vec<_>>()
            };
            format.runs
                && known.tool == one.tool
                && facts(known) == facts(&one)
                && known.kinds.keys().eq(one.kinds.keys())
        };
        match all.iter_mut().find(same) {
            Some(known) => join(known, one),
            None => all.push(one),
        }
    }
    Ok(true)
}

/// Gives those of one name a number, so that each can be named.
pub(crate) fn number(all: &mut [Imported]) {
    for at in 0..all.len() {
        let name = all[at].host.replace(|c: char| c.is_control(), " ");
        let before = all[..at]
            .iter()
            .filter(|known| known.host == name || known.host.starts_with(&format!("{name} (")))
            .count();
        all[at].host = if before > 0 { format!("{name} ({})", before + 1) } else { name };
    }
}

/// Columns of numbers, where a text is nothing else.
pub(crate) fn columns(name: &str, text: &str) -> Option<(Imported, Vec<String>)> {
    columns::read(name, text)
}

/// Another run of the same.
fn join(known: &mut Imported, more: Imported) {
    let before = known.rounds;
    for (metric, series) in more.series {
        for value in series.values {
            known.put(&metric, before + value.round, value.value, value.step, value.over);
        }
    }
    known.rounds += more.rounds;
    known.kinds.extend(more.kinds);
}

/// What is being read.
fn begin(tool: &str, name: &str) -> Imported {
    let known = ["txt", "out", "log", "dat", "csv", "tsv", "json"];
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if known.contains(&ending) => stem,
        _ => name,
    };
    Imported { host: stem.to_owned(), tool: tool.to_owned(), ..Imported::default() }
}

impl Imported {
    /// Keeps a figure of a run with what it means; `value` is in the unit of recordings.
    fn figure(&mut self, metric: &str, unit: Unit, better: Better, round: u32, value: f64) {
        self.put(metric, round, value, 0.0, 0);
        self.rounds = self.rounds.max(round);
        let kind = || Metric::of_values(metric, metric, Group::Machine, unit, better);
        self.kinds.entry(metric.to_owned()).or_insert_with(kind);
    }
}

impl Imported {
    /// Whether every figure can be one: a number, and no time or rate below zero.
    fn check(&self) -> Result<(), String> {
        for (metric, series) in &self.series {
            let counts = self.kinds.get(metric).is_none_or(|kind| kind.unit == Unit::Count);
            let late = metric.contains(".late.");
            for value in series.values.iter().map(|value| value.value) {
                if !value.is_finite() {
                    return Err(format!("{metric} is {value}: no number that can be kept"));
                }
                // Only what wakes early may lie before its time.
                if value < 0.0 && !counts && !late {
                    return Err(format!("{metric} is below zero"));
                }
            }
        }
        Ok(())
    }
}

/// A name of a metric from a title: small letters, digits, dots and underscores.
fn named(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '_' };
    title.trim().chars().map(plain).collect::<String>().trim_matches('_').to_owned()
}

/// The first number of a text. Commas between groups of three digits separate thousands; a single other one is the decimal
/// point of some languages; what is neither is no number.
fn first_number(text: &str) -> Option<f64> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    // A number may begin with its point.
    let from = if text[..from].ends_with('.') { from - 1 } else { from };
    let negative = text[..from].ends_with('-');
    let rest = &text[from..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(rest.len());
    let digits = rest[..end].trim_end_matches(['.', ',']);
    let signed =
        |number: f64| Some(if negative { -number } else { number }).filter(|number| number.is_finite());
    let after = &rest[digits.len()..];
    if digits == "0" && after.starts_with(['x', 'X']) {
        let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        return crate::stat::column::number(word.as_bytes()).and_then(signed);
    }
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let groups: Vec<&str> = whole.split(',').collect();
    let thousands = groups.len() > 1
        && groups[0].len() <= 3
        && !groups[0].starts_with('0')
        && groups[1..].iter().all(|group| group.len() == 3);
    let plain = match (groups.len(), thousands) {
        (1, _) => digits.to_owned(),
        (_, true) if !part.contains(',') => digits.replace(',', ""),
        (2, false) if part.is_empty() => digits.replace(',', "."),
        _ => return None,
    };
    signed((plain + exponent(after)).parse().ok()?)
}

/// The power of ten that follows the digits of a number.
fn exponent(after: &str) -> &str {
    let Some(rest) = after.strip_prefix(['e', 'E']) else { return "" };
    let signs = usize::from(rest.starts_with(['+', '-']));
    let digits = rest[signs..].bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 { &after[..1 + signs + digits] } else { "" }
}

#[cfg(test)]
mod tests;

//! Results of another program: figures by host, metric and run.

use std::collections::{BTreeMap, BTreeSet};
use tickmark_wire::{Better, Group, Metric, Printed, Unit};

/// Results of one host.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// The machine's name.
    pub host: String,
    /// The kernel's release: another kernel is another system.
    pub release: String,
    /// The program that measured, with its version.
    pub tool: String,
    /// Facts of the environment: name, value, where it stood.
    pub facts: Vec<(String, String, String)>,
    /// The figures, by metric.
    pub series: BTreeMap<String, Series>,
    /// How many runs.
    pub rounds: u32,
    /// Metrics that are not lmbench's, by name.
    pub kinds: BTreeMap<String, Metric>,
    /// True if the rounds are repetitions of one execution, or of executions one after the other: then all of them are one replicate.
    pub is_one_replicate: bool,
    /// True if `host` is the name of the file: results of another file have another one.
    pub is_named_by_file: bool,
    /// When it was measured, where the file says so.
    pub at: Option<jiff::Timestamp>,
    /// Remarks that stand beside the figures: implausible ones, and limits of the format.
    pub remarks: Vec<String>,
    /// Lines with figures that were not taken, each with its number.
    pub left_out: Vec<String>,
}

/// The figures of one metric, in its own unit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// In the order of their rounds.
    pub values: Vec<Value>,
}

/// One figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Which run, counted from 1.
    pub round: u32,
    /// In the unit of recordings (ns, Hz, B/s).
    pub value: f64,
    /// Value of one step of the last printed digit.
    pub step: f64,
    /// Bytes that the work went over, where the file says so; else 0.
    pub over: u64,
}

impl Imported {
    /// Keeps the figure of a run; the first one counts where a page prints it twice.
    pub(super) fn put(&mut self, metric: &str, round: u32, value: f64, step: f64, over: u64) {
        let values = &mut self.series.entry(metric.to_owned()).or_default().values;
        if let Err(at) = values.binary_search_by_key(&round, |known| known.round) {
            values.insert(at, Value { round, value, step, over });
        }
    }

    /// Keeps a fact once.
    pub(super) fn know(&mut self, name: &str, value: &str, source: &str) {
        if !value.is_empty() && !self.facts.iter().any(|(known, ..)| known == name) {
            self.facts.push((name.to_owned(), value.to_owned(), source.to_owned()));
        }
    }
}

impl Imported {
    /// Names for the recordings of these, one each: its host, and where that stands for several its kernel and tool as well.
    #[must_use]
    pub fn names(all: &[Self]) -> Vec<String> {
        let (mut hosts, mut releases) = (BTreeMap::new(), BTreeMap::new());
        let kinds: BTreeSet<_> = all.iter().map(|one| (&one.host, &one.release, &one.tool)).collect();
        for (host, release, _) in kinds {
            *hosts.entry(host).or_insert(0) += 1;
            *releases.entry((host, release)).or_insert(0) += 1;
        }
        let name = |one: &Self| match (hosts[&one.host] == 1, releases[&(&one.host, &one.release)] > 1) {
            (true, _) => one.host.clone(),
            (false, false) => format!("{} {}", one.host, one.release),
            (false, true) => format!("{} {} {}", one.host, one.release, one.tool),
        };
        all.iter().map(name).collect()
    }
}

/// An empty result of this tool and name.
pub(super) fn begin(tool: &str, name: &str) -> Imported {
    let known = ["txt", "out", "log", "dat", "csv", "tsv", "json", "parquet"];
    let stem = match name.rsplit_once('.') {
        Some((stem, ending)) if known.contains(&ending) => stem,
        _ => name,
    };
    Imported {
        host: stem.to_owned(),
        tool: tool.to_owned(),
        is_named_by_file: !name.is_empty(),
        ..Imported::default()
    }
}

impl Imported {
    /// Keeps a figure of a run with what it means; `value` is in the unit of recordings.
    pub(super) fn figure(
        &mut self,
        metric: &str,
        unit: Unit,
        better: Better,
        round: u32,
        value: impl Into<Printed>,
    ) {
        let Printed { value, step } = value.into();
        self.put(metric, round, value, step, 0);
        self.rounds = self.rounds.max(round);
        let kind = || Metric::of_values(metric, metric, Group::Machine, unit, better);
        self.kinds.entry(metric.to_owned()).or_insert_with(kind);
    }

    /// Keeps a figure as the next repetition of its metric.
    pub(super) fn repeat(&mut self, metric: &str, unit: Unit, better: Better, value: impl Into<Printed>) {
        let round = self.series.get(metric).map_or(0, |series| series.values.len()) as u32 + 1;
        self.figure(metric, unit, better, round, value);
    }

    /// Keeps a time as the next repetition of its metric; `value` is in units of so many ns.
    pub(super) fn time(&mut self, metric: &str, value: impl Into<Printed>, nanos: f64) {
        self.repeat(metric, Unit::Time, Better::Lower, value.into() * nanos);
    }

    /// Each round as a result of its own.
    pub(super) fn by_round(mut self) -> Vec<Self> {
        let mut all: BTreeMap<u32, Self> = BTreeMap::new();
        for (metric, series) in std::mem::take(&mut self.series) {
            for value in series.values {
                let one = all.entry(value.round).or_insert_with(|| Self { rounds: 1, ..self.clone() });
                one.put(&metric, 1, value.value, value.step, value.over);
            }
        }
        all.into_values().collect()
    }

    /// Counts the lines that were left out from another line on.
    pub(super) fn shift_lines(&mut self, lines: usize) {
        for line in &mut self.left_out {
            let number = line.strip_prefix("line ").and_then(|rest| rest.split_once(':'));
            if let Some((Ok(number), rest)) = number.map(|(number, rest)| (number.parse::<usize>(), rest)) {
                *line = format!("line {}:{rest}", number + lines);
            }
        }
    }

    /// Passes each line of a text to `take`, which returns whether it knew the line; keeps those that it did not know and that hold figures.
    pub(super) fn take_lines<'t>(&mut self, text: &'t str, mut take: impl FnMut(&mut Self, &'t str) -> bool) {
        for (number, line) in (1..).zip(text.lines()) {
            if !take(self, line) && looks_like_a_figure(line) {
                self.left_out.push(format!("line {number}: {}", line.trim()));
            }
        }
    }
}

/// True if a line has a number behind a label or before a unit.
fn looks_like_a_figure(line: &str) -> bool {
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    line.split([' ', '\t', '=', '(', ':', ',', ';']).any(is_number)
        && line.contains(|c: char| c.is_alphabetic())
}

impl Imported {
    /// Whether every figure can be one: a number, and no time or rate below zero.
    pub(super) fn check(&self) -> Result<(), String> {
        for (metric, series) in &self.series {
            let counts = self.kinds.get(metric).is_none_or(|kind| kind.unit == Unit::Count);
            let late = metric.contains(".late.");
            for value in series.values.iter().map(|value| value.value) {
                if !value.is_finite() {
                    return Err(format!("{metric} is {value}: no number that can be kept"));
                }
                // Only what wakes early may lie before its time.
                if value < 0.0
                    && !counts
                    && !late
                    && !matches!(self.kinds.get(metric), Some(Metric { unit: Unit::Other(_), .. }))
                {
                    return Err(format!("{metric} is below zero"));
                }
            }
        }
        Ok(())
    }
}

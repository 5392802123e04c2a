//! Tables whose columns the user names: CSV, TSV, JSON Lines, markdown, columns with blanks between.

mod columns_of_history;
mod value_column;

pub(super) use columns_of_history::has_heads;

use super::begin;
use super::json::text_of;
use super::number::{self, label, whole_quantity};
use crate::Imported;
use columns_of_history::{Roles, moment};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use tickmark_wire::{Better, Printed, Unit};
use value_column::ValueColumn;

/// The role of a table's columns, as the user gives it.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// Names of the columns in their order, each with a unit or not (`latency:us`); `-` leaves one out.
    pub columns: Vec<String>,
    /// Columns of figures, each with a unit or not.
    pub values: Vec<String>,
    /// Columns that are parameters of the figures.
    pub groups: Vec<String>,
    /// The column that names the metric.
    pub metric: Option<String>,
    /// The column of times: each time is a recording.
    pub time: Option<String>,
    /// What several lines of one metric are; none where that was not said.
    pub lines: Option<Lines>,
    /// True if a comma is the decimal mark.
    pub decimal_comma: bool,
    /// Cells without a figure.
    pub missing: Vec<String>,
    /// True if lines are measurements one after the other: each is a result of its own, and a column is one of times or commits by its name.
    pub is_history: bool,
}

/// What several lines of one metric are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Repetitions of one execution: all of them are one replicate.
    Repetitions,
    /// Executions of their own: each is a replicate.
    Replicates,
}

impl TableOptions {
    /// True if the user said that files are tables.
    #[must_use]
    pub fn is_table(&self) -> bool {
        !self.columns.is_empty()
            || !self.values.is_empty()
            || !self.groups.is_empty()
            || self.metric.is_some()
            || self.time.is_some()
    }
}

/// A table as text: heads where it has them, and the cells of each line.
pub(super) struct Table {
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<(usize, Vec<String>)>,
}

impl Table {
    /// Reads a text as a table.
    ///
    /// # Errors
    /// A line that cannot be read.
    pub(super) fn parse(text: &str, decimal_comma: bool) -> Result<Self, String> {
        let trimmed = text.trim_start();
        if is_json(trimmed) {
            return Self::from_json(trimmed);
        }
        let lines = || {
            (1..)
                .zip(text.lines())
                .filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        };
        let candidates: &[u8] = if decimal_comma { b"\t;|" } else { b"\t;,|" };
        let separator = candidates
            .iter()
            .copied()
            .find(|separator| lines().next().is_some_and(|(_, line)| line.as_bytes().contains(separator)));
        let mut rows: Vec<(usize, Vec<String>)> = Vec::new();
        for (number, line) in lines() {
            let cells: Vec<String> = match separator {
                None => line.split_whitespace().map(str::to_owned).collect(),
                Some(b'|') => {
                    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
                }
                Some(separator) => {
                    let mut reader = csv::ReaderBuilder::new()
                        .delimiter(separator)
                        .has_headers(false)
                        .flexible(true)
                        .trim(csv::Trim::All)
                        .from_reader(line.as_bytes());
                    let record = reader.records().next().and_then(Result::ok);
                    record
                        .map(|record| record.iter().map(str::to_owned).collect())
                        .ok_or_else(|| format!("line {number} cannot be read"))?
                }
            };
            // The rule under the heads of a markdown table.
            if !cells.iter().all(|cell| !cell.is_empty() && cell.bytes().all(|b| b == b'-' || b == b':')) {
                rows.push((number, cells));
            }
        }
        let is_head = rows.first().is_some_and(|(_, cells)| {
            cells.iter().all(|cell| figure(cell, decimal_comma).is_none() && !cell.is_empty())
        });
        let heads = if is_head { rows.remove(0).1 } else { Vec::new() };
        Ok(Self { heads, rows })
    }

    /// A list of objects, or one on each line.
    fn from_json(text: &str) -> Result<Self, String> {
        let all: Vec<Value> = match serde_json::from_str::<Value>(text) {
            Ok(Value::Array(all)) => all,
            Ok(one) => vec![one],
            Err(_) => (1..)
                .zip(text.lines())
                .filter(|(_, line)| !line.trim().is_empty())
                .map(|(number, line)| {
                    serde_json::from_str(line).map_err(|error| format!("line {number} is no JSON: {error}"))
                })
                .collect::<Result<_, _>>()?,
        };
        let flat: Vec<BTreeMap<String, String>> = all
            .iter()
            .map(|one| {
                let mut cells = BTreeMap::new();
                flatten(one, "", &mut cells);
                cells
            })
            .collect();
        let heads: std::collections::BTreeSet<&String> = flat.iter().flat_map(BTreeMap::keys).collect();
        let heads: Vec<String> = heads.into_iter().cloned().collect();
        let row = |cells: &BTreeMap<String, String>| {
            heads.iter().map(|head| cells.get(head).cloned().unwrap_or_default()).collect()
        };
        let rows = (1..).zip(flat.iter().map(row)).collect();
        Ok(Self { heads, rows })
    }

    /// The widest line's number of cells.
    pub(super) fn width(&self) -> usize {
        self.rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0)
    }
}

/// True if a text begins as JSON does; a log may begin with a bracket, too.
pub(super) fn is_json(text: &str) -> bool {
    let mut letters = text.chars().filter(|c| !c.is_whitespace());
    match letters.next() {
        Some('{') => letters.next().is_none_or(|c| c == '"' || c == '}'),
        Some('[')
            if text
                .lines()
                .next()
                .is_some_and(|line| line.trim_end().len() > 1 && !line.contains([',', '{', '"'])) =>
        {
            serde_json::from_str::<Value>(text).is_ok()
        }
        Some('[') => letters.next().is_none_or(|c| "{[\"-]".contains(c) || c.is_ascii_digit()),
        _ => false,
    }
}

/// Members of objects in objects, with dots between their names; lists are left out.
fn flatten(value: &Value, path: &str, cells: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) if path.matches('.').count() < 16 => {
            for (name, member) in members {
                flatten(
                    member,
                    &if path.is_empty() { name.clone() } else { format!("{path}.{name}") },
                    cells,
                );
            }
        }
        Value::Array(_) | Value::Object(_) => {}
        other => {
            let path = if path.is_empty() { "value" } else { path };
            cells.insert(path.to_owned(), text_of(other));
        }
    }
}

/// The figure of a cell, with its unit if it has one.
pub(super) fn figure(cell: &str, decimal_comma: bool) -> Option<(Printed, Option<Unit>)> {
    let cell = cell.trim();
    let text = if decimal_comma { number::with_point(cell)? } else { cell.to_owned() };
    let plain = Printed::parse(text.as_bytes()).map(|number| (number, None));
    plain.or_else(|| {
        // Thousands and decimal commas look alike without a point: neither is guessed.
        if text.contains(',') && !text.contains('.') {
            None
        } else {
            whole_quantity(&text).map(|(number, unit)| (number, Some(unit)))
        }
    })
}

/// A column that the user named: its name, and the unit that was given.
fn split_unit(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((name, word)) if !name.is_empty() && !word.is_empty() => (name, Some(word)),
        _ => (text, None),
    }
}

/// Reads a table.
///
/// # Errors
/// A column that is not there, a cell that is no number, or lines of which nobody said what they are.
pub(super) fn read(name: &str, text: &str, options: &TableOptions) -> Result<Vec<Imported>, String> {
    let table = Table::parse(text, options.decimal_comma)?;
    let given: Vec<(&str, Option<&str>)> = options.columns.iter().map(|column| split_unit(column)).collect();
    let heads: Vec<String> = if given.is_empty() {
        table.heads.clone()
    } else {
        given.iter().map(|(name, _)| (*name).to_owned()).collect()
    };
    if heads.len() > super::columns::MOST_COLUMNS {
        return Err(format!("more than {} columns", super::columns::MOST_COLUMNS));
    }
    if !given.is_empty() && given.len() != table.width() {
        return Err(format!("--columns names {} columns, and the table has {}", given.len(), table.width()));
    }
    let find = |wanted: &str| {
        let by_number = || {
            wanted
                .parse::<usize>()
                .ok()
                .and_then(|number| number.checked_sub(1))
                .filter(|at| *at < table.width())
        };
        heads.iter().position(|head| head == wanted).or_else(by_number).ok_or_else(|| {
            let known = if heads.is_empty() { format!("1 to {}", table.width()) } else { heads.join(", ") };
            format!("no column {wanted:?}; there are {known}")
        })
    };
    let mut groups: Vec<(usize, &String)> =
        options.groups.iter().map(|group| Ok((find(group)?, group))).collect::<Result<_, String>>()?;
    let by_head = if options.is_history { Roles::find(&table, &heads, options) } else { Roles::default() };
    if groups.is_empty() {
        groups = by_head.places.iter().map(|at| (*at, &heads[*at])).collect();
    }
    let metric = options.metric.as_deref().map(find).transpose()?.or(by_head.metric);
    let time = options.time.as_deref().map(find).transpose()?.or(by_head.time);
    let commit = by_head.commit;
    let role =
        |at: usize| groups.iter().any(|(own, _)| *own == at) || [metric, time, commit].contains(&Some(at));
    let mut values: Vec<ValueColumn> = if options.values.is_empty() {
        let is_figures = |at: usize| {
            table.rows.iter().any(|(_, cells)| {
                cells.get(at).is_some_and(|cell| figure(cell, options.decimal_comma).is_some())
            })
        };
        let is_number_of_something = |head: &str| options.is_history && columns_of_history::is_number(head);
        let wanted = (0..table.width()).filter(|at| {
            !role(*at)
                && heads.get(*at).is_none_or(|head| head != "-" && !is_number_of_something(head))
                && is_figures(*at)
        });
        wanted
            .map(|at| {
                ValueColumn::new(
                    at,
                    heads.get(at).map_or(&format!("column.{}", at + 1), |head| head),
                    given.get(at).and_then(|(_, unit)| *unit),
                )
            })
            .collect()
    } else {
        let one = |value: &String| {
            let exact = find(value).map(|at| ValueColumn::new(at, value, None));
            exact.or_else(|why| {
                let (name, unit) = split_unit(value);
                if unit.is_none() { Err(why) } else { Ok(ValueColumn::new(find(name)?, name, unit)) }
            })
        };
        options.values.iter().map(one).collect::<Result<_, String>>()?
    };
    if values.is_empty() {
        let cells = table.rows.iter().flat_map(|(_, cells)| cells);
        let with_comma = cells.map(|cell| advice(cell)).find(|advice| advice.contains("--decimal"));
        return Err(format!("no column of figures{}", with_comma.unwrap_or_default()));
    }
    // "time (ms)" and "time (us)" are two.
    let names: Vec<String> = values.iter().map(|value| value.name.clone()).collect();
    for value in &mut values {
        if names.iter().filter(|name| **name == value.name).count() > 1 {
            value.name =
                heads.get(value.at).map_or_else(|| format!("column.{}", value.at + 1), |head| label(head));
        }
    }
    let mut all: BTreeMap<(Option<Timestamp>, usize), Imported> = BTreeMap::new();
    let mut commits = BTreeMap::new();
    for (number, cells) in &table.rows {
        if cells.len() != heads.len() && !heads.is_empty() {
            return Err(format!(
                "line {number} has {}, and there are {}: --columns names all of them",
                counted(cells.len(), "cell"),
                counted(heads.len(), "heading")
            ));
        }
        let cell = |at: usize| cells.get(at).map_or("", |cell| cell.trim());
        let at = time
            .map(|at| {
                moment(cell(at)).ok_or_else(|| {
                    format!("line {number}: {:?} is no time such as 2026-11-27, 2026-11-27T08:07:22Z, or seconds since 1970", cell(at))
                })
            })
            .transpose()?;
        let own_commit = commit.map(cell).filter(|text| !text.is_empty());
        let place = match own_commit {
            _ if !options.is_history => 0,
            None if at.is_some() => 0,
            Some(commit) => *commits.entry(commit).or_insert(*number),
            None => *number,
        };
        let found = all.entry((at, place)).or_insert_with(|| {
            let mut found = begin("table", name);
            (found.at, found.is_one_replicate) = (at, options.lines != Some(Lines::Replicates));
            found.know("commit.id", own_commit.unwrap_or_default(), name);
            found
        });
        let parameters: String =
            groups.iter().map(|(at, group)| format!(".{}={}", label(group), label(cell(*at)))).collect();
        for value in &values {
            let text = cell(value.at);
            let is_known = options.is_history && columns_of_history::is_missing(text);
            if text.is_empty() || is_known || options.missing.iter().any(|missing| missing == text) {
                continue;
            }
            let Some((number_found, own)) = figure(text, options.decimal_comma) else {
                return Err(format!("line {number}: {text:?} is no number{}", advice(text)));
            };
            let name = match (metric, values.len()) {
                (Some(at), 1) => label(cell(at)),
                (Some(at), _) => format!("{}.{}", label(cell(at)), value.name),
                (None, _) => value.name.clone(),
            };
            let metric = format!("{name}{parameters}");
            if options.lines.is_none() && !options.is_history && found.series.contains_key(&metric) {
                return Err(format!(
                    "line {number} has {metric} again: --lines repetitions (of one execution), --lines replicates (executions of their own), --group COLUMN or --time COLUMN says what lines are"
                ));
            }
            let unit = own.unwrap_or(value.unit);
            if let Some(known) = found.kinds.get(&metric).filter(|known| known.unit != unit) {
                let (known, unit) = (known.unit.word(), unit.word());
                return Err(format!("line {number}: {text:?} is a {unit}, and {metric} before it a {known}"));
            }
            let better = if own == Some(Unit::Time) { Better::Lower } else { value.better };
            let factor = if own.is_some() { 1.0 } else { value.factor };
            found.repeat(&metric, unit, better, number_found * factor);
        }
    }
    Ok(all.into_values().filter(|found| !found.series.is_empty()).collect())
}

pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// What to type where a cell is no number.
pub(super) fn advice(text: &str) -> &'static str {
    match text {
        text if text.contains(',') && text.bytes().any(|b| b.is_ascii_digit()) => {
            " (--decimal , if the comma is the decimal mark)"
        }
        "-" | "NaN" | "nan" | "NA" | "n/a" | "null" | "None" | "" => {
            " (--missing TEXT leaves such cells out)"
        }
        _ => "",
    }
}

//! Plain columns of numbers, without any other text: each column is a metric, each line a repetition. A table whose first column rises is a
//! curve or a series, and none of these.

use super::begin;
use super::number::{heading_unit, label};
use super::table::{Table, figure};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

/// A table of more columns is none that a person reads, and each would be a metric.
pub(super) const MOST_COLUMNS: usize = 1_000;

/// The numbers; none where a text is anything else.
pub(super) fn read(name: &str, text: &str, decimal_comma: bool) -> Option<Imported> {
    if text.trim_start().starts_with(['{', '[', '<']) {
        return None;
    }
    let mut found = begin("columns", name);
    found.is_one_replicate = true;
    if let Some((head, values)) = single(text, decimal_comma) {
        let of_head = head.as_deref().and_then(heading_unit);
        let bare = |head: String| label(head.split(['(', '[']).next().unwrap_or_default());
        let metric = head.map_or_else(|| "column.1".to_owned(), |head| format!("column.{}", bare(head)));
        for (value, unit) in values {
            let better = if unit == Some(Unit::Time) { Better::Lower } else { Better::Neither };
            let (unit, factor, better) = match unit {
                Some(unit) => (unit, 1.0, better),
                None => of_head.unwrap_or((Unit::Count, 1.0, Better::Neither)),
            };
            found.repeat(&metric, unit, better, value * factor);
        }
        return Some(found);
    }
    // Comments are other text; a comma may separate columns, thousands or decimals.
    if text.contains(['#', ',']) {
        return None;
    }
    let first_line = text.lines().find(|line| !line.trim().is_empty())?;
    if !first_line
        .split([' ', '\t', ';', '|'])
        .filter(|cell| !cell.is_empty())
        .all(|cell| figure(cell, decimal_comma).is_some())
    {
        return None;
    }
    let table = Table::parse(text, decimal_comma).ok()?;
    let width = table.width();
    if !table.heads.is_empty() || !(2..=MOST_COLUMNS).contains(&width) || table.rows.len() < 2 {
        return None;
    }
    let mut first: Vec<f64> = Vec::new();
    for (_, cells) in &table.rows {
        if cells.len() != width {
            return None;
        }
        for (at, cell) in cells.iter().enumerate() {
            let (number, None) = figure(cell, decimal_comma)? else { return None };
            if at == 0 {
                first.push(number.value);
            }
            found.repeat(&format!("column.{}", at + 1), Unit::Count, Better::Neither, number);
        }
    }
    let rises = first.windows(2).all(|pair| pair[0] <= pair[1]) && first.first() != first.last();
    (!rises).then_some(found)
}

/// What stands for a run without a value, and is no heading.
const NO_VALUES: [&str; 15] = [
    "nan", "inf", "infinity", "na", "n/a", "null", "nil", "none", "fail", "failed", "failure", "error",
    "timeout", "skipped", "killed",
];

/// One number on each line, all with a unit or none: the name above them, and the numbers.
type Single = (Option<String>, Vec<(Printed, Option<Unit>)>);

fn single(text: &str, decimal_comma: bool) -> Option<Single> {
    let mut lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim().trim_matches('"'))
        .filter(|line| !line.is_empty())
        .peekable();
    let value = |line: &str| figure(line, decimal_comma);
    let head = lines.next_if(|line| {
        value(line).is_none()
            && line.split_whitespace().count() == 1
            && !line.contains(['=', ':', ',', ';'])
            && line.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && !NO_VALUES.contains(&line.to_lowercase().as_str())
    });
    let values: Vec<(Printed, Option<Unit>)> = lines.map(value).collect::<Option<_>>()?;
    let one_unit = values.iter().all(|(_, unit)| *unit == values[0].1);
    (!values.is_empty() && one_unit).then(|| (head.map(str::to_owned), values))
}

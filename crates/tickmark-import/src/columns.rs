//! Columns of numbers, as ministat reads them: each file is a recording, each line a run, each column a metric.

use super::{begin, named};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

/// The fields of a line at what separates the file's columns; empty cells keep their place, but for blanks.
fn fields(line: &str, separator: Option<char>) -> Vec<&str> {
    match separator {
        Some(separator) => line.split(separator).map(|field| field.trim().trim_matches('"')).collect(),
        None => line.split_whitespace().collect(),
    }
}

fn finite(field: &str) -> Option<Printed> {
    Printed::parse(field.as_bytes())
}

/// A table of more columns is none that a person reads, and each would be a metric.
pub(super) const MOST_COLUMNS: usize = 1_000;

/// The numbers, with the lines that hold none where they should; none where a text is anything but columns: every line after the
/// first has as many fields, and numbers in the same places, but for a few.
pub(super) fn read(name: &str, text: &str) -> Option<(Imported, Vec<String>)> {
    if text.trim_start().starts_with(['{', '[', '<']) {
        return None;
    }
    let bare = |line| -> &str { str::split(line, '#').next().unwrap_or_default().trim() };
    let lines: Vec<(usize, &str)> =
        (1..).zip(text.lines().map(bare)).filter(|(_, line)| !line.is_empty()).collect();
    let separator = [';', '\t', ',']
        .into_iter()
        .find(|separator| lines.iter().any(|(_, line)| line.contains(*separator)));
    let split: Vec<(usize, Vec<&str>)> =
        lines.iter().map(|(at, line)| (*at, fields(line, separator))).collect();
    // Words above the numbers are their names.
    let heads = split
        .first()
        .filter(|(_, fields)| fields.iter().all(|field| finite(field).is_none()))
        .map(|(_, heads)| heads);
    let data = &split[usize::from(heads.is_some())..];
    let (_, shape) = data.first()?;
    if shape.len() > MOST_COLUMNS {
        return None;
    }
    let numeric: Vec<usize> = (0..shape.len()).filter(|column| finite(shape[*column]).is_some()).collect();
    let metric = |column: usize| {
        let head = heads.and_then(|heads| heads.get(column)).map(|head| named(head));
        let once = |head: &String| {
            !head.is_empty()
                && heads.is_some_and(|heads| heads.iter().filter(|other| named(other) == *head).count() == 1)
        };
        head.filter(once).map_or_else(|| format!("column.{}", column + 1), |head| format!("column.{head}"))
    };
    let numeric: Vec<(usize, String)> = numeric.into_iter().map(|column| (column, metric(column))).collect();
    let mut found = begin("columns", name);
    let (mut round, mut others, mut odd) = (0, Vec::new(), 0);
    for (at, fields) in data {
        if fields.len() != shape.len() || !numeric.iter().any(|(column, _)| finite(fields[*column]).is_some())
        {
            odd += 1;
            others.push(format!("{name} line {at}: not the columns of the lines before; left out"));
            continue;
        }
        round += 1;
        for (column, metric) in &numeric {
            match finite(fields[*column]) {
                Some(number) => found.figure(metric, Unit::Count, Better::Neither, round, number),
                None => {
                    others.push(format!("{name} line {at}: {:?} is no number; left out", fields[*column]));
                }
            }
        }
    }
    (round > 1 && odd * 4 <= data.len()).then_some((found, others))
}

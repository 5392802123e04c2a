//! Summary pages: tables of one row a run, as lmbench prints them or as they stand on web pages that keep
//! one blank of several. Rows of averages and percents are computed from others and are left out.

use super::import::{Imported, host};
use super::layout::{TABLES, Table};
use super::number::printed;
use std::collections::BTreeMap;
use std::ops::Range;

/// Reads a page; how many rows were taken.
pub(super) fn read(name: &str, text: &str, all: &mut Vec<Imported>, warnings: &mut Vec<String>) -> usize {
    let tool = match text.lines().find(|line| line.contains("L M B E N C H")) {
        Some(line) => format!(
            "lmbench {}",
            line.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect::<String>()
        ),
        None => "lmbench".to_owned(),
    };
    let source = |number: usize| format!("{name}, line {number}");
    // Where the rows of a host begin: behind those of an earlier page.
    let begun: BTreeMap<String, u32> = all
        .iter()
        .filter(|known| known.tool == tool)
        .map(|known| (known.host.clone(), known.rounds))
        .collect();
    let mut table: Option<&Table> = None;
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut rounds: BTreeMap<String, u32> = BTreeMap::new();
    let mut taken = 0;
    for (number, line) in text.lines().enumerate().map(|(number, line)| (number + 1, line)) {
        let trimmed = line.trim();
        if let Some(found) = TABLES.iter().find(|table| trimmed.starts_with(table.title)) {
            table = Some(found);
            spans.clear();
            rounds.clear();
            continue;
        }
        if trimmed.starts_with("Basic ") || trimmed.contains("Remote") {
            // A table of a later lmbench that has no metric here.
            warnings.push(format!(
                "{}: no metrics are known for \"{trimmed}\"; its rows are left out",
                source(number)
            ));
            table = None;
        }
        let Some(table) = table else { continue };
        let rule = trimmed.split_whitespace().all(|word| word.bytes().all(|b| b == b'-'));
        if rule && trimmed.split_whitespace().count() > 2 {
            spans = columns(line);
            continue;
        }
        if spans.is_empty() || rule || derived(trimmed) {
            continue;
        }
        let words: Vec<&str> = trimmed.split_whitespace().collect();
        let Some(at) = first_figure(&words) else { continue };
        let figures =
            words[at..].iter().take_while(|word| printed(word).is_some() || word.starts_with('-')).count();
        let wanted = table.columns.len();
        let placed = || by_place(line, &spans, wanted).filter(|_| figures < wanted);
        let cells: Vec<Option<&str>> = if figures == wanted {
            words[at..at + figures].iter().map(|word| Some(*word)).collect()
        } else if let Some(cells) = placed() {
            cells
        } else {
            warnings.push(format!("{}: {figures} figures for {wanted} columns; left out", source(number)));
            continue;
        };
        let round =
            rounds.entry(words[0].to_owned()).or_insert_with(|| begun.get(words[0]).copied().unwrap_or(0));
        *round += 1;
        let host = host(all, words[0], &tool);
        host.know("host.name", words[0], &source(number));
        host.know("kernel.release", words.get(2).copied().unwrap_or_default(), &source(number));
        for (column, cell) in table.columns.iter().zip(cells) {
            if let Some((value, step)) = cell.and_then(printed) {
                host.put(column.metric, *round, value * column.scale, step * column.scale);
            }
        }
        taken += 1;
    }
    taken
}

/// Whether a line was computed from others: averages, percents, rules of equal signs.
fn derived(line: &str) -> bool {
    line.is_empty() || line.starts_with("===") || line.contains("Avrg") || line.ends_with('%')
}

/// The index of a row's first figure: behind host, system, release and a description.
fn first_figure(words: &[&str]) -> Option<usize> {
    let numeric = |word: &&str| printed(word).is_some();
    let system = words.get(1)?.starts_with(|c: char| c.is_ascii_uppercase());
    let release = words.get(2)?.contains(|c: char| c.is_ascii_digit());
    (system && release).then(|| words.iter().skip(3).position(numeric))?.map(|at| at + 3)
}

/// Where the columns lie under a rule such as `--------- ---- ----`.
fn columns(rule: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (at, byte) in rule.bytes().enumerate().filter(|(_, byte)| *byte == b'-') {
        debug_assert_eq!(byte, b'-');
        match spans.last_mut() {
            Some(span) if span.end == at => span.end = at + 1,
            _ => spans.push(at..at + 1),
        }
    }
    spans
}

/// The cells of a line by their place, where the page kept its blanks: a figure that lacks is a cell that is
/// empty.
fn by_place<'a>(line: &'a str, spans: &[Range<usize>], wanted: usize) -> Option<Vec<Option<&'a str>>> {
    let second = spans.get(1)?;
    let kept = line.is_ascii() && line.get(second.start..)?.starts_with(|c: char| c.is_ascii_alphabetic());
    if !kept || line.get(second.start - 1..second.start)? != " " {
        return None;
    }
    let spans = spans.get(spans.len().checked_sub(wanted)?..)?;
    let cell = |span: &Range<usize>| {
        let text = line.get(span.start.min(line.len())..span.end.min(line.len()))?.trim();
        (!text.is_empty()).then_some(text)
    };
    Some(spans.iter().map(cell).collect())
}

//! lmbench's tables.

use crate::number::bytes;
use crate::{grid::reader_width, reason};
use anstyle::Style;
use std::fmt::Write;
use std::ops::Range;
use tickmark_analysis::lmbench::{Filled, Lack, Missing, Page, System};
use tickmark_analysis::report::Mark;
use tickmark_import::lmbench::{percent_cell, to_step};

const HEADING: Style = Style::new().bold();

/// The page as text, as wide as somebody reads. `beside` names the source of rows below ours, where tables have some.
#[must_use]
pub fn text(page: &Page, beside: &str) -> String {
    let mut out = String::new();
    for table in &page.tables {
        let _ = writeln!(out, "\n{HEADING}{}{HEADING:#}", table.title);
        lines(&mut out, table, beside);
    }
    let legends = [
        (
            "mean",
            "mean costs with ticks and interrupts, without preempted batches (--floor has the costs without ticks)",
        ),
        ("floor", "floors: the 10th percentile of short batches, without ticks"),
        ("imported", "imported figures are as another program printed them: lmbench's are medians or minima"),
    ];
    let marked =
        page.tables.iter().flat_map(|t| &t.systems).any(|s| s.real.iter().flatten().any(|real| *real));
    let _ = match marked {
        true if page.exact => writeln!(
            out,
            "\nOne row per boot, each at a different phase of the tick. * changed: by more than the margin in every boot."
        ),
        true => writeln!(
            out,
            "\nOne row per run. * changed: significant after correction for the number of columns."
        ),
        false => writeln!(out, "\nOne row per run. No change is claimed."),
    };
    for (_, legend) in legends.iter().filter(|(kind, _)| page.figures.contains(kind)) {
        let _ = writeln!(out, "{legend}");
    }
    if !page.without.is_empty() {
        let _ = writeln!(out, "not measured: {}", page.without.join("; "));
    }
    for (why, metrics) in marked_columns(page) {
        let _ = writeln!(out, "~ {why}: {}", metrics.join(", "));
    }
    let mut reasons: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for Missing { system, metric, why } in &page.missing {
        let why = lack(why);
        match reasons.iter_mut().find(|(known, reason, _)| known == system && *reason == why) {
            Some((.., metrics)) => metrics.push(metric),
            None => reasons.push((system, why, vec![metric])),
        }
    }
    for (system, why, metrics) in reasons {
        let _ = writeln!(out, "-: {system}, {why}: {}", metrics.join(", "));
    }
    out
}

/// Each mark with the metrics that have it, of every system.
fn marked_columns(page: &Page) -> Vec<(String, Vec<&'static str>)> {
    let mut all: Vec<(String, Vec<&'static str>)> = Vec::new();
    for table in &page.tables {
        for system in &table.systems {
            for (column, mark) in
                table.columns.iter().zip(&system.marks).flat_map(|(c, m)| m.iter().map(move |m| (c, m)))
            {
                let why = format!("{}, {}", system.name, reason::mark(mark));
                match all.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, metrics)) if metrics.contains(&column.metric) => {}
                    Some((_, metrics)) => metrics.push(column.metric),
                    None => all.push((why, vec![column.metric])),
                }
            }
        }
    }
    all
}

/// Columns ahead of the figures.
const LABELS: usize = 2;

/// Heading and rows of systems, labels first.
fn rows(table: &Filled, systems: &[System]) -> Vec<Vec<String>> {
    let mut grid: Vec<Vec<String>> = Vec::new();
    for system in systems {
        let shown = |cells: &[Option<f64>]| -> Vec<String> {
            let cell = |((cell, step), marks): ((&Option<f64>, &f64), &Vec<Mark>)| {
                let mark = if marks.is_empty() { "" } else { "~" };
                cell.map_or_else(|| "-".to_owned(), |v| to_step(v, *step) + mark)
            };
            cells.iter().zip(&system.steps).zip(&system.marks).map(cell).collect()
        };
        for row in &system.rows {
            grid.push([vec![system.name.clone(), os(system)], shown(row)].concat());
        }
        grid.push([vec![system.name.clone(), "average".to_owned()], shown(&system.average)].concat());
        if let Some(percent) = &system.percent {
            let none = vec![false; percent.len()];
            let marks = system.real.as_ref().unwrap_or(&none).iter().map(|real| if *real { "*" } else { "" });
            let cells = percent
                .iter()
                .zip(marks)
                .map(|(p, mark)| p.map_or_else(|| "-".to_owned(), |p| percent_cell(p) + mark));
            let base = systems.first().map_or("", |base| base.name.as_str());
            grid.push(["% against", base].map(str::to_owned).into_iter().chain(cells).collect());
        }
    }
    debug_assert!(grid.iter().all(|row| row.len() == table.columns.len() + LABELS));
    grid
}

/// A table with the rows of another source below; in parts, where its columns have no room beside each other.
fn lines(out: &mut String, table: &Filled, beside: &str) {
    let heading = |line: usize| {
        let labels = [["Host", "OS"], ["", ""]][line].map(str::to_owned).into_iter();
        labels.chain(table.columns.iter().map(|column| column.head[line].to_owned())).collect()
    };
    let own: Vec<Vec<String>> = (0..2).map(heading).chain(rows(table, &table.systems)).collect();
    let others = rows(table, &table.beside);
    let width =
        |column: usize| own.iter().chain(&others).map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.columns.len() + LABELS).map(width).collect();
    let line = |cells: &[String], part: &Range<usize>| {
        let label = |at: usize| format!("{:width$}  ", cells[at], width = widths[at]);
        let figure = |at: usize| format!("{:>width$} ", cells[at], width = widths[at]);
        let text: String = (0..LABELS).map(label).chain(part.clone().map(figure)).collect();
        text.trim_end().to_owned()
    };
    for (number, part) in parts_in(&widths, reader_width().unwrap_or(usize::MAX)).iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        own.iter().for_each(|cells| {
            let _ = writeln!(out, "{}", line(cells, part));
        });
        if !others.is_empty() {
            let _ = writeln!(out, "{beside}:");
        }
        others.iter().for_each(|cells| {
            let _ = writeln!(out, "{}", line(cells, part));
        });
    }
}

/// Columns of figures that fit beside the labels in lines of this width.
fn parts_in(widths: &[usize], width: usize) -> Vec<Range<usize>> {
    let labels: usize = widths[..LABELS].iter().map(|width| width + 2).sum();
    let room = width.saturating_add(1).saturating_sub(labels);
    let (mut parts, mut begin, mut used) = (Vec::new(), LABELS, 0);
    for (at, width) in widths.iter().enumerate().skip(LABELS) {
        if used + width + 1 > room && at > begin {
            parts.push(begin..at);
            (begin, used) = (at, 0);
        }
        used += width + 1;
    }
    parts.push(begin..widths.len());
    parts
}

pub(crate) fn os(system: &System) -> String {
    let words: Vec<&str> = system.system.iter().chain(&system.kernel).map(String::as_str).collect();
    words.join(" ")
}

/// Why a figure is missing.
pub(crate) fn lack(why: &Lack) -> String {
    let texts = |marks: &[Mark]| marks.iter().map(reason::mark).collect::<Vec<_>>().join("; ");
    match why {
        Lack::NotInFile => "not in the file".to_owned(),
        Lack::Ended { status, marks } => format!("{}: {}", reason::status(*status), texts(marks)),
        Lack::Marked(marks) => texts(marks),
        Lack::NotYet => "not run yet in every round".to_owned(),
        Lack::NoLevel => "the curve shows no such level".to_owned(),
        Lack::NotMeasured => "not measured".to_owned(),
        Lack::Sizes { over, base } => {
            format!("over {} and not {}: no percentage", bytes(*over as f64), bytes(*base as f64))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_have_no_room_begin_another_part() {
        // Labels take 9 + 2 + 13 + 2 = 26 columns; the last blank of a line is none.
        let widths = [9, 13, 5, 5, 5, 40];
        let ends = |width| parts_in(&widths, width).iter().map(|part| part.end).collect::<Vec<_>>();
        assert_eq!(ends(43), [5, 6]);
        assert_eq!(ends(42), [4, 5, 6]);
        assert_eq!(ends(usize::MAX), [6]);
        assert_eq!(ends(10), [3, 4, 5, 6]);
    }
}

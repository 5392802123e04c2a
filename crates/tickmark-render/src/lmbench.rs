//! lmbench's tables.

use crate::number::bytes;
use crate::reason;
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::lmbench::{Filled, Lack, Missing, Page, System};
use tickmark_analysis::report::Mark;
use tickmark_import::lmbench::{percent_cell, to_step};

const HEADING: Style = Style::new().bold();

/// The page as text. `beside` names the per cents of another source, where tables have some.
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

fn lines(out: &mut String, table: &Filled, beside: &str) {
    let mut grid: Vec<Vec<String>> = vec![Vec::new(), Vec::new()];
    for line in 0..2 {
        let label = [["Host", "OS"], ["", ""]][line];
        grid[line].extend(label.map(str::to_owned));
        grid[line].extend(table.columns.iter().map(|column| column.head[line].to_owned()));
    }
    for system in &table.systems {
        let shown = |cells: &[Option<f64>], steps: &[f64]| -> Vec<String> {
            let cell = |((cell, step), marks): ((&Option<f64>, &f64), &Vec<Mark>)| {
                let mark = if marks.is_empty() { "" } else { "~" };
                cell.map_or_else(|| "-".to_owned(), |v| to_step(v, *step) + mark)
            };
            cells.iter().zip(steps).zip(&system.marks).map(cell).collect()
        };
        for row in &system.rows {
            grid.push([vec![system.name.clone(), os(system)], shown(row, &system.steps)].concat());
        }
        let average = vec![system.name.clone(), "average".to_owned()];
        grid.push([average, shown(&system.average, &system.steps)].concat());
        if let Some(percent) = &system.percent {
            let marks = system.real.iter().flatten().map(|real| if *real { "*" } else { "" });
            let cells = percent
                .iter()
                .zip(marks)
                .map(|(p, mark)| p.map_or_else(|| "-".to_owned(), |p| percent_cell(p) + mark));
            let base = table.systems.first().map_or("", |base| base.name.as_str());
            grid.push([format!("against {base}"), "%".to_owned()].into_iter().chain(cells).collect());
        }
    }
    for system in &table.beside {
        let cells = system.average.iter().zip(&system.steps);
        let cells = cells.map(|(cell, step)| cell.map_or_else(|| "-".to_owned(), |v| to_step(v, *step)));
        grid.push(
            [format!("{beside}: {}", system.name), "average".to_owned()].into_iter().chain(cells).collect(),
        );
        if let Some(percents) = &system.percent {
            let cells = percents.iter().map(|p| p.map_or_else(|| "-".to_owned(), percent_cell));
            grid.push([beside.to_owned(), "%".to_owned()].into_iter().chain(cells).collect());
        }
    }
    let width = |column: usize| grid.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..table.columns.len() + 2).map(width).collect();
    for line in &grid {
        let mut text = String::new();
        for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let _ = if index < 2 { write!(text, "{cell:width$}  ") } else { write!(text, "{cell:>width$} ") };
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }
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

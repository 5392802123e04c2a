//! Columns under each other.

use crate::fold::wrapped;
use anstyle::Style;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::OnceLock;

/// Columns of a terminal of the usual size.
const USUAL: usize = 80;

/// Columns that a line may have: as COLUMNS says, else those of the terminal that standard output is, else 80.
#[must_use]
pub fn width() -> usize {
    static WIDTH: OnceLock<usize> = OnceLock::new();
    *WIDTH.get_or_init(|| reader_width().unwrap_or(USUAL))
}

/// The narrowest column that names are folded into.
const NARROWEST: usize = 16;

/// The width that somebody reads with: none where standard output is a pipe or a file, and COLUMNS says nothing.
#[must_use]
pub fn reader_width() -> Option<usize> {
    let size = || std::io::stdout().is_terminal().then(terminal_size::terminal_size)?;
    width_of(size().map(|(width, _)| usize::from(width.0)))
}

/// The width of a stream whose terminal, if it is one, has so many columns: COLUMNS goes first.
#[must_use]
pub fn width_of(terminal: Option<usize>) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    said.or(terminal).map(|width: usize| width.clamp(40, 300))
}

/// True where the locale names ASCII: C or POSIX, in the first of its variables that is set.
#[must_use]
pub fn is_ascii_locale() -> bool {
    let first =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    first.is_some_and(|value| value == "C" || value == "POSIX")
}

/// The text as a terminal of that locale shows it.
#[must_use]
pub fn in_ascii(text: &str) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '·' => out.push('-'),
            '±' => out.push_str("+-"),
            c => match BARS.iter().position(|bar| *bar == c) {
                Some(level) => out.push(char::from(b".:-=+*#@"[level])),
                // Names of others stay as they are.
                None => out.push(c),
            },
        }
    }
    out
}

/// The rows as lines, every column as wide as its widest cell with two blanks between them; columns in `right` end with each
/// other. A line has no blanks at its end.
pub(crate) fn lines(
    rows: impl IntoIterator<Item = Vec<String>>,
    right: impl IntoIterator<Item = usize>,
) -> Vec<String> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    for row in rows {
        table.add_row(row);
    }
    for column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.column_iter_mut().for_each(|column| {
        column.set_padding((0, 2));
    });
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// The same, without those of the columns in `droppable` that have no room beside an indent of 2, the first one first;
/// a last line names them.
pub(crate) fn fitting(rows: &[Vec<String>], right: &[usize], droppable: &[usize]) -> Vec<String> {
    let mut kept: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).collect();
    let made = |rows: &[Vec<String>], kept: &[usize]| {
        let cells = |row: &Vec<String>| kept.iter().map(|at| row[*at].clone()).collect();
        let right = kept.iter().enumerate().filter(|(_, at)| right.contains(at)).map(|(number, _)| number);
        lines(rows.iter().map(cells), right)
    };
    let mut table = made(rows, &kept);
    // Into a pipe or a file goes all.
    let droppable = if reader_width().is_some() { droppable } else { &[] };
    for column in droppable {
        if table.iter().all(|line| line.chars().count() + 2 <= width()) {
            break;
        }
        kept.retain(|at| at != column);
        table = made(rows, &kept);
    }
    // Names that leave no room for figures are folded.
    let widest = table.iter().map(|line| line.chars().count() + 2).max().unwrap_or(0);
    let name = rows.iter().filter_map(|row| Some(row.first()?.chars().count())).max().unwrap_or(0);
    let room = (name + width()).saturating_sub(widest);
    if reader_width().is_some() && widest > width() && room >= NARROWEST {
        let mut narrow = rows.to_vec();
        for name in narrow.iter_mut().filter_map(|row| row.first_mut()) {
            *name = textwrap::wrap(name, textwrap::Options::new(room).subsequent_indent("  ")).join("\n");
        }
        table = made(&narrow, &kept);
    }
    let dropped: Vec<&str> = rows
        .first()
        .into_iter()
        .flat_map(|heading| {
            heading
                .iter()
                .enumerate()
                .filter(|(at, name)| !kept.contains(at) && !name.is_empty())
                .map(|(_, name)| name.as_str())
        })
        .collect();
    if !dropped.is_empty() {
        table.push(format!("(no room for: {})", dropped.join(", ")));
    }
    table
}

/// The same as a table: its first row is a heading, and bold.
pub(crate) fn table(
    out: &mut String,
    rows: impl IntoIterator<Item = Vec<String>>,
    right: impl IntoIterator<Item = usize>,
) {
    let bold = Style::new().bold();
    for (number, line) in lines(rows, right).into_iter().enumerate() {
        let _ = if number == 0 { writeln!(out, "{bold}{line}{bold:#}") } else { writeln!(out, "{line}") };
    }
}

/// The same as a table, without the columns in `droppable` that have no room, the first one first.
pub(crate) fn fitting_table(out: &mut String, rows: &[Vec<String>], right: &[usize], droppable: &[usize]) {
    let bold = Style::new().bold();
    for (number, line) in fitting(rows, right, droppable).into_iter().enumerate() {
        let _ = if number == 0 { writeln!(out, "{bold}{line}{bold:#}") } else { writeln!(out, "{line}") };
    }
}

/// Rows as wide as somebody reads: cells are wrapped between words, the widest first. The first row is a heading, and bold.
pub(crate) fn wrapped_table(out: &mut String, rows: impl IntoIterator<Item = Vec<String>>) {
    let columns = u16::try_from(width() + 2).unwrap_or(u16::MAX);
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(columns);
    let mut rows = rows.into_iter();
    let heading = rows.next().unwrap_or_default();
    table.add_row(&heading);
    for row in rows {
        table.add_row(row);
    }
    let last = heading.len().saturating_sub(1);
    table.column_iter_mut().enumerate().for_each(|(number, column)| {
        column.set_padding((0, 2));
        // A word of its own is never broken.
        if number == last {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    });
    let bold = Style::new().bold();
    for (number, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let _ = if number == 0 { writeln!(out, "{bold}{line}{bold:#}") } else { writeln!(out, "{line}") };
    }
}

/// Names in bold with what each is, wrapped behind the column at `indent`.
pub(crate) fn definitions<'a>(
    out: &mut String,
    all: impl IntoIterator<Item = (&'a str, String)>,
    indent: usize,
) {
    let bold = Style::new().bold();
    for (name, text) in all {
        let text = wrapped(&text, indent).join("\n");
        let gap = indent.saturating_sub(2 + name.len());
        let _ = writeln!(out, "  {bold}{name}{bold:#}{:gap$}{}", "", text.trim_start());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_has_a_form_in_ascii() {
        assert_eq!(in_ascii("a · ±3 % ▁▄█ Zürich"), "a - +-3 % .=@ Zürich");
    }

    #[test]
    fn columns_stand_under_each_other() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let made = lines([row(["a", "1 ns", ""]), row(["bcd", "20 ns", "x"])], [1]);
        assert_eq!(made, ["a     1 ns", "bcd  20 ns  x"]);
        assert!(lines([], []).is_empty());
    }

    #[test]
    fn long_texts_are_wrapped_between_words() {
        let text = "word ".repeat(40);
        let made = wrapped(&text, 6);
        assert!(
            made.len() == 3 && made.iter().all(|line| line.len() <= USUAL && line.starts_with("      w"))
        );
    }
}

//! Columns under each other.

use anstyle::Style;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use std::fmt::Write;

/// The widest line that does not wrap on a terminal of the usual size.
pub(crate) const WIDTH: usize = 80;

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

/// A text in lines of at most [`WIDTH`], each behind `indent` blanks.
pub(crate) fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let blanks = " ".repeat(indent);
    let options = textwrap::Options::new(WIDTH).initial_indent(&blanks).subsequent_indent(&blanks);
    textwrap::wrap(text, options.break_words(false)).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            made.len() == 3 && made.iter().all(|line| line.len() <= WIDTH && line.starts_with("      w"))
        );
    }
}

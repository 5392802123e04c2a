//! Tables of functions and of kinds, for the terminal with their first rows and for a page with all.

use super::{NOTHING, instructions, more};
use crate::fold::hanging;
use crate::grid::fitting_table;
use crate::number::percent;
use maud::{Markup, html};
use std::fmt::Write;
use tickmark_analysis::explain::{Change, Function, Interrupt};

/// Rows of a table of functions in the terminal.
const ROWS: usize = 16;
/// Kinds of an interrupt there.
const KINDS: usize = 8;

/// Functions, the most important first.
pub(super) struct FunctionTable {
    title: String,
    heading: Vec<&'static str>,
    /// The cells of each, and its instructions, or by how many it differs.
    rows: Vec<(Vec<String>, f64)>,
    /// Columns that are left out where there is no room, by number.
    droppable: &'static [usize],
}

impl FunctionTable {
    /// What functions take of `whole`.
    pub(super) fn of_functions(title: &str, functions: &[Function], whole: f64) -> Self {
        let has_misses = functions.iter().any(|function| function.misses != [0.0; 2]);
        let mut heading = vec!["function", "calls", "own", "share", "inclusive"];
        if has_misses {
            heading.extend(["I-misses", "D-misses"]);
        }
        let row = |function: &Function| {
            let mut row = vec![
                function.name.clone(),
                format!("{:.2}", function.calls),
                instructions(function.own),
                percent(function.own / whole),
                instructions(function.inclusive),
            ];
            if has_misses {
                row.extend(function.misses.map(instructions));
            }
            (row, function.own)
        };
        let title = format!("{title}, {} instructions each, by function", instructions(whole));
        Self { title, heading, rows: functions.iter().map(row).collect(), droppable: &[1, 3, 4] }
    }

    /// By what functions differ.
    pub(super) fn of_changes(title: &str, changes: &[Change]) -> Self {
        let sum: f64 = changes.iter().map(Change::difference).sum();
        let row = |change: &Change| {
            let [before, after] = change.own.map(instructions);
            let calls = format!("{:.2} to {:.2}", change.calls[0], change.calls[1]);
            let row = vec![change.name.clone(), more(change.difference()), before, after, calls];
            (row, change.difference())
        };
        Self {
            title: format!("{title}, {} instructions, by function", more(sum)),
            heading: vec!["function", "difference", "before", "after", "calls"],
            rows: changes.iter().map(row).collect(),
            droppable: &[4],
        }
    }

    /// Those with less are no row.
    fn shown(&self) -> usize {
        self.rows.iter().take_while(|(_, own)| own.abs() >= NOTHING).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown() == 0
    }

    /// The first rows.
    pub(super) fn text(&self, text: &mut String) {
        let shown = self.shown().min(ROWS);
        let _ = writeln!(text, "\n{}:", self.title);
        let mut rows = vec![self.heading.iter().map(|&cell| cell.to_owned()).collect()];
        rows.extend(self.rows[..shown].iter().map(|(row, _)| row.clone()));
        let right: Vec<usize> = (1..self.heading.len()).collect();
        fitting_table(text, &rows, &right, self.droppable);
        let (left, sum): (usize, f64) =
            (self.rows.len() - shown, self.rows[shown..].iter().map(|(_, own)| own).sum());
        if left > 0 && sum.abs() >= NOTHING {
            let _ =
                writeln!(text, "and {left} more with {} together (--format json has all)", instructions(sum));
        }
    }

    /// All rows.
    pub(super) fn html(&self) -> Markup {
        html! {
            h3 { (self.title) }
            div class="wide" {
                table {
                    thead { tr { @for (at, cell) in self.heading.iter().enumerate() { th class=[side(at)] { (cell) } } } }
                    tbody {
                        @for (row, _) in &self.rows[..self.shown()] {
                            tr { @for (at, cell) in row.iter().enumerate() { td class=[side(at)] { (cell) } } }
                        }
                    }
                }
            }
        }
    }
}

/// Numbers end with each other.
fn side(column: usize) -> Option<&'static str> {
    (column > 0).then_some("n")
}

/// The kinds of an interrupt, a line each; none where there is one alone.
pub(super) fn kinds(interrupt: &Interrupt, most: usize) -> Vec<String> {
    if interrupt.kinds.len() < 2 {
        return Vec::new();
    }
    let line = |kind: &tickmark_analysis::explain::InterruptKind| {
        let each = kind.instructions.map_or("others".to_owned(), |each| instructions(each as f64));
        let each = each.strip_suffix(".0").unwrap_or(&each);
        // A number stays with its name.
        let by =
            kind.differs_by.iter().map(|(name, by)| format!("{}\u{a0}{name}", more(*by).replace(".0", "")));
        let place = if kind.is_nested { "from the kernel" } else { "from programs  " };
        let by = if kind.is_usual { "the usual one".to_owned() } else { by.collect::<Vec<_>>().join(", ") };
        format!("{:>5} x {each:>6} {place}  {by}", kind.count)
    };
    let mut lines: Vec<String> = interrupt.kinds.iter().take(most).map(line).collect();
    if let Some(left) = interrupt.kinds.get(most..).filter(|left| !left.is_empty()) {
        let count: u64 = left.iter().map(|kind| kind.count).sum();
        lines.push(format!("and {count} more, of {} kinds", left.len()));
    }
    lines
}

/// The same for the terminal.
pub(super) fn kinds_text(text: &mut String, interrupt: &Interrupt) {
    let lines = kinds(interrupt, KINDS);
    if !lines.is_empty() {
        let _ = writeln!(text, "\nIts kinds, and what makes each:");
    }
    for line in lines {
        let _ = writeln!(text, "{}", hanging(line.trim_end()).replace('\u{a0}', " "));
    }
}

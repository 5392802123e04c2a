//! Each value as a dot: a row for each of several things, over one axis.

use super::axis::{Axis, Range};
use super::svg::{Svg, WIDTH};
use super::{NAME, left_of, style};
use crate::fold::shortened;
use std::fmt::Write;

/// One thing.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its values, of each kind.
    pub values: Vec<Vec<f64>>,
}

/// Several over one axis.
#[derive(Debug, Clone)]
pub struct Dots {
    /// Its title.
    pub title: String,
    /// Its axis.
    pub axis: Axis,
    /// Labels of the kinds of values.
    pub kinds: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<Row>,
}

const RIGHT: f64 = 30.0;
const TOP: f64 = 44.0;
const EACH: f64 = 20.0;
/// Characters of a name at most, in a terminal.
const SHORT: usize = 30;

impl Dots {
    fn range(&self) -> Option<Range> {
        Range::over(&self.axis, self.rows.iter().flat_map(|row| row.values.iter().flatten().copied()))
    }

    pub(super) fn svg(&self) -> String {
        let Some(range) = self.range() else { return String::new() };
        let left = left_of(self.rows.iter().map(|row| row.name.as_str()));
        let bottom = TOP + EACH * self.rows.len() as f64;
        let kinds: &[String] = if self.kinds.len() > 1 { &self.kinds } else { &[] };
        let mut svg = Svg::new(&self.title, bottom + 44.0 + 18.0 * kinds.len() as f64);
        let x = |at: f64| left + at * (WIDTH - left - RIGHT);
        for (at, label) in range.marks() {
            svg.line((x(at), TOP - 8.0), (x(at), bottom), 0.15);
            svg.words(x(at), bottom + 16.0, "middle", &label);
        }
        svg.words(x(0.5), bottom + 34.0, "middle", &self.axis.title);
        for (number, row) in self.rows.iter().enumerate() {
            let y = TOP + EACH * number as f64 + 4.0;
            svg.words(left - 10.0, y + 4.0, "end", &shortened(&row.name, NAME));
            svg.line((left, y), (WIDTH - RIGHT, y), 0.08);
            for (number, values) in row.values.iter().enumerate() {
                let (colour, lower) = (style(number).colour, [-2.0, 3.0][number % 2]);
                for value in values {
                    if let Some(at) = range.at(*value) {
                        svg.dot(
                            (x(at), y + lower),
                            3.0,
                            colour,
                            &format!("{}: {}", row.name, (self.axis.label)(*value)),
                        );
                    }
                }
            }
        }
        for (number, kind) in kinds.iter().enumerate() {
            let y = bottom + 50.0 + 18.0 * number as f64;
            svg.dot((left + 5.0, y - 4.0), 4.0, style(number).colour, "");
            svg.words(left + 16.0, y, "start", kind);
        }
        svg.end()
    }

    pub(super) fn text(&self, width: usize) -> String {
        let room = width.saturating_sub(SHORT + 3);
        let (Some(range), true) = (self.range(), room > 10) else { return String::new() };
        let mut out = format!("{}\n", self.title);
        let column = |at: f64| (at * (room - 1) as f64).round() as usize;
        for row in &self.rows {
            let mut cells = vec![' '; room];
            for (number, values) in row.values.iter().enumerate() {
                for at in values.iter().filter_map(|value| range.at(*value)) {
                    cells[column(at)] = style(number).mark;
                }
            }
            let cells: String = cells.into_iter().collect();
            let _ = writeln!(out, "{:>SHORT$} |{}", shortened(&row.name, SHORT), cells.trim_end());
        }
        let marks = range.marks();
        let ends = [marks.first(), marks.last()].map(|mark| mark.map_or("", |(_, label)| label.as_str()));
        let _ = writeln!(out, "{:>SHORT$} +{}", "", "-".repeat(room));
        let gap = room.saturating_sub(ends[0].chars().count() + ends[1].chars().count());
        let _ = writeln!(out, "{:>SHORT$}  {}{}{}", self.axis.title, ends[0], " ".repeat(gap), ends[1]);
        if self.kinds.len() > 1 {
            let kind = |(number, kind): (usize, &String)| format!("{} {kind}", style(number).mark);
            let kinds: Vec<String> = self.kinds.iter().enumerate().map(kind).collect();
            let _ = writeln!(out, "{:>SHORT$}  {}", "", kinds.join("   "));
        }
        out
    }
}

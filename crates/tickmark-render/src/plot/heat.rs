//! How much of something there was, by row and time: darker is more.

use super::svg::{Svg, WIDTH};
use super::{NAME, left_of};
use crate::fold::shortened;
use std::fmt::Write;

/// Cells in rows.
#[derive(Debug, Clone)]
pub struct Heat {
    /// Its title.
    pub title: String,
    /// Labels along x: of its first column, of its last one, and the unit of its cells.
    pub x: (String, String, String),
    /// The names of the rows, from top to bottom, and their cells, each from 0 to 1.
    pub rows: Vec<(String, Vec<f64>)>,
    /// Value of the darkest cell.
    pub most: String,
}

const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const EACH: f64 = 18.0;
/// Shades that a drawing has.
const DEGREES: usize = 12;
/// Characters of a name in the terminal.
const NAMES: usize = 30;
const SHADES: [char; 6] = [' ', '.', ':', '+', '#', '@'];

impl Heat {
    fn columns(&self) -> usize {
        self.rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0)
    }

    pub(super) fn svg(&self) -> String {
        let columns = self.columns();
        if columns == 0 {
            return String::new();
        }
        let left = left_of(self.rows.iter().map(|(name, _)| name.as_str()));
        let bottom = TOP + EACH * self.rows.len() as f64;
        let mut svg = Svg::new(&self.title, bottom + 40.0);
        let width = (WIDTH - left - RIGHT) / columns as f64;
        let mut shades: [Vec<(f64, f64)>; DEGREES] = std::array::from_fn(|_| Vec::new());
        for (number, (name, cells)) in self.rows.iter().enumerate() {
            let y = TOP + EACH * number as f64;
            svg.words(left - 6.0, y + 13.0, "end", &shortened(name, NAME));
            svg.rect((left, y), (width * columns as f64, EACH - 2.0), "currentColor", 0.04, "");
            for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| **cell > 0.0) {
                let degree = (cell.clamp(0.0, 1.0) * DEGREES as f64).ceil() as usize - 1;
                shades[degree.min(DEGREES - 1)].push((left + width * column as f64, y));
            }
        }
        for (degree, places) in shades.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
            let opacity = (degree + 1) as f64 / DEGREES as f64;
            svg.cells(places, (width, EACH - 2.0), "#d55e00", opacity);
        }
        let (first, last, counts) = &self.x;
        svg.words(left, bottom + 14.0, "start", first);
        svg.words(WIDTH - RIGHT, bottom + 14.0, "end", last);
        svg.words(f64::midpoint(left, WIDTH - RIGHT), bottom + 14.0, "middle", counts);
        svg.words(
            f64::midpoint(left, WIDTH - RIGHT),
            bottom + 32.0,
            "middle",
            &format!("darkest: {}", self.most),
        );
        svg.end()
    }

    pub(super) fn text(&self, width: usize) -> String {
        let names = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(NAMES);
        let room = width.saturating_sub(names + 3);
        let columns = self.columns();
        if columns == 0 || room < 10 {
            return String::new();
        }
        let shown = columns.min(room);
        let mut out = format!("{}\n", self.title);
        for (name, cells) in &self.rows {
            let cell = |at: usize| {
                // Where several share a character, the largest.
                let part = at * columns / shown..((at + 1) * columns / shown).max(at * columns / shown + 1);
                let most = cells
                    .get(part.start..part.end.min(cells.len()))
                    .unwrap_or_default()
                    .iter()
                    .copied()
                    .fold(0.0, f64::max);
                let shade = (most.clamp(0.0, 1.0) * (SHADES.len() - 1) as f64).ceil() as usize;
                SHADES[shade]
            };
            let _ = writeln!(
                out,
                "{:>names$} |{}|",
                shortened(name, NAMES),
                (0..shown).map(cell).collect::<String>()
            );
        }
        let (first, last, counts) = &self.x;
        let gap = shown.saturating_sub(first.chars().count() + last.chars().count()).max(1);
        let _ = writeln!(out, "{:>names$}  {first}{}{last}", "", " ".repeat(gap));
        let _ = writeln!(out, "{:>names$}  {counts}; @ is {}", "", self.most);
        out
    }
}

//! Intervals around a reference: a row each.

use super::axis::{Axis, Range};
use super::svg::{Svg, WIDTH};
use super::{NAME, left_of, style};
use crate::fold::shortened;
use std::fmt::Write;

/// One of them.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub point: f64,
    /// From here to there, where that is known.
    pub ends: Option<(f64, f64)>,
    /// Its verdict, in a word or two.
    pub words: String,
    /// True if it stands out.
    pub stands_out: bool,
}

/// Several over one axis.
#[derive(Debug, Clone)]
pub struct Forest {
    /// Its title.
    pub title: String,
    /// Its axis.
    pub axis: Axis,
    /// Where nothing differs, and what lies within so much of it does not matter.
    pub reference: (f64, f64),
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

const RIGHT: f64 = 130.0;
const TOP: f64 = 44.0;
const EACH: f64 = 20.0;
const SHORT: usize = 28;

impl Forest {
    /// As far as nine of ten reach, so that one that says nothing does not hide the others; those are cut off, with an arrow.
    fn range(&self) -> Option<(Range, [f64; 2])> {
        let (middle, margin) = self.reference;
        let ends = |bar: &Bar| bar.ends.unwrap_or((bar.point, bar.point));
        let mut far: Vec<f64> = self
            .bars
            .iter()
            .map(|bar| (middle - ends(bar).0).abs().max((ends(bar).1 - middle).abs()))
            .filter(|far| far.is_finite())
            .collect();
        far.sort_unstable_by(f64::total_cmp);
        let most = far.get(far.len().saturating_sub(1) * 9 / 10).copied()?.max(1.5 * margin);
        let low = self.bars.iter().map(|bar| ends(bar).0).fold(middle - margin, f64::min).max(middle - most);
        let high = self.bars.iter().map(|bar| ends(bar).1).fold(middle + margin, f64::max).min(middle + most);
        Some((Range::over(&self.axis, [low, high].into_iter())?, [low, high]))
    }

    pub(super) fn svg(&self) -> String {
        let Some((range, [least, most])) = self.range() else { return String::new() };
        let left = left_of(self.bars.iter().map(|bar| bar.name.as_str()));
        let bottom = TOP + EACH * self.bars.len() as f64;
        let mut svg = Svg::new(&self.title, bottom + 44.0);
        let x = |at: f64| left + at * (WIDTH - left - RIGHT);
        let (middle, margin) = self.reference;
        if let (Some(low), Some(high)) = (range.at(middle - margin), range.at(middle + margin)) {
            svg.rect((x(low), TOP - 8.0), (x(high) - x(low), bottom - TOP + 8.0), "currentColor", 0.08, "");
        }
        for (at, label) in range.marks() {
            svg.line((x(at), TOP - 8.0), (x(at), bottom), 0.12);
            svg.words(x(at), bottom + 16.0, "middle", &label);
        }
        if let Some(at) = range.at(middle) {
            svg.line((x(at), TOP - 8.0), (x(at), bottom), 0.7);
        }
        svg.words(x(0.5), bottom + 34.0, "middle", &self.axis.title);
        for (number, bar) in self.bars.iter().enumerate() {
            let y = TOP + EACH * number as f64 + 4.0;
            let style = style(usize::from(bar.stands_out));
            svg.words(left - 10.0, y + 4.0, "end", &shortened(&bar.name, NAME));
            svg.words(WIDTH - RIGHT + 8.0, y + 4.0, "start", &shortened(&bar.words, 20));
            if let Some((Some(low), Some(high))) = bar.ends.map(|(low, high)| (range.at(low), range.at(high)))
            {
                svg.stroke(&[(x(low), y), (x(high), y)], &style, 2.0);
            }
            for (is_cut, at, arrow) in [
                (bar.ends.is_some_and(|ends| ends.0 < least), 0.0, "\u{25c2}"),
                (bar.ends.is_some_and(|ends| ends.1 > most), 1.0, "\u{25b8}"),
            ] {
                if is_cut {
                    svg.words(x(at), y + 4.0, "middle", arrow);
                }
            }
            if let Some(at) = range.at(bar.point) {
                svg.dot(
                    (x(at), y),
                    4.0,
                    style.colour,
                    &format!("{}: {} {}", bar.name, (self.axis.label)(bar.point), bar.words),
                );
            }
        }
        svg.end()
    }

    pub(super) fn text(&self, width: usize) -> String {
        let room = width.saturating_sub(SHORT + 25);
        let (Some((range, [least, most])), true) = (self.range(), room > 10) else { return String::new() };
        let column = |value: f64| range.at(value).map(|at| (at * (room - 1) as f64).round() as usize);
        let mut out = format!("{}\n", self.title);
        for bar in &self.bars {
            let mut cells = vec![' '; room];
            if let Some((Some(low), Some(high))) = bar.ends.map(|(low, high)| (column(low), column(high))) {
                cells[low..=high].fill('-');
            }
            if bar.ends.is_some_and(|ends| ends.0 < least) {
                cells[0] = '<';
            }
            if bar.ends.is_some_and(|ends| ends.1 > most) {
                cells[room - 1] = '>';
            }
            if let Some(at) = column(self.reference.0) {
                cells[at] = '|';
            }
            if let Some(at) = column(bar.point) {
                cells[at] = if bar.stands_out { '#' } else { 'o' };
            }
            let cells: String = cells.into_iter().collect();
            let _ = writeln!(
                out,
                "{:>SHORT$} {cells} {}",
                shortened(&bar.name, SHORT),
                shortened(&bar.words, 22)
            );
        }
        let marks = range.marks();
        let ends = [marks.first(), marks.last()].map(|mark| mark.map_or("", |(_, label)| label.as_str()));
        let gap = room.saturating_sub(ends[0].chars().count() + ends[1].chars().count());
        let _ = writeln!(out, "{:>SHORT$} {}{}{} {}", "", ends[0], " ".repeat(gap), ends[1], self.axis.title);
        out
    }
}

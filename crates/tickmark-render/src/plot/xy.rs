//! Points over two axes.

use super::axis::{Axis, Range};
use super::svg::{Svg, WIDTH};
use super::{Style, style};
use std::fmt::Write;

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Joined.
    #[default]
    Line,
    /// Joined by steps: y is the same until the next.
    Steps,
    /// Each alone.
    Points,
}

/// Points of one kind.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Their name.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
    /// How.
    pub shape: Shape,
    /// Where y lies at each point, from low to high; empty where that is not told.
    pub band: Vec<(f64, f64)>,
}

impl Series {
    /// Joined points.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, ..Self::default() }
    }
}

/// Some series over one x axis.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Its title.
    pub title: String,
    /// The x axis.
    pub x: Axis,
    /// The y axis.
    pub y: Axis,
    /// The series, each with a mark of its own.
    pub series: Vec<Series>,
}

const HEIGHT: f64 = 360.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 48.0;
/// A line of the legend.
const LEGEND: f64 = 18.0;
/// Columns of the labels beside a drawing in characters, with its frame.
pub(super) const LABELS: usize = 12;
/// From so many points on each has no mark and no words of its own.
const MANY: usize = 200;

impl Plot {
    fn ranges(&self) -> Option<(Range, Range)> {
        let shown = |point: &&(f64, f64)| self.x.shows(point.0) && self.y.shows(point.1);
        let points = || self.series.iter().flat_map(|series| &series.points).filter(shown);
        let bands = self.series.iter().flat_map(|series| &series.band).flat_map(|(low, high)| [*low, *high]);
        let x = Range::over(&self.x, points().map(|point| point.0))?;
        let y = Range::over(&self.y, points().map(|point| point.1).chain(bands))?;
        Some((x, y))
    }

    /// So many characters wide and lines high, axes not counted, and no wider than somebody reads; empty where there is nothing to show.
    #[must_use]
    pub fn text(&self, width: usize, height: usize) -> String {
        let width = width.min(crate::width().saturating_sub(LABELS));
        let (Some((xs, ys)), true) = (self.ranges(), width > 1 && height > 1) else { return String::new() };
        let mut cells = vec![vec![' '; width]; height];
        let column = |at: f64| (at * (width - 1) as f64).round() as usize;
        let line = |at: f64| height - 1 - (at * (height - 1) as f64).round() as usize;
        for (number, series) in self.series.iter().enumerate() {
            let mark = style(number).mark;
            for (x, y) in series.points.iter().filter_map(|(x, y)| Some((xs.at(*x)?, ys.at(*y)?))) {
                cells[line(y)][column(x)] = mark;
            }
        }
        let mut labels = vec![String::new(); height];
        for (at, label) in ys.marks() {
            labels[line(at)] = label;
        }
        let mut out = format!("{}\n", self.title);
        for (cells, label) in cells.iter().zip(&labels) {
            let cells: String = cells.iter().collect();
            let _ = writeln!(out, "{label:>9} |{}", cells.trim_end());
        }
        let _ = writeln!(out, "{:>9} +{}", "", "-".repeat(width));
        let mut below = vec![' '; width + 2];
        let marks = xs.marks();
        for (at, label) in &marks {
            let begin = column(*at)
                .saturating_sub(label.chars().count() / 2)
                .min(width.saturating_sub(label.chars().count()));
            let end = begin + label.chars().count();
            // One that would touch another is left out.
            if below[begin.saturating_sub(1)..(end + 1).min(below.len())].iter().all(|c| *c == ' ') {
                label.chars().enumerate().for_each(|(at, c)| below[begin + at] = c);
            }
        }
        let below: String = below.into_iter().collect();
        let _ = writeln!(out, "{:>10} {}", "", below.trim_end());
        let marks = self.named().map(|(number, series)| format!("{} {}", style(number).mark, series.name));
        let marks: Vec<String> = marks.collect();
        let axes = format!("x: {}, y: {}", self.x.title, self.y.title);
        for text in std::iter::once(axes).chain(marks) {
            let _ = writeln!(out, "{:>10} {text}", "");
        }
        out
    }

    /// Empty where there is nothing to show.
    #[must_use]
    pub fn svg(&self) -> String {
        let Some((xs, ys)) = self.ranges() else { return String::new() };
        let height = HEIGHT + LEGEND * self.named().count() as f64;
        let mut svg = Svg::new(&self.title, height);
        let x = |at: f64| LEFT + at * (WIDTH - LEFT - RIGHT);
        let y = |at: f64| HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);
        for (at, label) in ys.marks() {
            svg.line((LEFT, y(at)), (WIDTH - RIGHT, y(at)), 0.15);
            svg.words(LEFT - 6.0, y(at) + 4.0, "end", &label);
        }
        for (at, label) in xs.marks() {
            svg.line((x(at), TOP), (x(at), HEIGHT - BOTTOM), 0.1);
            svg.words(x(at), HEIGHT - BOTTOM + 17.0, "middle", &label);
        }
        svg.words(x(0.5), HEIGHT - 10.0, "middle", &self.x.title);
        svg.upright(f64::midpoint(TOP, HEIGHT - BOTTOM), &self.y.title);
        for (number, series) in self.series.iter().enumerate() {
            let at = |point: (f64, f64)| Some((x(xs.at(point.0)?), y(ys.at(point.1)?)));
            draw(&mut svg, series, &style(number), &at, self);
        }
        for (line, (number, series)) in self.named().enumerate() {
            let (at, style) = (HEIGHT + LEGEND * line as f64, style(number));
            match series.shape {
                Shape::Points => svg.dot((LEFT + 12.0, at + 4.0), 4.0, style.colour, ""),
                _ => svg.stroke(&[(LEFT, at + 4.0), (LEFT + 24.0, at + 4.0)], &style, 2.5),
            }
            svg.words(LEFT + 30.0, at + 8.0, "start", &series.name);
        }
        svg.end()
    }

    /// The series that the legend has, with their numbers.
    fn named(&self) -> impl Iterator<Item = (usize, &Series)> {
        self.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty())
    }
}

fn draw(
    svg: &mut Svg,
    series: &Series,
    style: &Style,
    at: &dyn Fn((f64, f64)) -> Option<(f64, f64)>,
    plot: &Plot,
) {
    let shown: Vec<((f64, f64), (f64, f64))> =
        series.points.iter().filter_map(|point| Some((at(*point)?, *point))).collect();
    if series.band.len() == series.points.len() && series.band.len() > 1 {
        let end = |of: fn(&(f64, f64)) -> f64| {
            let both = series.points.iter().zip(&series.band);
            both.filter_map(|(point, band)| at((point.0, of(band)))).collect::<Vec<_>>()
        };
        let (low, mut high) = (end(|band| band.0), end(|band| band.1));
        high.reverse();
        svg.area(&[low, high].concat(), style.colour);
    }
    let places: Vec<(f64, f64)> = shown.iter().map(|(place, _)| *place).collect();
    match series.shape {
        Shape::Line => svg.stroke(&places, style, 1.5),
        Shape::Steps => {
            let corner = |pair: &[(f64, f64)]| [pair[0], (pair[1].0, pair[0].1)];
            let steps: Vec<_> = places.windows(2).flat_map(corner).chain(places.last().copied()).collect();
            svg.stroke(&steps, style, 1.5);
        }
        Shape::Points => {}
    }
    if series.shape == Shape::Points && shown.len() >= MANY {
        svg.many_dots(&places, style.colour);
    } else if series.shape == Shape::Points || (series.shape == Shape::Line && shown.len() < MANY) {
        let radius = if series.shape == Shape::Points { 3.0 } else { 2.0 };
        for (place, (x, y)) in shown {
            let words = format!("{} {}: {}", series.name, (plot.x.label)(x), (plot.y.label)(y));
            svg.dot(place, radius, style.colour, words.trim());
        }
    }
}

//! Pieces of SVG.

use super::Style;
use std::fmt::Write;

/// Of a drawing, in its own unit.
pub(super) const WIDTH: f64 = 720.0;

/// A drawing that is written piece by piece. Whoever reads it is told what it shows by its title and its texts.
pub(super) struct Svg(String);

impl Svg {
    pub(super) fn new(title: &str, height: f64) -> Self {
        let title = escaped(title);
        let mut all = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n<title>{title}</title>\n"
        ));
        all.text(8.0, 18.0, "start", 14.0, &title, true);
        all
    }

    /// At a place, by which of its ends; `is_safe` where it is escaped already.
    fn text(&mut self, x: f64, y: f64, anchor: &str, size: f64, text: &str, is_safe: bool) {
        let text = if is_safe { text.to_owned() } else { escaped(text) };
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{text}</text>"
        );
    }

    pub(super) fn words(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        self.text(x, y, anchor, 12.0, text, false);
    }

    /// Upwards along the left edge.
    pub(super) fn upright(&mut self, y: f64, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.0,
            "<text x=\"14\" y=\"{y:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {y:.1})\">{text}</text>"
        );
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), opacity: f64) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.0,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"currentColor\" stroke-opacity=\"{opacity}\"/>"
        );
    }

    pub(super) fn stroke(&mut self, points: &[(f64, f64)], style: &Style, width: f64) {
        let (colour, dash) = (style.colour, style.dash);
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            self.0,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dash}/>",
            places(points)
        );
    }

    /// Dots without words, in one path: each is a line of no length with round ends.
    pub(super) fn many_dots(&mut self, points: &[(f64, f64)], colour: &str) {
        let all: String = points.iter().map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect();
        let _ = writeln!(
            self.0,
            "<path d=\"{all}\" stroke=\"{colour}\" stroke-width=\"4\" stroke-linecap=\"round\" stroke-opacity=\".5\"/>"
        );
    }

    /// Rectangles of one colour and opacity, in one path.
    pub(super) fn cells(
        &mut self,
        places: &[(f64, f64)],
        (width, height): (f64, f64),
        colour: &str,
        opacity: f64,
    ) {
        let one = |(x, y): &(f64, f64)| format!("M{x:.1} {y:.0}h{width:.1}v{height:.0}h-{width:.1}z");
        let all: String = places.iter().map(one).collect();
        let _ = writeln!(self.0, "<path d=\"{all}\" fill=\"{colour}\" fill-opacity=\"{opacity:.2}\"/>");
    }

    pub(super) fn area(&mut self, points: &[(f64, f64)], colour: &str) {
        let _ = writeln!(
            self.0,
            "<polygon points=\"{}\" fill=\"{colour}\" fill-opacity=\".2\"/>",
            places(points)
        );
    }

    /// A dot; what it is stands beside it when it is pointed at.
    pub(super) fn dot(&mut self, (x, y): (f64, f64), radius: f64, colour: &str, words: &str) {
        let title =
            if words.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(words)) };
        let _ = writeln!(
            self.0,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\" fill-opacity=\".7\">{title}</circle>"
        );
    }

    pub(super) fn rect(
        &mut self,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        colour: &str,
        opacity: f64,
        words: &str,
    ) {
        let title =
            if words.is_empty() { String::new() } else { format!("<title>{}</title>", escaped(words)) };
        let _ = writeln!(
            self.0,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\" fill-opacity=\"{opacity:.2}\">{title}</rect>"
        );
    }

    pub(super) fn end(self) -> String {
        self.0 + "</svg>\n"
    }
}

fn places(points: &[(f64, f64)]) -> String {
    let all: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    all.join(" ")
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

//! Plots of points: in characters for a terminal, and as SVG.

use std::fmt::Write;

/// Points of one kind.
#[derive(Debug, Clone)]
pub struct Series {
    /// What they are.
    pub name: String,
    /// x and y.
    pub points: Vec<(f64, f64)>,
}

/// Some series over one x axis.
#[derive(Debug, Clone)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What x counts.
    pub x: String,
    /// What y counts, with its unit.
    pub y: String,
    /// What is shown, each with a mark of its own.
    pub series: Vec<Series>,
    /// How a value of y is written.
    pub label: fn(f64) -> String,
}

/// A mark and a colour for each series, from the first on (Okabe and Ito's colours, which the colour-blind tell apart).
const MARKS: [(char, &str); 6] = [
    ('o', "#0072b2"),
    ('x', "#d55e00"),
    ('+', "#009e73"),
    ('*', "#cc79a7"),
    ('#', "#e69f00"),
    ('.', "#56b4e9"),
];
/// Of the drawing in an SVG, in its own unit.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 44.0;

/// What the axes cover: y by its logarithm, from a power of ten to another.
struct Range {
    x: (f64, f64),
    y: (f64, f64),
}

impl Plot {
    /// None without a point that a logarithmic axis can show.
    fn range(&self) -> Option<Range> {
        let points = || self.series.iter().flat_map(|series| &series.points).filter(|(_, y)| *y > 0.0);
        let ends = |of: fn(&(f64, f64)) -> f64| {
            let least = points().map(of).reduce(f64::min)?;
            Some((least, points().map(of).reduce(f64::max)?))
        };
        let (x, y) = (ends(|point| point.0)?, ends(|point| point.1)?);
        let (low, high) = (y.0.log10().floor(), y.1.log10().ceil());
        Some(Range { x: (x.0, x.1.max(x.0 + 1.0)), y: (low, high.max(low + 1.0)) })
    }

    /// So many characters wide and lines high, axes not counted; empty where there is nothing to show.
    #[must_use]
    pub fn text(&self, width: usize, height: usize) -> String {
        let Some(range) = self.range() else { return String::new() };
        let mut cells = vec![vec![' '; width]; height];
        for (series, (mark, _)) in self.series.iter().zip(MARKS.iter().cycle()) {
            for (x, y) in series.points.iter().filter(|(_, y)| *y > 0.0) {
                let column = (x - range.x.0) / (range.x.1 - range.x.0) * (width - 1) as f64;
                let line = (y.log10() - range.y.0) / (range.y.1 - range.y.0) * (height - 1) as f64;
                let (column, line) = (column.round() as usize, height - 1 - line.round() as usize);
                cells[line][column] = *mark;
            }
        }
        let decades = (range.y.1 - range.y.0) as usize;
        let mut out = format!("{}\n", self.title);
        for (number, line) in cells.iter().enumerate() {
            let decade = (0..=decades).find(|decade| {
                let at = *decade as f64 / decades as f64 * (height - 1) as f64;
                height - 1 - at.round() as usize == number
            });
            let label =
                decade.map_or_else(String::new, |decade| (self.label)(10f64.powf(range.y.0 + decade as f64)));
            let line: String = line.iter().collect();
            let _ = writeln!(out, "{:>9} |{}", label, line.trim_end());
        }
        let _ = writeln!(out, "{:>9} +{}", "", "-".repeat(width));
        let (first, last) = (format!("{} {}", self.x, range.x.0), range.x.1.to_string());
        let gap = (width + 1).saturating_sub(first.chars().count() + last.len()).max(1);
        let _ = writeln!(out, "{:>10}{first}{}{last}", "", " ".repeat(gap));
        let marks = self.series.iter().zip(MARKS.iter().cycle());
        let marks: Vec<String> = marks.map(|(series, (mark, _))| format!("{mark} {}", series.name)).collect();
        let _ = writeln!(out, "{:>11}{}", "", marks.join("   "));
        out
    }

    /// A drawing that stands alone: no script, no font of its own, and a text for those who do not see it. Empty where there is nothing to show.
    #[must_use]
    pub fn svg(&self) -> String {
        let Some(range) = self.range() else { return String::new() };
        let x = |x: f64| LEFT + (x - range.x.0) / (range.x.1 - range.x.0) * (WIDTH - LEFT - RIGHT);
        let y = |log: f64| {
            HEIGHT - BOTTOM - (log - range.y.0) / (range.y.1 - range.y.0) * (HEIGHT - TOP - BOTTOM)
        };
        let title = escaped(&self.title);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\" \
             font-family=\"sans-serif\" font-size=\"12\" fill=\"currentColor\">\n<title>{title}</title>\n\
             <text x=\"{LEFT}\" y=\"18\" font-size=\"14\">{title}</text>\n"
        );
        for decade in range.y.0 as i32..=range.y.1 as i32 {
            let (at, label) = (y(f64::from(decade)), escaped(&(self.label)(10f64.powi(decade))));
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"currentColor\" stroke-opacity=\".2\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0
            );
        }
        let below = HEIGHT - BOTTOM + 18.0;
        for at in [range.x.0, range.x.1] {
            let _ =
                writeln!(out, "<text x=\"{:.1}\" y=\"{below}\" text-anchor=\"middle\">{at}</text>", x(at));
        }
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        let _ = writeln!(
            out,
            "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n<text x=\"14\" y=\"{}\" text-anchor=\"middle\" \
             transform=\"rotate(-90 14 {})\">{}</text>",
            below + 18.0,
            escaped(&self.x),
            HEIGHT / 2.0,
            HEIGHT / 2.0,
            escaped(&self.y)
        );
        for (number, (series, (_, colour))) in self.series.iter().zip(MARKS.iter().cycle()).enumerate() {
            let shown = series.points.iter().filter(|(_, y)| *y > 0.0);
            let points: Vec<String> =
                shown.map(|(px, py)| format!("{:.1},{:.1}", x(*px), y(py.log10()))).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                points.join(" ")
            );
            let (at, name) = (TOP + 16.0 * number as f64, escaped(&series.name));
            let left = WIDTH - RIGHT + 12.0;
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{:.1}\" width=\"10\" height=\"10\" fill=\"{colour}\"/><text x=\"{}\" y=\"{at:.1}\">{name}</text>",
                at - 9.0,
                left + 16.0
            );
        }
        out + "</svg>\n"
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> Plot {
        let series = |name: &str, of: fn(f64) -> f64| Series {
            name: name.to_owned(),
            points: (1..30).map(|x| (f64::from(x), of(f64::from(x)))).collect(),
        };
        Plot {
            title: "Error of each timer".to_owned(),
            x: "timer".to_owned(),
            y: "error".to_owned(),
            series: vec![
                series("one-shot", |x| 800.0 * x),
                series("hybrid <&>", |x| if x == 3.0 { 0.0 } else { 35.0 }),
            ],
            label: crate::number::time,
        }
    }

    #[test]
    fn points_stand_where_they_belong() {
        insta::assert_snapshot!(plot().text(58, 12));
    }

    #[test]
    fn a_drawing_is_well_formed_and_has_its_texts() {
        let svg = plot().svg();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("hybrid &lt;&amp;&gt;") && svg.contains("<title>Error of each timer</title>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let opened = svg.matches('<').count();
        assert_eq!(opened, svg.matches('>').count());
    }

    #[test]
    fn nothing_is_shown_of_nothing() {
        let none = Plot { series: vec![Series { name: String::new(), points: vec![(1.0, 0.0)] }], ..plot() };
        assert!(none.text(20, 5).is_empty() && none.svg().is_empty());
    }
}

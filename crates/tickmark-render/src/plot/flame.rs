//! A call tree as a flame graph (after Brendan Gregg, <https://www.brendangregg.com/flamegraphs.html>): who calls stands below, and what is
//! called above it, each as wide as its share; its numbers stand beside it when it is pointed at.

use super::CHARACTER;
use super::svg::{Svg, WIDTH};
use crate::fold::shortened;
use std::collections::BTreeMap;
use std::fmt::Write;
use tickmark_stats::order::largest_first;

/// The frames of a call tree.
#[derive(Debug, Clone, Default)]
pub struct Flame {
    /// Its title.
    pub title: String,
    /// Unit of the numbers.
    pub unit: String,
    /// Stacks, the outermost frame first, and what each has of its own.
    pub stacks: Vec<(Vec<String>, f64)>,
    /// The same of what it is compared with, if anything: frames are coloured by what they have more or less of their own.
    pub before: Vec<(Vec<String>, f64)>,
}

/// What is narrower is not drawn.
const LEAST: f64 = 0.4;
const EACH: f64 = 17.0;
const TOP: f64 = 34.0;
const SIDE: f64 = 8.0;
/// Characters that a name needs before it is written.
const SHORTEST: f64 = 4.0;
/// A share of everything that is no difference.
const NOTHING: f64 = 1e-4;
/// What has more of its own than before, and what has fewer.
const MORE: &str = "#d55e00";
const FEWER: &str = "#0072b2";
/// The share of a frame that is a line in a terminal.
const LINE: f64 = 0.03;

/// A frame: its own number with all above it, and what stands above it, by name.
#[derive(Default)]
struct Frame {
    sum: f64,
    own: f64,
    own_before: f64,
    /// Of the whole: what was before on paths that are no longer there.
    gone: f64,
    above: BTreeMap<String, Frame>,
}

impl Frame {
    fn depth(&self) -> usize {
        self.above.values().map(|frame| frame.depth() + 1).max().unwrap_or(0)
    }
}

impl Flame {
    fn frames(&self) -> Frame {
        let mut all = Frame::default();
        for (stack, own) in &self.stacks {
            all.sum += own;
            let mut at = &mut all;
            for name in stack {
                at = at.above.entry(name.clone()).or_default();
                at.sum += own;
            }
            at.own += own;
        }
        for (stack, own) in &self.before {
            let last = stack.iter().try_fold(&mut all, |at, name| at.above.get_mut(name));
            match last {
                Some(frame) => frame.own_before += own,
                // It has no place.
                None => all.gone += own,
            }
        }
        all
    }

    /// For a terminal of so many columns: callers above what they call, with their shares; empty where there is nothing to show.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        let all = self.frames();
        if all.sum <= 0.0 {
            return String::new();
        }
        let mut out = format!("{}\n", self.title);
        lines(&mut out, &all, 0, all.sum, width);
        out
    }

    /// As SVG; empty where there is nothing to show.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = self.frames();
        if all.sum <= 0.0 {
            return String::new();
        }
        let bottom = TOP + EACH * all.depth() as f64 + if self.before.is_empty() { 0.0 } else { EACH };
        let mut svg = Svg::new(&self.title, bottom + 8.0);
        if !self.before.is_empty() {
            let legend = format!(
                "By path of calls; orange: more of its own than before, blue: fewer. Paths that are gone had {:.1} % of this.",
                all.gone / all.sum * 100.0
            );
            svg.words(SIDE, TOP, "start", &legend);
        }
        let scale = (WIDTH - 2.0 * SIDE) / all.sum;
        self.row(&mut svg, &all, (SIDE, bottom - EACH), scale, all.sum);
        svg.end()
    }

    fn row(&self, svg: &mut Svg, below: &Frame, (mut x, y): (f64, f64), scale: f64, whole: f64) {
        for (name, frame) in &below.above {
            let width = frame.sum * scale;
            if width >= LEAST {
                let mut words =
                    format!("{name}: {:.0} {}, {:.2} %", frame.sum, self.unit, frame.sum / whole * 100.0);
                let (colour, opacity) = match frame.own - frame.own_before {
                    _ if self.before.is_empty() => (colour(name), 0.55),
                    more if more.abs() < whole * NOTHING => ("currentColor", 0.08),
                    more => {
                        let _ = write!(words, ", {more:+.1} of its own");
                        // A twentieth of everything has all of its colour.
                        let strength = (more.abs() / whole * 20.0).min(1.0);
                        (if more > 0.0 { MORE } else { FEWER }, 0.08 + 0.62 * strength)
                    }
                };
                svg.rect((x, y), ((width - 0.5).max(LEAST), EACH - 1.0), colour, opacity, &words);
                if width > SHORTEST * CHARACTER {
                    svg.words(
                        x + 3.0,
                        y + 12.0,
                        "start",
                        &shortened(name, ((width - 4.0) / CHARACTER) as usize),
                    );
                }
                self.row(svg, frame, (x, y - EACH), scale, whole);
            }
            x += width;
        }
    }
}

/// What stands above a frame, the widest first, a line each.
fn lines(out: &mut String, below: &Frame, depth: usize, whole: f64, width: usize) {
    let mut above: Vec<(&String, &Frame)> = below.above.iter().collect();
    largest_first(&mut above, |one| one.1.sum);
    for (name, frame) in above.into_iter().filter(|(_, frame)| frame.sum >= whole * LINE) {
        let indent = (2 * depth).min(width / 2);
        let name = shortened(name, width.saturating_sub(indent + 8).max(8));
        let _ = writeln!(out, "{:5.1} % {:indent$}{name}", frame.sum / whole * 100.0, "");
        lines(out, frame, depth + 1, whole, width);
    }
}

/// The same for a function wherever it stands: one of the warm colours.
fn colour(name: &str) -> &'static str {
    const WARM: [&str; 6] = ["#d55e00", "#e69f00", "#e0822f", "#c8501a", "#f0b840", "#dd7016"];
    let sum: usize = name.bytes().map(usize::from).sum();
    WARM[sum % WARM.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_wide_as_its_share_and_stands_on_its_caller() {
        let stack = |names: &[&str], own| (names.iter().map(|name| (*name).to_owned()).collect(), own);
        let flame = Flame {
            title: "a <b>".to_owned(),
            unit: "instructions".to_owned(),
            stacks: vec![stack(&["entry"], 25.0), stack(&["entry", "read<1>"], 50.0), stack(&["user"], 25.0)],
            before: Vec::new(),
        };
        assert_eq!(
            flame.text(80),
            "a <b>\n 75.0 % entry\n 50.0 %   read<1>\n 25.0 % user\n",
            "callers above what they call"
        );
        let svg = flame.svg();
        assert!(svg.contains("<title>entry: 75 instructions, 75.00 %</title>"), "{svg}");
        assert!(svg.contains("<title>read&lt;1&gt;: 50 instructions, 50.00 %</title>"), "{svg}");
        let widths: Vec<&str> = svg
            .split("<rect")
            .skip(1)
            .filter_map(|part| part.split("width=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(widths, ["527.5", "351.5", "175.5"]);
        let heights: Vec<&str> = svg
            .split("<rect")
            .skip(1)
            .filter_map(|part| part.split(" y=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(heights, ["51.0", "34.0", "51.0"]);
        // Beside an earlier one: what grew, what shrank, and what is gone.
        let before = vec![stack(&["entry"], 30.0), stack(&["entry", "read<1>"], 20.0), stack(&["gone"], 5.0)];
        let svg = Flame { before, ..flame }.svg();
        assert!(svg.contains("entry: 75 instructions, 75.00 %, -5.0 of its own"), "{svg}");
        assert!(svg.contains("read&lt;1&gt;: 50 instructions, 50.00 %, +30.0 of its own"), "{svg}");
        let fill = |name: &str| {
            let line = svg.lines().find(|line| line.contains(&format!("<title>{name}"))).unwrap();
            line.split("fill=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        assert_eq!([fill("entry"), fill("read"), fill("user")], [FEWER, MORE, MORE].map(str::to_owned));
        assert!(svg.contains("gone had 5.0 % of this"), "{svg}");
    }
}

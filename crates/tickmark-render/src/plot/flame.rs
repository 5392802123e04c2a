//! A call tree as a flame graph (after Brendan Gregg, <https://www.brendangregg.com/flamegraphs.html>): who calls stands below, and what is
//! called above it, each as wide as its share; its numbers stand beside it when it is pointed at.

use super::svg::{Svg, WIDTH};
use super::{CHARACTER, short};
use std::collections::BTreeMap;

/// The frames of a call tree.
#[derive(Debug, Clone, Default)]
pub struct Flame {
    /// Its title.
    pub title: String,
    /// Unit of the numbers.
    pub unit: String,
    /// Stacks, the outermost frame first, and what each has of its own.
    pub stacks: Vec<(Vec<String>, f64)>,
}

/// What is narrower is not drawn.
const LEAST: f64 = 0.4;
const EACH: f64 = 17.0;
const TOP: f64 = 34.0;
const SIDE: f64 = 8.0;
/// Characters that a name needs before it is written.
const SHORTEST: f64 = 4.0;

/// A frame: its own number with all above it, and what stands above it, by name.
#[derive(Default)]
struct Frame {
    sum: f64,
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
        }
        all
    }

    /// As SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = self.frames();
        let bottom = TOP + EACH * all.depth() as f64;
        let mut svg = Svg::new(&self.title, bottom + 8.0);
        if all.sum > 0.0 {
            let scale = (WIDTH - 2.0 * SIDE) / all.sum;
            self.row(&mut svg, &all, (SIDE, bottom - EACH), scale, all.sum);
        }
        svg.end()
    }

    fn row(&self, svg: &mut Svg, below: &Frame, (mut x, y): (f64, f64), scale: f64, whole: f64) {
        for (name, frame) in &below.above {
            let width = frame.sum * scale;
            if width >= LEAST {
                let words =
                    format!("{name}: {:.0} {}, {:.2} %", frame.sum, self.unit, frame.sum / whole * 100.0);
                svg.rect((x, y), ((width - 0.5).max(LEAST), EACH - 1.0), colour(name), 0.55, &words);
                if width > SHORTEST * CHARACTER {
                    svg.words(x + 3.0, y + 12.0, "start", &short(name, ((width - 4.0) / CHARACTER) as usize));
                }
                self.row(svg, frame, (x, y - EACH), scale, whole);
            }
            x += width;
        }
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
        };
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
    }

    #[test]
    fn nothing_is_a_title() {
        assert!(Flame::default().svg().ends_with("</svg>\n"));
    }
}

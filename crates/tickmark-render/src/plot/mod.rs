//! Plots, as SVG that stands alone (no script, no font of its own, a text for those who do not see it) and in characters for a terminal. Whoever shows something
//! says what is drawn; how is here.

mod axis;
mod dots;
mod flame;
mod forest;
mod heat;
mod svg;
mod xy;

pub use axis::{Axis, Scale, tail_shares};
pub use dots::{Dots, Row};
pub use flame::Flame;
pub use forest::{Bar, Forest};
pub use heat::Heat;
pub use xy::{Plot, Series, Shape};

/// How a series is told from others: a character in a terminal, a colour (Okabe and Ito's, which the colour-blind tell apart), and from the seventh on
/// dashes, as `stroke-dasharray` has them.
struct Style {
    mark: char,
    colour: &'static str,
    dash: &'static str,
}

const MARKS: [char; 18] =
    ['o', 'x', '+', '*', '#', '.', '@', '%', '&', '=', '~', '^', '$', 'v', 's', 'w', 'z', '?'];
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const DASHES: [&str; 3] = ["", "7 3", "2 3"];

/// Of the series of this number.
fn style(number: usize) -> Style {
    Style {
        mark: MARKS[number % MARKS.len()],
        colour: COLOURS[number % COLOURS.len()],
        dash: DASHES[number / COLOURS.len() % DASHES.len()],
    }
}

/// The margin at the left of a drawing that has the longest of the names; up to half of it.
fn left_of<'n>(names: impl Iterator<Item = &'n str>) -> f64 {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0).min(NAME);
    CHARACTER.mul_add(longest as f64, 16.0).max(80.0)
}

/// The width of a character of the drawings' font, at most.
const CHARACTER: f64 = 7.2;
/// Characters of a name that have room.
const NAME: usize = 48;

/// One of the kinds of drawing.
#[derive(Debug, Clone)]
pub enum Drawing {
    /// Points over two axes.
    Plot(Plot),
    /// Each value as a dot, a row for each of several things.
    Dots(Dots),
    /// Intervals around a reference.
    Forest(Forest),
    /// How much of something there was, by place and time.
    Heat(Heat),
    /// A call tree.
    Flame(Flame),
}

impl Drawing {
    /// Its title.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Plot(plot) => &plot.title,
            Self::Dots(dots) => &dots.title,
            Self::Forest(forest) => &forest.title,
            Self::Heat(heat) => &heat.title,
            Self::Flame(flame) => &flame.title,
        }
    }

    /// Empty where there is nothing to show.
    #[must_use]
    pub fn svg(&self) -> String {
        match self {
            Self::Plot(plot) => plot.svg(),
            Self::Dots(dots) => dots.svg(),
            Self::Forest(forest) => forest.svg(),
            Self::Heat(heat) => heat.svg(),
            Self::Flame(flame) => flame.svg(),
        }
    }

    /// For a terminal of so many columns; empty where there is nothing to show.
    #[must_use]
    pub fn text(&self, width: usize) -> String {
        match self {
            Self::Plot(plot) => plot.text(width.saturating_sub(xy::LABELS), 16),
            Self::Dots(dots) => dots.text(width),
            Self::Forest(forest) => forest.text(width),
            Self::Heat(heat) => heat.text(width),
            Self::Flame(flame) => flame.text(width),
        }
    }

    /// Its title as the name of a file: letters, digits and hyphens.
    #[must_use]
    pub fn file(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let all: String = self.title().chars().map(plain).collect();
        let words: Vec<&str> = all.split('-').filter(|word| !word.is_empty()).collect();
        let name = words.join("-");
        let short: String = name.chars().take(60).collect();
        if short.is_empty() { "plot".to_owned() } else { short.trim_end_matches('-').to_owned() }
    }
}

#[cfg(test)]
mod tests;

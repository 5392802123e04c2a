//! From values to places along an axis, and where it is marked.

/// How values are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// In proportion.
    Linear,
    /// By their logarithm: what is not above 0 is not shown.
    Log,
    /// The same, marked at powers of two: for bytes.
    Octaves,
    /// Shares from 0 to below 1 by how rare what lies beyond is: 90 %, 99 %, 99.9 % are as far from each other.
    Tail,
}

/// One of both.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Its title, with a unit where the labels have none.
    pub title: String,
    /// How.
    pub scale: Scale,
    /// How a value is written.
    pub label: fn(f64) -> String,
}

impl Axis {
    /// In proportion.
    pub fn linear(title: impl Into<String>, label: fn(f64) -> String) -> Self {
        Self { title: title.into(), scale: Scale::Linear, label }
    }

    /// By logarithms.
    pub fn log(title: impl Into<String>, label: fn(f64) -> String) -> Self {
        Self { title: title.into(), scale: Scale::Log, label }
    }

    /// By logarithms, of bytes.
    pub fn octaves(title: impl Into<String>, label: fn(f64) -> String) -> Self {
        Self { title: title.into(), scale: Scale::Octaves, label }
    }

    /// True if it can show a value.
    pub(super) fn shows(&self, value: f64) -> bool {
        place(self.scale, value).is_some()
    }

    /// Of what share.
    pub fn tail(title: impl Into<String>) -> Self {
        Self { title: title.into(), scale: Scale::Tail, label: tail }
    }
}

/// A share as its percentage, with as many nines as it has.
fn tail(share: f64) -> String {
    let text = format!("{:.5}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Shares for a tail axis: `steps` to each further nine, as far as one of so many values lies beyond.
pub fn tail_shares(steps: u32, values: u64) -> impl Iterator<Item = f64> {
    let last = 1.0 - 1.0 / (values as f64).max(2.0);
    let all = (0..=7 * steps).map(move |step| 1.0 - 10f64.powf(-f64::from(step) / f64::from(steps)));
    all.take_while(move |share| *share <= last)
}

/// An axis with the part of it that is shown, from 0 to 1.
pub(super) struct Range {
    scale: Scale,
    low: f64,
    high: f64,
    label: fn(f64) -> String,
}

/// Beyond it no share is told from one.
const RAREST: f64 = 1e-7;

fn place(scale: Scale, value: f64) -> Option<f64> {
    let place = match scale {
        Scale::Linear => value,
        Scale::Log => value.log10(),
        Scale::Octaves => value.log2(),
        Scale::Tail => -(1.0 - value).max(RAREST).log10(),
    };
    place.is_finite().then_some(place)
}

impl Range {
    /// Over all values that can be shown; none where there are none.
    pub(super) fn over(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<Self> {
        let scale = axis.scale;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in values.filter_map(|value| place(scale, value)) {
            (low, high) = (low.min(place), high.max(place));
        }
        if low > high {
            return None;
        }
        match scale {
            // From one power of ten to another, where it is more than one.
            Scale::Log if high - low > 0.7 => (low, high) = (low.floor(), high.ceil()),
            Scale::Log => (low, high) = (low - 0.05, high + 0.05),
            Scale::Octaves => (low, high) = (low.floor(), high.ceil().max(low.floor() + 1.0)),
            Scale::Linear if high - low < 1e-12 * high.abs().max(1.0) => {
                (low, high) = (low - 0.5, high + 0.5);
            }
            Scale::Linear => {}
            Scale::Tail => (low, high) = (low.min(0.0), high.max(1.0)),
        }
        Some(Self { scale, low, high, label: axis.label })
    }

    /// From 0 to 1; none of what it cannot show.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        Some(((place(self.scale, value)? - self.low) / (self.high - self.low)).clamp(0.0, 1.0))
    }

    /// Where it is marked, from 0 to 1, with the words.
    pub(super) fn marks(&self) -> Vec<(f64, String)> {
        let values: Vec<f64> = match self.scale {
            Scale::Linear => round(self.low, self.high),
            Scale::Log => {
                let steps: &[f64] = if self.high - self.low > 1.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let decades = self.low.floor() as i32..=self.high.ceil() as i32;
                let all = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
                let inside = |value: &f64| (self.low - 1e-9..=self.high + 1e-9).contains(&value.log10());
                let all: Vec<f64> = all.filter(inside).collect();
                // Within a part of a decade round numbers are marked.
                if all.len() > 1 { all } else { round(10f64.powf(self.low), 10f64.powf(self.high)) }
            }
            Scale::Octaves => {
                let step = ((self.high - self.low) / 5.0).ceil().max(1.0) as i32;
                let all = (self.low as i32..=self.high as i32).filter(|octave| octave % step == 0);
                all.map(|octave| 2f64.powi(octave)).collect()
            }
            Scale::Tail => {
                let nines = (1..=7).map(|nines| 1.0 - 10f64.powi(-nines));
                let all = [0.0, 0.5].into_iter().chain(nines);
                all.filter(|share| place(self.scale, *share).is_some_and(|place| place <= self.high + 1e-6))
                    .collect()
            }
        };
        values.into_iter().filter_map(|value| Some((self.at(value)?, (self.label)(value)))).collect()
    }
}

/// Round numbers from one to another, some five of them (Heckbert, Nice numbers for graph labels, Graphics Gems, 1990).
fn round(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let magnitude = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * magnitude).into_iter().find(|step| *step >= rough);
    let Some(step) = step.filter(|step| step.is_normal()) else { return vec![low] };
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last.min(first.saturating_add(20))).map(|number| number as f64 * step).collect()
}

//! Whether a figure of ours agrees with a claim.

use super::{Claim, ClaimUnit};
use tickmark_stats::Interval;

/// A figure in the unit of its claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The figure.
    pub point: f64,
    /// Where it lies: an interval at 95 %, or the range over the phases of the tick.
    pub interval: Option<Interval>,
    /// In words, instead of the number.
    pub words: Option<String>,
}

/// What comes of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// Ours lies where it agrees.
    Agrees,
    /// Ours lies elsewhere.
    Differs,
    /// Its interval lies on both sides.
    Undecided,
    /// There is no figure.
    NotMeasured,
}

/// A claim with what was found here.
#[derive(Debug, Clone)]
pub struct AnsweredClaim {
    /// The claim.
    pub claim: Claim,
    /// Our figure, or why there is none.
    pub here: Result<Figure, String>,
    /// What comes of it.
    pub agreement: Agreement,
}

impl ClaimUnit {
    /// By what a measured figure is multiplied.
    pub(super) const fn scale(self) -> f64 {
        match self {
            Self::Percent => 100.0,
            Self::Micros => 1e-3,
            Self::Millis => 1e-6,
            Self::Nanos | Self::Cycles | Self::Bytes | Self::Number => 1.0,
        }
    }

    /// As it stands behind a number.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Percent => " %",
            Self::Nanos => " ns",
            Self::Micros => " us",
            Self::Millis => " ms",
            Self::Cycles => " cycles",
            Self::Bytes => " bytes",
            Self::Number => "",
        }
    }
}

impl Figure {
    pub(super) const fn number(point: f64, interval: Option<Interval>) -> Self {
        Self { point, interval, words: None }
    }

    pub(super) fn scaled(self, scale: f64) -> Self {
        let interval = self.interval.map(|i| Interval { low: i.low * scale, high: i.high * scale });
        Self { point: self.point * scale, interval, ..self }
    }

    /// Whether it lies between two numbers: decided by all of its interval, where it has one.
    pub(super) fn agreement(&self, [low, high]: [f64; 2]) -> Agreement {
        let ends = self.interval.unwrap_or(Interval { low: self.point, high: self.point });
        match () {
            () if ends.low >= low && ends.high <= high => Agreement::Agrees,
            () if ends.high < low || ends.low > high => Agreement::Differs,
            () => Agreement::Undecided,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_on_both_sides_decides_nothing() {
        let figure = |low, high| Figure::number((low + high) / 2.0, Some(Interval { low, high }));
        assert_eq!(figure(2.0, 3.0).agreement([1.0, 4.0]), Agreement::Agrees);
        assert_eq!(figure(0.5, 3.0).agreement([1.0, 4.0]), Agreement::Undecided);
        assert_eq!(figure(0.1, 0.9).agreement([1.0, 4.0]), Agreement::Differs);
        assert_eq!(figure(4.1, 5.0).agreement([1.0, 4.0]), Agreement::Differs);
        assert_eq!(figure(4.1, 5.0).agreement([4.0, f64::INFINITY]), Agreement::Agrees);
        assert_eq!(Figure::number(1.0, None).agreement([1.0, 4.0]), Agreement::Agrees);
    }
}

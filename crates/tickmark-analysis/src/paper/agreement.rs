//! Whether a figure of ours agrees with a claim.

use super::{Claim, ClaimUnit};
use crate::report::Unit;
use tickmark_stats::Interval;

/// A figure in the unit of its claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The figure.
    pub point: f64,
    /// Its ends.
    pub interval: Option<(Interval, IntervalKind)>,
    /// In words, instead of the number.
    pub words: Option<String>,
    /// What is compared, where the claim does not name it.
    pub sides: Option<[String; 2]>,
    /// Of a change: what it goes from and to.
    pub levels: Option<Levels>,
}

/// What a change goes from and to.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Both, in their unit.
    pub values: [f64; 2],
    /// Their unit.
    pub unit: Unit,
}

/// What the ends of a figure are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntervalKind {
    /// A confidence interval at 95 %.
    Confidence,
    /// The range over phases of the tick, of counts that do not vary otherwise.
    Phases,
    /// The range over several quantities (metrics, packet sizes) of which the claim is said alike, or over few runs.
    Quantities,
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
    /// The document claims no value.
    NotClaimed,
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
    #[must_use]
    pub const fn scale(self) -> f64 {
        match self {
            Self::Percent => 100.0,
            Self::Micros => 1e-3,
            Self::Cycles => 0.45,
            Self::Nanos | Self::Bytes | Self::Number => 1.0,
        }
    }

    /// As it stands behind a number.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Percent => " %",
            Self::Nanos => " ns",
            Self::Micros => " us",
            Self::Cycles => " cycles",
            Self::Bytes => " bytes",
            Self::Number => "",
        }
    }
}

impl Figure {
    pub(super) const fn number(point: f64) -> Self {
        Self { point, interval: None, words: None, sides: None, levels: None }
    }

    pub(super) fn between(point: f64, interval: Interval, kind: IntervalKind) -> Self {
        Self { interval: Some((interval, kind)), ..Self::number(point) }
    }

    /// Several quantities, with their mean.
    pub(super) fn from_quantities(values: &[f64]) -> Option<Self> {
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Self::between(mean, Interval { low, high }, IntervalKind::Quantities))
    }

    pub(super) fn scaled(self, scale: f64) -> Self {
        let scaled = |i: Interval| Interval { low: i.low * scale, high: i.high * scale };
        let interval = self.interval.map(|(interval, kind)| (scaled(interval), kind));
        Self { point: self.point * scale, interval, ..self }
    }

    /// Whether it lies between two numbers. A confidence interval on both sides of a bound decides nothing; a claim on several quantities holds for all of them or
    /// not; the range over phases is of one figure, whose mean decides.
    pub(super) fn agreement(&self, [low, high]: [f64; 2]) -> Agreement {
        let point = Interval { low: self.point, high: self.point };
        let (ends, kind) = match self.interval {
            Some((_, IntervalKind::Phases)) | None => (point, IntervalKind::Phases),
            Some(interval) => interval,
        };
        match kind {
            _ if self.point.is_nan() => Agreement::Undecided,
            _ if ends.low >= low && ends.high <= high => Agreement::Agrees,
            IntervalKind::Confidence if ends.high >= low && ends.low <= high => Agreement::Undecided,
            _ => Agreement::Differs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(low: f64, high: f64, kind: IntervalKind) -> Figure {
        Figure::between(f64::midpoint(low, high), Interval { low, high }, kind)
    }

    #[test]
    fn a_confidence_interval_on_both_sides_decides_nothing() {
        let agreement = |low, high| figure(low, high, IntervalKind::Confidence).agreement([1.0, 4.0]);
        assert_eq!(agreement(2.0, 3.0), Agreement::Agrees);
        assert_eq!(agreement(0.5, 3.0), Agreement::Undecided);
        assert_eq!(agreement(0.1, 0.9), Agreement::Differs);
        assert_eq!(agreement(4.1, 5.0), Agreement::Differs);
    }

    #[test]
    fn a_claim_on_several_quantities_holds_for_all_of_them_and_one_on_phases_for_their_mean() {
        assert_eq!(figure(0.5, 3.0, IntervalKind::Quantities).agreement([1.0, 4.0]), Agreement::Differs);
        assert_eq!(figure(1.0, 4.0, IntervalKind::Quantities).agreement([1.0, 4.0]), Agreement::Agrees);
        assert_eq!(figure(0.5, 3.0, IntervalKind::Phases).agreement([1.0, 4.0]), Agreement::Agrees);
        assert_eq!(figure(0.5, 0.9, IntervalKind::Phases).agreement([1.0, 4.0]), Agreement::Differs);
        assert_eq!(Figure::number(1.0).agreement([1.0, 4.0]), Agreement::Agrees);
        assert_eq!(Figure::number(f64::NAN).agreement([1.0, 4.0]), Agreement::Undecided);
    }
}

//! Why a figure is not judged.

use crate::report::NoFloor;
use tickmark_stats::verdict::Withheld;

/// Why nothing is claimed of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoClaimReason {
    /// Its sides are in different units.
    OtherUnits,
    /// Its sides went over different numbers of bytes.
    OtherSizes,
    /// A side has no cost without ticks.
    NoFloor(NoFloor),
    /// No phase of the tick has a figure on both sides.
    NoPhase,
    /// Some value of the base is not above zero: there is no ratio.
    NoRatio,
    /// Some phases say one thing, others another.
    ByPhase,
    /// No block has a figure on both sides.
    NoBlock,
    /// One or two recordings a side, and no history of this machine.
    NotInterleaved,
    /// One side lost more of its runs than the other: they may be missing for what is compared.
    Missing,
    /// It was not named as one that carries the page's claims.
    Secondary,
    /// It differs, and earlier recordings were as far from each other.
    SeenBefore,
    /// It differs, but not surely enough as one of so many figures.
    AmongMany,
    /// So many replicates in all would decide in four of five cases.
    Needs(usize),
    /// Fewer than two replicates on a side, or so few for their variation that no number can be told which would decide.
    TooFew,
    /// The replicates do not vary.
    NoVariation,
    /// The order of the values forbids the claim.
    Order(Withheld),
}

impl NoClaimReason {
    /// For programs.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::OtherUnits => "other_units",
            Self::OtherSizes => "other_sizes",
            Self::NoFloor(_) => "no_floor",
            Self::NoPhase => "no_phase_in_common",
            Self::NoRatio => "no_ratio",
            Self::ByPhase => "depends_on_the_phase",
            Self::NoBlock => "no_block_in_common",
            Self::NotInterleaved => "not_interleaved",
            Self::Missing => "missing_not_at_random",
            Self::Secondary => "secondary",
            Self::SeenBefore => "seen_before",
            Self::AmongMany => "among_many",
            Self::Needs(_) => "needs_more",
            Self::TooFew => "too_few",
            Self::NoVariation => "no_variation",
            Self::Order(Withheld::Drift) => "drift",
            Self::Order(Withheld::Sorted) => "sorted",
            Self::Order(Withheld::Dependence) => "dependence",
        }
    }
}

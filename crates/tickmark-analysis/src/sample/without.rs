//! Why a run whose observations are there has no figure.

use tickmark_stats::tick::NotFound;

/// A word of a later version that this one does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum New {
    /// A kind of observations.
    Observations,
    /// A part of a figure.
    Part,
    /// How observations become a figure.
    Headline,
}

/// Why there is no figure.
#[derive(Debug, Clone, PartialEq)]
pub enum NoFigure {
    /// A line of its observations cannot be read any more.
    Damaged,
    /// No observation of the whole.
    NothingObserved,
    /// The run gave what it was made for, and this beside it could not be told: the system, or so short a run, does not say.
    NotTold,
    /// A part that the metric's figure is made of was not observed.
    PartMissing {
        /// Which.
        part: &'static str,
    },
    /// Its parts are of kinds that cannot be taken off from each other.
    PartsDiffer,
    /// A word that a later minor version of the format has: what it means is not known here.
    NewWord {
        /// Of what.
        what: New,
        /// The word.
        word: String,
    },
    /// No batch was timed.
    NoBatch,
    /// Both in ns: less than the physical limit is no cost of anything.
    BelowLimit {
        /// The computed value.
        value: f64,
        /// The limit.
        limit: f64,
    },
    /// A curve without a point.
    NoPoint,
    /// No size at which a load costs more.
    NoRise,
    /// No distance that makes a difference.
    NoStep,
    /// An empty list of values.
    NoValue,
    /// The clock made no step in the time.
    NoClockStep,
    /// No exchange with another CPU.
    NoExchange,
    /// Columns of different lengths.
    Columns,
    /// No tick among the gaps.
    NoTick(NotFound),
    /// A train in Hz that the kernel is not configured for.
    OtherRate {
        /// Its frequency.
        found: f64,
        /// The kernel's HZ.
        configured: f64,
    },
}

impl NoFigure {
    /// True if the observations themselves are not whole, so that the run has failed whatever the others say.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        matches!(self, Self::Damaged | Self::PartMissing { .. } | Self::PartsDiffer | Self::NewWord { .. })
    }
}

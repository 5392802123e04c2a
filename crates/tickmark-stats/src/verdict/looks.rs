//! Looking at an experiment before all of its blocks are there: what part of the level each look has.

/// Share of the level that each look leaves to those that follow: nobody knows how many there will be (Lan and DeMets, Discrete sequential
/// boundaries for clinical trials, 1983, with a function of the number of looks).
const LEFT: f64 = 0.1;

/// Share of its level for an experiment that ended when its intervals were narrow: it is likelier to end where its runs happen to vary
/// little, which makes 6 % of 5 % (simulated: normal, lognormal and spiked differences, 10 to 60 blocks).
const EARLY: f64 = 0.85;

/// When the figures of an experiment are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Looks<'a> {
    /// Once.
    #[default]
    Once,
    /// Once, and again when blocks were added.
    Added {
        /// After so many blocks it was looked at before.
        before: &'a [usize],
        /// True if it ended, at any look, when its intervals were narrow enough, and not when all that was planned was made.
        early: bool,
    },
    /// At planned numbers of blocks, at each of which it ends if it is decided.
    Planned {
        /// The looks before the last one, in blocks.
        before: &'a [usize],
        /// Of the level that each look has ([`crate::sequential::share`]).
        share: f64,
    },
}

impl Looks<'_> {
    /// An experiment that can get more blocks, at its first look.
    pub const FIRST: Looks<'static> = Looks::Added { before: &[], early: false };

    /// After how many blocks it was looked at before.
    #[must_use]
    pub const fn before(&self) -> &[usize] {
        match self {
            Self::Once => &[],
            Self::Added { before, .. } | Self::Planned { before, .. } => before,
        }
    }

    /// The part of the level that the last look has.
    #[must_use]
    pub fn part(&self) -> f64 {
        self.part_at(self.before().len())
    }

    /// That of the look with this number, counted from 0: what can be looked at once has all of it; of what is added, nine tenths of what
    /// the looks before it left.
    pub(super) fn part_at(&self, number: usize) -> f64 {
        match self {
            Self::Added { .. } => (1.0 - LEFT) * LEFT.powi(number as i32) * self.of_intervals(),
            Self::Once | Self::Planned { .. } => self.of_intervals(),
        }
    }

    /// The part of the look that would come next, in blocks that are made as they were planned.
    pub(super) fn next(&self) -> f64 {
        match self {
            Self::Added { before, .. } => (1.0 - LEFT) * LEFT.powi(before.len() as i32 + 1),
            Self::Once | Self::Planned { .. } => self.of_intervals(),
        }
    }

    /// The part of the level that intervals have: those of planned looks hold at every look (Jennison and Turnbull, Interim analyses: the
    /// repeated confidence interval approach, 1989).
    #[must_use]
    pub const fn of_intervals(&self) -> f64 {
        match self {
            Self::Once | Self::Added { early: false, .. } => 1.0,
            Self::Added { early: true, .. } => EARLY,
            Self::Planned { share, .. } => *share,
        }
    }
}

//! Looking again at an experiment that goes on: what part of the level each look has.

/// Share of the level that each look leaves to those that follow: nobody knows how many there will be (Lan and DeMets, Discrete sequential
/// boundaries for clinical trials, 1983, with a function of the number of looks).
const LEFT: f64 = 0.1;

/// Share of its level for an experiment that ended when its intervals were narrow: it is likelier to end where its runs happen to vary
/// little, which makes 6 % of 5 % (simulated: normal, lognormal and spiked differences, 10 to 60 blocks).
const EARLY: f64 = 0.85;

/// The part of the look with this number, counted from 0: nine tenths of what the looks before it left.
pub(super) fn at(number: usize) -> f64 {
    (1.0 - LEFT) * LEFT.powi(number as i32)
}

/// The part of the last look, after those before it; all of what can be looked at once.
#[must_use]
pub fn part(before: Option<&[usize]>, early: bool) -> f64 {
    before.map_or(1.0, |before| at(before.len())) * ended(early)
}

/// Share of the level where an experiment ended early; its intervals are as much wider.
pub(super) fn ended(early: bool) -> f64 {
    if early { EARLY } else { 1.0 }
}

/// The part of the look that would come next: what blocks that are added have.
pub(super) fn next(before: Option<&[usize]>) -> f64 {
    before.map_or(1.0, |before| at(before.len() + 1))
}

//! When a series changed its level or its spread. Each place is claimed only where noise of the same kind, in which values resemble those
//! before them as much, rarely shows one as clear; of a series that is one long wave it says that nothing can be known. Rates:
//! docs/methodology/series.md.

mod noise;

use crate::median;
use noise::{Candidate, candidate, chance, clipped};
use rand::SeedableRng;
use rand::rngs::StdRng;

pub use noise::LEAST;
/// The least level that a test is made for.
pub const LEAST_LEVEL: f64 = 1e-4;
/// Of the level so much is for new levels and for new spreads; the rest is kept for what the noise model does not know.
const LEVELS: f64 = 0.6;
const SPREADS: f64 = 0.15;
/// Independent values that the values are worth, n (1 - r) / (1 + r): of fewer, only what is so much rarer is claimed.
const WORTH: f64 = 16.0;
const RARER: f64 = 5.0;
/// Fewer values are judged as they are, if they do not resemble each other.
const FEW: f64 = 0.1;
/// A place is possible if twice the log likelihood is less than this below the best (the 95th percentile of Hansen, Sample splitting and
/// threshold estimation, 2000).
const LIKELY: f64 = 7.35;
/// Standard errors of the limits of a size.
const LIMITS: f64 = 1.96;
/// So many robust standard deviations from its level a value is an outlier.
const OUTLYING: f64 = 5.0;

/// What is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The level.
    Level,
    /// How far values spread around it.
    Spread,
}

/// A place in a series where something new begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// What is new.
    pub kind: Kind,
    /// The first value of the new level, counted from 0.
    pub at: usize,
    /// The first and the last place at which it may have begun instead (95 %).
    pub between: (usize, usize),
    /// The chance that a series of this length without any change shows one as clear.
    pub p: f64,
    /// The median of the values up to it, from the change before.
    pub before: f64,
    /// The median of those from it to the next change.
    pub after: f64,
    /// Limits of the difference of both levels (95 %).
    pub size: (f64, f64),
}

/// What was found in a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Changes in their order.
    pub changes: Vec<Change>,
    /// How much a value resembles the one before: a correlation, 0 or above.
    pub resemblance: f64,
    /// True if values resemble each other so much that no change could be told from a wave.
    pub unknowable: bool,
    /// Values far from their level, as indices.
    pub outliers: Vec<usize>,
}

/// What changed in a series; one without a change shows one with a chance of at most about `level`.
#[must_use]
pub fn find(values: &[f64], level: f64) -> Found {
    let mut found = Found::default();
    let drawn_in = clipped(values);
    let all = candidate(&drawn_in).filter(|_| values.iter().all(|value| value.is_finite()));
    let Some((best, _)) = all.filter(|_| level >= LEAST_LEVEL) else { return found };
    let r = best.resemblance;
    found.resemblance = r;
    let worth = values.len() as f64 * (1.0 - r) / (1.0 + r);
    let is_wave = worth < WORTH && r > FEW;
    let level = if is_wave { level / RARER } else { level };
    let mut random = StdRng::seed_from_u64(1);
    let mut places = Vec::new();
    search(values, 0, LEVELS * level, &mut random, &mut places);
    places.sort_by_key(|place| place.at);
    let mut ends: Vec<usize> = places.iter().map(|place| place.at).chain([0, values.len()]).collect();
    ends.sort_unstable();
    // A new spread is a new level of the distances from the levels.
    let mut apart = Vec::with_capacity(values.len());
    for pair in ends.windows(2) {
        let middle = median(values[pair[0]..pair[1]].iter().copied()).unwrap_or(0.0);
        apart.extend(values[pair[0]..pair[1]].iter().map(|value| (value - middle).abs()));
    }
    found.outliers = outliers(&apart);
    places.extend(claim(&apart, 0, Kind::Spread, SPREADS * level, &mut random));
    found.unknowable = is_wave && places.is_empty();
    places.sort_by_key(|place| place.at);
    found.changes = described(values, &places);
    found
}

/// A place that is claimed.
struct Place {
    kind: Kind,
    at: usize,
    between: (usize, usize),
    p: f64,
    long_run: f64,
}

/// Looks for a new level, and on both sides of it with half of the level each.
fn search(values: &[f64], from: usize, level: f64, random: &mut StdRng, places: &mut Vec<Place>) {
    if level < LEAST_LEVEL * LEVELS / 8.0 {
        return;
    }
    if let Some(place) = claim(values, from, Kind::Level, level, random) {
        let at = place.at - from;
        places.push(place);
        search(&values[..at], from, level / 2.0, random, places);
        search(&values[at..], from + at, level / 2.0, random, places);
    }
}

/// The best place, if noise alone rarely shows one as clear.
fn claim(values: &[f64], from: usize, kind: Kind, level: f64, random: &mut StdRng) -> Option<Place> {
    let values = clipped(values);
    let (best, left) = candidate(&values)?;
    let p = chance(&best, &left, level, random);
    let between = possible(&values, &best);
    let (at, between) = (from + best.at, (from + between.0, from + between.1));
    (p <= level).then_some(Place { kind, at, between, p, long_run: best.long_run })
}

/// The first and the last place that is nearly as likely as the best.
fn possible(values: &[f64], best: &Candidate) -> (usize, usize) {
    if best.clear.is_infinite() {
        return (best.at, best.at);
    }
    let count = values.len();
    let mean = values.iter().sum::<f64>() / count as f64;
    let (mut sum, mut all) = (0.0, (best.at, best.at));
    for at in 1..count {
        sum += values[at - 1] - mean;
        let taken = sum * sum * count as f64 / (at as f64 * (count - at) as f64);
        if best.clear.powi(2) - taken / best.long_run.powi(2) <= LIKELY {
            all = (all.0.min(at), all.1.max(at));
        }
    }
    all
}

fn outliers(apart: &[f64]) -> Vec<usize> {
    let spread = 1.4826 * median(apart.iter().copied()).unwrap_or(0.0);
    let far = apart.iter().enumerate().filter(|(_, apart)| spread > 0.0 && **apart > OUTLYING * spread);
    far.map(|(at, _)| at).collect()
}

fn described(values: &[f64], places: &[Place]) -> Vec<Change> {
    let end = |number: usize| places.get(number).map_or(values.len(), |place| place.at);
    let one = |(number, place): (usize, &Place)| {
        let from = number.checked_sub(1).map_or(0, end);
        let (old, new) = (&values[from..place.at], &values[place.at..end(number + 1)]);
        let middle = |values: &[f64]| median(values.iter().copied()).unwrap_or(f64::NAN);
        let mean = |values: &[f64]| clipped(values).iter().sum::<f64>() / values.len() as f64;
        let (step, rooms) = (mean(new) - mean(old), 1.0 / new.len() as f64 + 1.0 / old.len() as f64);
        let error = LIMITS * place.long_run * rooms.sqrt();
        let size = (step - error, step + error);
        let (kind, at, between, p) = (place.kind, place.at, place.between, place.p);
        Change { kind, at, between, p, before: middle(old), after: middle(new), size }
    };
    places.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests;

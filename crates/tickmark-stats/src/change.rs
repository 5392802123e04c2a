//! When a series changed its level, its slope, its spread or the share of its states. Each place is claimed only where noise of the same kind, in which values resemble those
//! before them as much, rarely shows one as clear; of a series that is one long wave it says that nothing can be known. Rates:
//! docs/methodology/series.md.

mod noise;
mod phases;
mod ramp;

use crate::median;
use crate::states::two_states;
use crate::student::t_point;
use noise::{Candidate, candidate, candidate_beside, chance, clipped, resemblance, without_levels};
use ramp::Ramp;
use rand::SeedableRng;
use rand::rngs::StdRng;

pub use noise::LEAST;
pub use phases::without_phases;
/// The least level that a test is made for.
pub const LEAST_LEVEL: f64 = 1e-4;
/// Of the level so much is for new levels and for new spreads; the rest is kept for what the noise model does not know.
const LEVELS: f64 = 0.6;
const SPREADS: f64 = 0.15;
/// Independent values that the values are worth, n (1 - r) / (1 + r): of fewer, only what is so much rarer is claimed.
const WORTH: f64 = 16.0;
const RARER: f64 = 5.0;
/// Of the level so much is kept where values resemble each other wholly, and as much less as they do so less: noise is then made of fewer values.
const KEPT: f64 = 0.5;
/// Fewer values are judged as they are, if they do not resemble each other.
const FEW: f64 = 0.1;
/// A place is possible if twice the log likelihood is less than this below the best (the 95th percentile of Hansen, Sample splitting and
/// threshold estimation, 2000).
const LIKELY: f64 = 7.35;
/// Standard errors of the limits of a size.
const LIMITS: f64 = 1.96;
/// So many robust standard deviations from its level a value is an outlier.
const OUTLYING: f64 = 5.0;

/// The least spread of one side beside the other's.
const LEAST_SPREAD: f64 = 1e-3;
/// Of fewer values a state is none that has a share.
const MEMBERS: usize = 3;

/// What is new.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// The level.
    Level,
    /// The level, by a slope up to this value.
    Drift {
        /// The first value of the new level.
        until: usize,
    },
    /// The share of values in the higher of two states; whether the states are as they were is not tested.
    Share {
        /// The middle of the lower state.
        low: f64,
        /// The middle of the higher one.
        high: f64,
    },
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
    /// The mean of the values up to it, from the change before, with outliers drawn in; what a slope begins with; the standard deviation; the share of the
    /// higher state.
    pub before: f64,
    /// The same of those from it to the next change.
    pub after: f64,
    /// Limits of the difference of both (95 %).
    pub size: (f64, f64),
}

impl Change {
    /// The first value of the new level.
    #[must_use]
    pub fn end(&self) -> usize {
        match self.kind {
            Kind::Drift { until } => until,
            _ => self.at,
        }
    }

    /// The same in a series that has so many more values before.
    #[must_use]
    pub fn moved(self, by: usize) -> Self {
        let kind = match self.kind {
            Kind::Drift { until } => Kind::Drift { until: until + by },
            kind => kind,
        };
        let between = (self.between.0 + by, self.between.1 + by);
        Self { kind, at: self.at + by, between, ..self }
    }
}

/// The difference of two levels at a place that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The mean of the values before it.
    pub before: f64,
    /// The mean of those after it.
    pub after: f64,
    /// Limits of the difference of both means (95 %).
    pub size: (f64, f64),
}

/// How two levels differ, where values of each resemble those before them: Student's t, with the long-run variance of the values around both.
/// None of fewer than two values a side.
#[must_use]
pub fn step(old: &[f64], new: &[f64]) -> Option<Step> {
    if old.len().min(new.len()) < 2 {
        return None;
    }
    let all = [old, new].concat();
    let left = without_levels(&all, &[0, old.len(), all.len()]);
    let counts = 1.0 / new.len() as f64 + 1.0 / old.len() as f64;
    let error = t_point(0.025, all.len() as f64 - 2.0) * resemblance(&left, 1.0).1 * counts.sqrt();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (before, after) = (mean(old), mean(new));
    let by = after - before;
    let error = if left.iter().all(|value| *value == 0.0) { 0.0 } else { error };
    error.is_finite().then_some(Step { before, after, size: (by - error, by + error) })
}

/// What was found in a series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeriesChanges {
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
pub fn find(values: &[f64], level: f64) -> SeriesChanges {
    let mut found = SeriesChanges::default();
    let drawn_in = clipped(values);
    let all = candidate(&drawn_in).filter(|_| values.iter().all(|value| value.is_finite()));
    let Some((best, _)) = all.filter(|_| level >= LEAST_LEVEL) else { return found };
    let sloped = ramp::ramp(&drawn_in).map(|ramp| candidate_beside(&drawn_in, &ramp.left));
    let r = sloped.map_or(best.resemblance, |beside| beside.resemblance.min(best.resemblance));
    found.resemblance = r;
    let worth = values.len() as f64 * (1.0 - r) / (1.0 + r);
    let is_wave = worth < WORTH && r > FEW;
    let level = (if is_wave { level / RARER } else { level }) * (1.0 - KEPT * r);
    let mut levels = Levels::find(values, vec![1.0; values.len()], LEVELS * level);
    let spread = levels.spread(SPREADS * level);
    if let Some(place) = &spread {
        // Levels are then looked for beside noise that spreads as it does here.
        levels = Levels::find(values, levels.scale(place.at), LEVELS * level);
    }
    found.outliers = outliers(&levels.apart);
    found.unknowable = is_wave && levels.places.is_empty() && spread.is_none();
    let changes = (0..levels.places.len()).map(|number| levels.described(values, number));
    found.changes = changes.chain(spread.map(|place| levels.of_spread(&place))).collect();
    found.changes.sort_by_key(|change| change.at);
    found
}

/// A place that is claimed.
struct ClaimedPlace {
    kind: Kind,
    at: usize,
    between: (usize, usize),
    p: f64,
    long_run: f64,
    /// The slope that it is, counted from its first value.
    ramp: Option<Ramp>,
}

impl ClaimedPlace {
    /// The first value of the new level.
    fn end(&self) -> usize {
        match self.kind {
            Kind::Drift { until } => until,
            _ => self.at,
        }
    }
}

/// Levels and slopes of a series.
struct Levels {
    places: Vec<ClaimedPlace>,
    /// The values without slopes.
    flat: Vec<f64>,
    /// Their distances from their level.
    apart: Vec<f64>,
    /// The ends of the levels.
    ends: Vec<usize>,
}

impl Levels {
    /// Beside noise that spreads as `scale` says.
    fn find(values: &[f64], scale: Vec<f64>, level: f64) -> Self {
        let mut search = Search { scale, random: StdRng::seed_from_u64(1), places: Vec::new() };
        let mut flat = values.to_vec();
        search.levels(&mut flat, 0, level);
        let mut places = search.places;
        places.sort_by_key(|place| place.at);
        let is_level = |place: &&ClaimedPlace| place.ramp.is_none();
        let mut ends: Vec<usize> = places.iter().filter(is_level).map(|place| place.at).collect();
        ends.extend([0, values.len()]);
        ends.sort_unstable();
        let mut apart = Vec::with_capacity(values.len());
        for pair in ends.windows(2) {
            let own = &flat[pair[0]..pair[1]];
            let middle = median(own.iter().copied()).unwrap_or(0.0);
            apart.extend(own.iter().map(|value| (value - middle).abs()));
        }
        Self { places, flat, apart, ends }
    }

    /// Where a new spread begins: a new level of the distances. Of two states a share that changes is none.
    fn spread(&self, level: f64) -> Option<ClaimedPlace> {
        let scale = vec![1.0; self.apart.len()];
        let mut search = Search { scale, random: StdRng::seed_from_u64(2), places: Vec::new() };
        let place = search.claim(&self.apart, 0, Kind::Spread, level)?;
        let own = self.ends.windows(2).find(|pair| (pair[0]..pair[1]).contains(&place.at))?;
        two_states(&self.flat[own[0]..own[1]]).is_none().then_some(place)
    }

    /// How far values spread on each side of a place.
    fn scale(&self, at: usize) -> Vec<f64> {
        let (before, after) = self.apart.split_at(at);
        let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
        let (low, high) = (mean(before), mean(after));
        let least = low.max(high) * LEAST_SPREAD;
        (0..self.apart.len()).map(|place| if place < at { low.max(least) } else { high.max(least) }).collect()
    }
}

/// What is looked for, beside noise that spreads as `scale` says.
struct Search {
    scale: Vec<f64>,
    random: StdRng,
    places: Vec<ClaimedPlace>,
}

impl Search {
    /// Looks for a new level, and on both sides of it with half of the level each. A slope is taken out of the values, which are then searched again.
    fn levels(&mut self, values: &mut [f64], from: usize, level: f64) {
        if level < LEAST_LEVEL * LEVELS / 8.0 {
            return;
        }
        // A steep slope looks like a wave, unless it is taken out.
        let ramp = ramp::ramp(&clipped(values));
        let sloped = ramp.as_ref().and_then(|ramp| {
            let drawn_in = clipped(values);
            let best = candidate_beside(&drawn_in, &ramp.left);
            // Half of the level: the other way is tried as well.
            self.judged(&drawn_in, best, &ramp.left, from, Kind::Level, level / 2.0)
        });
        let Some(place) = sloped.or_else(|| self.claim(values, from, Kind::Level, level)) else { return };
        if let Some(ramp) = ramp {
            values.iter_mut().enumerate().for_each(|(at, value)| *value -= ramp.height * ramp.part(at));
            let kind = Kind::Drift { until: from + ramp.to };
            self.places.push(ClaimedPlace { kind, at: from + ramp.from, ramp: Some(ramp), ..place });
            return self.levels(values, from, level / 2.0);
        }
        let (old, new) = values.split_at_mut(place.at - from);
        let at = place.at;
        self.places.push(place);
        self.levels(old, from, level / 2.0);
        self.levels(new, at, level / 2.0);
    }

    /// The best place, if noise alone rarely shows one as clear.
    fn claim(&mut self, values: &[f64], from: usize, kind: Kind, level: f64) -> Option<ClaimedPlace> {
        let values = clipped(values);
        let (best, left) = candidate(&values)?;
        self.judged(&values, best, &left, from, kind, level)
    }

    fn judged(
        &mut self,
        values: &[f64],
        best: Candidate,
        left: &[f64],
        from: usize,
        kind: Kind,
        level: f64,
    ) -> Option<ClaimedPlace> {
        let p = chance(&best, left, &self.scale[from..from + values.len()], level, &mut self.random);
        let between = possible(values, &best);
        let (at, between) = (from + best.at, (from + between.0, from + between.1));
        (p <= level).then_some(ClaimedPlace { kind, at, between, p, long_run: best.long_run, ramp: None })
    }
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

/// The mean of values, with outliers drawn in.
fn mean(values: &[f64]) -> f64 {
    clipped(values).iter().sum::<f64>() / values.len() as f64
}

/// The mean absolute deviation of normal values is the standard deviation over this.
const NORMAL: f64 = 1.2533;

impl Levels {
    /// The change at a place, beside the levels on both sides of it.
    fn described(&self, values: &[f64], number: usize) -> Change {
        let ClaimedPlace { kind, at, between, p, long_run, ref ramp } = self.places[number];
        if let Some(ramp) = ramp {
            let (before, after) = (ramp.before, ramp.before + ramp.height);
            let size = (ramp.height - LIMITS * ramp.error, ramp.height + LIMITS * ramp.error);
            return Change { kind, at, between: (at, at), p, before, after, size };
        }
        let from = number.checked_sub(1).map_or(0, |before| self.places[before].end());
        let to = self.places.get(number + 1).map_or(values.len(), |next| next.at);
        let (old, new) = if from < at && at < to {
            (&values[from..at], &values[at..to])
        } else {
            // In the midst of a slope.
            let from = self.ends.iter().rfind(|end| **end < at).map_or(0, |end| *end);
            let to = self.ends.iter().find(|end| **end > at).map_or(values.len(), |end| *end);
            (&self.flat[from..at], &self.flat[at..to])
        };
        let counts = 1.0 / new.len() as f64 + 1.0 / old.len() as f64;
        let (before, after) = (mean(old), mean(new));
        let error = LIMITS * long_run * counts.sqrt();
        let size = (after - before - error, after - before + error);
        share(old, new, Change { kind, at, between, p, before, after, size })
    }

    /// A new spread, as standard deviations.
    fn of_spread(&self, place: &ClaimedPlace) -> Change {
        let (old, new) = self.apart.split_at(place.at);
        let (before, after) = (NORMAL * mean(old), NORMAL * mean(new));
        let counts = 1.0 / new.len() as f64 + 1.0 / old.len() as f64;
        let error = LIMITS * NORMAL * place.long_run * counts.sqrt();
        let size = (after - before - error, after - before + error);
        Change { kind: Kind::Spread, at: place.at, between: place.between, p: place.p, before, after, size }
    }
}

/// A new level that is one of the share of two states. The limits of the difference are those of the normal approximation, with the larger of both
/// shares' variances.
fn share(old: &[f64], new: &[f64], level: Change) -> Change {
    let Some(states) = two_states(&[old, new].concat()) else { return level };
    let (low, high) = (states.low.centre, states.high.centre);
    let edge = (low * high).sqrt();
    let counted = |side: &[f64]| side.iter().filter(|value| **value > edge).count();
    let is_mixed = |side: &[f64]| counted(side).min(side.len() - counted(side)) >= MEMBERS;
    if !is_mixed(old) && !is_mixed(new) {
        return level;
    }
    let [before, after] = [old, new].map(|side| counted(side) as f64 / side.len() as f64);
    let variance = (before * (1.0 - before)).max(after * (1.0 - after));
    let counts = 1.0 / new.len() as f64 + 1.0 / old.len() as f64;
    let error = LIMITS * (variance * counts).sqrt();
    let size = (after - before - error, after - before + error);
    Change { kind: Kind::Share { low, high }, before, after, size, ..level }
}

#[cfg(test)]
mod tests;

//! When a series changed its level or its spread: E-divisive, Matteson and James, A nonparametric approach for multiple change
//! point analysis of multivariate data, 2014, with exponent 1. It takes nothing for normal, and claims what shuffling the series
//! rarely gives: where a value resembles the one before, what is new in each (Bühlmann, Sieve bootstrap for time series, 1997).

use crate::median;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Fewer values are no level.
pub const LEAST: usize = 4;
/// Shuffles of a test at a level of 1: a fourth of the level is the least chance that it can find.
const SHUFFLES: f64 = 4.0;
/// The share of the differences that says how much values resemble each other.
const MOSTLY: f64 = 0.8;
/// So many standard errors of a correlation are no chance.
const SURE: f64 = 1.0;
/// The least level that a test is made for.
pub const LEAST_LEVEL: f64 = 1e-4;

/// A place in a series where a new level begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first value of the new level, counted from 0.
    pub at: usize,
    /// The chance of so clear a change where the values come in any order.
    pub p: f64,
    /// The median of the values up to it, from the change before.
    pub before: f64,
    /// The median of those from it to the next change.
    pub after: f64,
}

/// The changes of a series, in their order. Each is looked for until one has a chance above `level`, so that a series without a
/// change shows one with that chance.
#[must_use]
pub fn changes(values: &[f64], level: f64) -> Vec<Change> {
    let (mut random, alike) = (StdRng::seed_from_u64(1), resemblance(values));
    let mut found: Vec<(usize, f64)> = Vec::new();
    loop {
        let mut ends: Vec<usize> = found.iter().map(|(at, _)| *at).chain([0, values.len()]).collect();
        ends.sort_unstable();
        let segments: Vec<&[f64]> = ends.windows(2).map(|pair| &values[pair[0]..pair[1]]).collect();
        let best = |segments: &[&[f64]]| {
            let split = |(segment, from): (&&[f64], &usize)| split(segment).map(|(at, far)| (from + at, far));
            let all = segments.iter().zip(&ends).filter_map(split);
            all.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        let Some((at, far)) = best(&segments) else { break };
        let shuffles = (SHUFFLES / level.max(LEAST_LEVEL)).ceil() as u32;
        let mut as_far = 1;
        for _ in 1..shuffles {
            // The rest cannot make it rare again.
            if f64::from(as_far) > level * f64::from(shuffles) {
                break;
            }
            let shuffled: Vec<Vec<f64>> =
                segments.iter().map(|segment| shuffled(segment, alike, &mut random)).collect();
            let shuffled: Vec<&[f64]> = shuffled.iter().map(Vec::as_slice).collect();
            as_far += u32::from(best(&shuffled).is_some_and(|(_, other)| other >= far));
        }
        let p = f64::from(as_far) / f64::from(shuffles);
        if p > level || level < LEAST_LEVEL {
            break;
        }
        found.push((at, p));
    }
    found.sort_unstable_by_key(|(at, _)| *at);
    let end = |number: usize| found.get(number).map_or(values.len(), |(at, _)| *at);
    let middle = |from: usize, to: usize| median(values[from..to].iter().copied()).unwrap_or(f64::NAN);
    let one = |(number, (at, p)): (usize, &(usize, f64))| Change {
        at: *at,
        p: *p,
        before: middle(number.checked_sub(1).map_or(0, end), *at),
        after: middle(*at, end(number + 1)),
    };
    found.iter().enumerate().map(one).collect()
}

/// How much a value resembles the one before: the coefficient of a first-order autoregression; 0 where the two levels into which the
/// series falls best do not show any, as a few values resemble each other by chance. It is told by how much less values differ from
/// that one than from the one before it, by 1 to 1 + r; the largest differences do not count, as levels and spikes make them.
fn resemblance(values: &[f64]) -> f64 {
    let differences = |lag: usize| {
        let mut squares: Vec<f64> = values.windows(lag + 1).map(|w| (w[lag] - w[0]).powi(2)).collect();
        squares.sort_by(f64::total_cmp);
        squares.truncate((squares.len() as f64 * MOSTLY).ceil() as usize);
        squares.iter().sum::<f64>() / squares.len().max(1) as f64
    };
    let at = split(values).map_or(0, |(at, _)| at);
    let (mut products, mut squares) = (0.0, 0.0);
    for level in [&values[..at], &values[at..]] {
        let mean = level.iter().sum::<f64>() / level.len().max(1) as f64;
        products += level.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        squares += level.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    }
    let (near, far) = (differences(1), differences(2));
    let by_chance = products * (values.len() as f64).sqrt() <= SURE * squares;
    let lag = far / near - 1.0;
    // Values too large to be squared resemble nothing that could be told.
    if by_chance || !lag.is_finite() { 0.0 } else { lag.clamp(0.0, 0.95) }
}

/// A series of the same values in another order, in which they resemble those before them as much: what each adds to what is left of
/// the one before, shuffled.
fn shuffled(segment: &[f64], resemblance: f64, random: &mut StdRng) -> Vec<f64> {
    if resemblance == 0.0 {
        // To the last digit, so that what is tied stays so.
        let mut values = segment.to_vec();
        values.shuffle(random);
        return values;
    }
    let mean = segment.iter().sum::<f64>() / segment.len().max(1) as f64;
    // The first has a whole past in it.
    let past = (1.0 - resemblance * resemblance).sqrt();
    let first = segment.first().map(|first| past * (first - mean));
    let each = segment.windows(2).map(|pair| pair[1] - mean - resemblance * (pair[0] - mean));
    let mut added: Vec<f64> = first.into_iter().chain(each).collect();
    added.shuffle(random);
    let mut before = added.first().map_or(0.0, |first| (first / past - first) / resemblance);
    for value in &mut added {
        before = resemblance * before + *value;
        *value = before;
    }
    added
}

/// Where a segment falls best into two, the second of which may end before the segment does: the place and how far the two
/// are from each other, by the scaled energy distance. None of a segment that is too short for two levels.
fn split(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len();
    if n < 2 * LEAST {
        return None;
    }
    // Sums of the distances of all values before i from all values before j.
    let mut sums = vec![0.0; (n + 1) * (n + 1)];
    for i in 0..n {
        let mut row = 0.0;
        for j in 0..n {
            row += (values[i] - values[j]).abs();
            sums[(i + 1) * (n + 1) + j + 1] = sums[i * (n + 1) + j + 1] + row;
        }
    }
    let sum = |i: usize, j: usize| sums[i * (n + 1) + j];
    let mut best = (0, f64::MIN);
    for at in LEAST..=n - LEAST {
        let own = sum(at, at) / (at * (at - 1)) as f64;
        for end in at + LEAST..=n {
            let (p, q) = (at as f64, (end - at) as f64);
            let across = sum(at, end) - sum(at, at);
            let other = sum(end, end) - 2.0 * sum(at, end) + sum(at, at);
            let energy = 2.0 * across / (p * q) - own - other / (q * (q - 1.0));
            let scaled = p * q / (p + q) * energy;
            if scaled > best.1 {
                best = (at, scaled);
            }
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::student::normal_point;
    use rand::RngExt;

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut random = StdRng::seed_from_u64(seed);
        (0..count).map(|_| normal_point(random.random_range(1e-9..1.0 - 1e-9))).collect()
    }

    fn near(changes: &[Change], places: &[usize]) -> bool {
        let close = |(change, place): (&Change, &usize)| change.at.abs_diff(*place) <= 2;
        changes.len() == places.len() && changes.iter().zip(places).all(close)
    }

    #[test]
    fn levels_are_found_where_they_begin() {
        let mut values = noise(60, 1);
        values[20..40].iter_mut().for_each(|v| *v += 4.0);
        values[40..].iter_mut().for_each(|v| *v -= 3.0);
        let found = changes(&values, 0.05);
        assert!(near(&found, &[20, 40]), "{found:?}");
        assert!((found[0].before).abs() < 0.7 && (found[0].after - 4.0).abs() < 0.7, "{found:?}");
        assert!((found[1].before - 4.0).abs() < 0.7 && (found[1].after + 3.0).abs() < 0.7, "{found:?}");
        // One that goes back.
        let mut values = noise(50, 2);
        values[20..30].iter_mut().for_each(|v| *v += 5.0);
        assert!(near(&changes(&values, 0.05), &[20, 30]), "{:?}", changes(&values, 0.05));
    }

    #[test]
    fn a_spread_is_a_level_too() {
        let mut values = noise(80, 3);
        values[40..].iter_mut().for_each(|v| *v *= 8.0);
        let found = changes(&values, 0.05);
        assert!(found.len() == 1 && found[0].at.abs_diff(40) <= 5, "{found:?}");
    }

    #[test]
    fn nothing_is_found_in_nothing_more_often_than_the_level_says() {
        let wrong = (0..60).filter(|seed| !changes(&noise(24, 100 + seed), 0.05).is_empty()).count();
        // The 99.9 % bound of 5 % of 60.
        assert!(wrong <= 9, "{wrong} of 60");
        assert!(changes(&[1.0; 40], 0.05).is_empty() && changes(&[1.0, 2.0, 3.0], 0.05).is_empty());
    }

    /// A value resembles the one before: stretches of a noisy machine are no levels.
    #[test]
    fn series_that_resemble_themselves_rarely_show_a_level() {
        // By shuffling the values alone they are 19, 31 and 55 of 60.
        for (lag, most) in [(0.3, 9), (0.5, 9), (0.8, 20)] {
            let of = |seed: u64| {
                let mut values = noise(40, 1000 + seed);
                for at in 1..values.len() {
                    values[at] = lag * values[at - 1] + (1.0f64 - lag * lag).sqrt() * values[at];
                }
                values
            };
            let wrong = (0..60).filter(|seed| !changes(&of(*seed), 0.05).is_empty()).count();
            assert!(wrong <= most, "lag {lag}: {wrong} of 60");
            // A level that is clear beside the stretches is one.
            let found = (0..20u64).filter(|seed| {
                let mut values = of(*seed);
                values[20..].iter_mut().for_each(|value| *value += 5.0);
                changes(&values, 0.05).iter().any(|change| change.at.abs_diff(20) <= 3)
            });
            let found = found.count();
            assert!(found >= 15, "lag {lag}: {found} of 20 found");
        }
    }
}

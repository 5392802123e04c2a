//! Before an experiment: what it will be able to see, and how many repetitions something takes to be seen.

use crate::Interval;
use crate::student::{normal_above, normal_point, t_point};

/// Power lost against Student's t on normal noise, for which the rest is computed: two of a hundred by the test by labels (simulated, ten
/// blocks), some three more by the tails of real runs, which a pilot of six pairs rarely shows (taken from 3,000 rounds of five metrics).
const LESS: f64 = 0.05;
/// Above so many degrees of freedom a standard deviation is taken for known.
const KNOWN: f64 = 20_000.0;

/// The ratio of a sample's standard deviation to the true one, in steps with their weights: the chi distribution, by Simpson's rule.
fn ratios(df: f64) -> Vec<(f64, f64)> {
    // The point of few degrees of freedom is far out: the chance changes within a small part of the range.
    let steps = if df < 4.0 { 512 } else { 64 };
    let reach = 9.0 / (2.0 * df).sqrt();
    let (from, to) = ((1.0 - reach).max(0.0), 1.0 + reach);
    let weight = |step: i32| match step {
        end if end == 0 || end == steps => 1.0,
        odd if odd % 2 == 1 => 4.0,
        _ => 2.0,
    };
    let one = |step: i32| {
        let ratio = from + (to - from) * f64::from(step) / f64::from(steps);
        // In logarithms, around 1, so that nothing overflows.
        let density = (df - 1.0) * ratio.max(f64::MIN_POSITIVE).ln() - df / 2.0 * (ratio * ratio - 1.0);
        (ratio, weight(step) * density.exp())
    };
    let all: Vec<(f64, f64)> = (0..=steps).map(one).collect();
    let sum: f64 = all.iter().map(|(_, weight)| weight).sum();
    all.into_iter().map(|(ratio, weight)| (ratio, weight / sum)).collect()
}

/// The chance that Student's t finds, at this two-sided level, a difference of so many true standard errors: the tails of the
/// noncentral t distribution (Johnson, Kotz and Balakrishnan, Continuous univariate distributions, volume 2, 1995, chapter 31).
#[must_use]
pub fn power(errors: f64, df: f64, level: f64) -> f64 {
    let point = t_point(level / 2.0, df);
    if df > KNOWN {
        return normal_above(point - errors) + normal_above(point + errors);
    }
    let beyond = |ratio: f64| normal_above(point * ratio - errors) + normal_above(point * ratio + errors);
    ratios(df).into_iter().map(|(ratio, weight)| weight * beyond(ratio)).sum()
}

/// Where a rising function passes `wanted`, by halving; beyond `most` there is none.
fn passes(wanted: f64, most: f64, of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while of(high) < wanted {
        (low, high) = (high, high * 2.0);
        if high > most {
            return f64::INFINITY;
        }
    }
    while high - low > 1e-6 * high {
        let middle = f64::midpoint(low, high);
        if of(middle) < wanted { low = middle } else { high = middle }
    }
    high
}

/// The smallest difference of two settings that an interleaved experiment of so many blocks finds with this power at this level,
/// in standard deviations of the differences within a block. Infinite for fewer than two blocks.
#[must_use]
pub fn detectable(blocks: usize, level: f64, wanted: f64) -> f64 {
    if blocks < 2 {
        return f64::INFINITY;
    }
    let n = blocks as f64;
    passes(wanted, 1e9, |errors| power(errors, n - 1.0, level)) / n.sqrt()
}

/// The same in standard deviations that `pairs` pairs of a pilot showed: so large that of all pilots and the experiments after them
/// such a share finds what its pilot promised. A pilot that shows too little promises too much, and one that shows too much too
/// little; this is the factor at which both even out (the predictive distribution of Student, as in Spiegelhalter and Freedman, A
/// predictive approach to selecting the size of a clinical trial, 1986).
#[must_use]
pub fn promised(pairs: usize, blocks: usize, level: f64, wanted: f64) -> f64 {
    if blocks < 2 || pairs < 2 {
        return f64::INFINITY;
    }
    let (n, pilots) = (blocks as f64, ratios(pairs as f64 - 1.0));
    let found = |errors: f64| {
        let one = |(ratio, weight): &(f64, f64)| weight * power(errors * ratio, n - 1.0, level);
        pilots.iter().map(one).sum()
    };
    passes(wanted + LESS, 1e9, found) / n.sqrt()
}

/// Where the true standard deviation lies with this confidence, in those that so many values showed: from chi square by
/// Wilson and Hilferty, 1931, to some per cent from 3 degrees of freedom.
#[must_use]
pub fn deviations(values: usize, confidence: f64) -> Interval {
    let df = values as f64 - 1.0;
    let tail = normal_point((1.0 - confidence) / 2.0);
    let end =
        |z: f64| (1.0 - 2.0 / (9.0 * df) + z * (2.0 / (9.0 * df)).sqrt()).max(0.05).powi(3).sqrt().recip();
    Interval { low: end(tail), high: end(-tail) }
}

/// The least number of repetitions, `least` or more, with which a difference of `effect` standard deviations of one repetition is
/// found with this power, to a thousandth; `df` says how many degrees of freedom so many have. None beyond a billion.
#[must_use]
pub fn needed(effect: f64, least: usize, level: f64, wanted: f64, df: impl Fn(f64) -> f64) -> Option<usize> {
    let enough = |n: usize| {
        let n = n as f64;
        power(effect * n.sqrt(), df(n), level) >= wanted
    };
    // Near to it by the sum of both points (Bloom, Minimum detectable effects, 1995), then exactly.
    let mut near = least.max(2) as f64;
    for _ in 0..6 {
        let df = df(near).max(1.0);
        near = ((t_point(level / 2.0, df) + t_point(1.0 - wanted, df)) / effect)
            .powi(2)
            .max(least.max(2) as f64);
        if near.is_nan() || near >= 1e9 {
            return None;
        }
    }
    let (mut n, step) = (near.ceil() as usize, (near / 1000.0) as usize + 1);
    while !enough(n) {
        n += step;
    }
    while n > least.max(2) && enough((n - step).max(least.max(2))) {
        n = (n - step).max(least.max(2));
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noncentral_t() {
        // By mpmath: the integral over the chi density with 20 digits.
        for (errors, df, level, chance) in [
            (3.0, 9.0, 0.05, 0.761_156_62),
            (5.0, 4.0, 0.01, 0.653_411_535),
            (2.5, 1.0, 0.05, 0.155_757_037),
            (6.0, 9.0, 0.05 / 66.0, 0.776_911_462),
            (3.0, 99.0, 0.05, 0.843_947_103),
        ] {
            let observed = power(errors, df, level);
            assert!((observed - chance).abs() < 1e-5, "{errors} {df} {level}: {observed}");
        }
        for df in [2.0, 9.0, 1e5] {
            assert!(
                (power(0.0, df, 0.05) - 0.05).abs() < 1e-5,
                "nothing is found as often as the level says"
            );
        }
        // The normal distribution: 1.96 + .8416.
        assert!((power(2.801_585, 1e6, 0.05) - 0.8).abs() < 1e-4);
    }

    #[test]
    fn what_is_detectable_is_found_and_what_is_needed_is_enough() {
        let found = detectable(10, 0.05, 0.8) * 10f64.sqrt();
        assert!((power(found, 9.0, 0.05) - 0.8).abs() < 1e-4);
        // Bloom's formula is close to it: (2.262 + .883) standard errors.
        assert!((found - 3.145).abs() < 0.03, "{found}");
        assert_eq!(needed(found / 10f64.sqrt(), 2, 0.05, 0.8, |n| n - 1.0), Some(10));
        assert_eq!(needed(5.0, 8, 0.05, 0.8, |n| n - 1.0), Some(8));
        assert_eq!(needed(0.0, 2, 0.05, 0.8, |n| n - 1.0), None);
        assert!(needed(1e-3, 2, 0.05, 0.8, |n| n - 1.0).is_some_and(|n| (7_800_000..7_900_000).contains(&n)));
        assert_eq!(detectable(1, 0.05, 0.8), f64::INFINITY);
    }

    #[test]
    fn a_pilot_of_many_pairs_knows_and_one_of_few_adds_for_what_it_does_not() {
        let [few, many] =
            [6, 100_000].map(|pairs| promised(pairs, 10, 0.05, 0.8) / detectable(10, 0.05, 0.8));
        assert!((1.0..1.1).contains(&many) && few > 1.1 && few < 1.5, "{few} {many}");
        assert_eq!(promised(1, 10, 0.05, 0.8), f64::INFINITY);
        // Chi square tables: the twentieths at 9 degrees of freedom are 3.325 and 16.919, at 4 .711 and 9.488.
        let near = |observed: f64, square: f64, df: f64| (observed / (df / square).sqrt() - 1.0).abs() < 0.03;
        let (ten, five) = (deviations(10, 0.9), deviations(5, 0.9));
        assert!(near(ten.high, 3.325, 9.0) && near(ten.low, 16.919, 9.0), "{ten:?}");
        assert!(near(five.high, 0.711, 4.0) && near(five.low, 9.488, 4.0), "{five:?}");
    }
}

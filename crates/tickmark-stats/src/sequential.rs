//! Group-sequential tests: how sure each of several planned looks must be, so that all of them together are as sure as one.
//!
//! Each look has the same level (Pocock, Group sequential methods in the design and analysis of clinical trials, 1977). The chance that any
//! of them claims something where there is nothing is found as Armitage, McPherson and Rowe (Repeated significance tests on accumulating
//! data, 1969) do: the sum so far is a Brownian motion, whose density is carried from look to look over those values at which nothing
//! was claimed.

use crate::student::{normal_above, normal_point};

/// Points at which a density is kept: Simpson's rule over them is right to four digits of the level.
const POINTS: usize = 97;
/// Halvings of the interval in which the level is sought.
const HALVINGS: usize = 30;

/// The planned looks of an experiment: after so many blocks at first, each time by half more, and at the last block.
#[must_use]
pub fn looks(first: usize, last: usize) -> Vec<usize> {
    let mut looks = vec![first.max(1)];
    while let Some(&now) = looks.last().filter(|now| **now < last) {
        // Shortly before the end there is no look of its own.
        let next = now + (now / 2).max(1);
        looks.push(if next + next / 8 >= last { last } else { next });
    }
    looks
}

/// The part of a level that each of these looks has, in numbers of blocks that rise: a claim at any of them is as likely as one at this level
/// where there is nothing.
#[must_use]
pub fn share(looks: &[usize], level: f64) -> f64 {
    let (mut low, mut high) = (level / looks.len().max(1) as f64, level);
    let is_rising =
        looks.windows(2).all(|pair| pair[0] < pair[1]) && looks.first().is_none_or(|first| *first > 0);
    if looks.len() < 2 || !is_rising {
        return 1.0;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if any(looks, normal_point(middle / 2.0)) > level { high = middle } else { low = middle }
    }
    low / level
}

/// The chance that a Brownian motion is farther than `bound` standard deviations from 0 at one of these times.
fn any(looks: &[usize], bound: f64) -> f64 {
    let time = |at: usize| looks[at] as f64 / looks[0] as f64;
    let mut crossed = 2.0 * normal_above(bound);
    // Where nothing was claimed, symmetric: values from 0 to the bound, with their weights and the density there.
    let mut kept: Vec<(f64, f64)> = grid(bound).map(|(x, weight)| (x, weight * normal_density(x))).collect();
    for at in 1..looks.len() {
        let (edge, step) = (bound * time(at).sqrt(), (time(at) - time(at - 1)).sqrt());
        let beyond = |x: f64| normal_above((edge - x) / step) + normal_above((edge + x) / step);
        crossed += 2.0 * kept.iter().map(|(x, mass)| mass * beyond(*x)).sum::<f64>();
        let density = |y: f64| {
            let from = |(x, mass): &(f64, f64)| {
                mass * (normal_density((y - x) / step) + normal_density((y + x) / step)) / step
            };
            kept.iter().map(from).sum::<f64>()
        };
        kept = grid(edge).map(|(y, weight)| (y, weight * density(y))).collect();
    }
    crossed
}

/// Points from 0 to an edge with the weights of Simpson's rule.
fn grid(edge: f64) -> impl Iterator<Item = (f64, f64)> {
    let width = edge / (POINTS - 1) as f64;
    (0..POINTS).map(move |at| {
        let weight = match at {
            0 => 1.0,
            _ if at == POINTS - 1 => 1.0,
            _ if at % 2 == 1 => 4.0,
            _ => 2.0,
        };
        (at as f64 * width, weight * width / 3.0)
    })
}

fn normal_density(x: f64) -> f64 {
    (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::{Family, LEVEL, Looks, Rule, Sides, compare};
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    // Jennison and Turnbull, Group sequential methods with applications to clinical trials, 2000, table 2.1: the bounds of Pocock's test.
    #[test]
    fn bounds_are_those_of_the_published_table() {
        for (count, bound) in [(1, 1.960), (2, 2.178), (3, 2.289), (5, 2.413), (10, 2.555), (20, 2.672)] {
            let looks: Vec<usize> = (1..=count).collect();
            let own = normal_point(share(&looks, LEVEL) * LEVEL / 2.0);
            assert!((own - bound).abs() < 1e-3, "{count}: {own}");
        }
    }

    #[test]
    fn looks_grow_by_half_and_end_at_the_last_block() {
        assert_eq!(looks(8, 64), [8, 12, 18, 27, 40, 64]);
        assert_eq!((looks(8, 8), looks(8, 3)), (vec![8], vec![8]));
        assert_eq!(looks(8, 10), [8, 10]);
        assert_eq!(looks(1, 4), [1, 2, 3, 4]);
    }

    /// Experiments that end at the first look that decides: how many claim a difference, of so many.
    fn claims(all: u32, shift: f64, pick: &dyn Fn(&mut StdRng) -> f64) -> u32 {
        let planned = looks(8, 32);
        let share = share(&planned, LEVEL);
        let mut random = StdRng::seed_from_u64(41);
        let one = |random: &mut StdRng| {
            let a: Vec<f64> = (0..32).map(|_| 100.0 + pick(random)).collect();
            let b: Vec<f64> = (0..32).map(|_| 100.0 + shift + pick(random)).collect();
            planned.iter().enumerate().any(|(number, blocks)| {
                let looks = Looks::Planned { before: &planned[..number], share };
                let figures = vec![Sides::paired(&a[..*blocks], &b[..*blocks])];
                let judged = compare(&[Family { looks, ..Family::once(figures) }], Rule::default());
                judged[0][0].is_some_and(|c| c.verdict.is_change())
            })
        };
        (0..all).filter(|_| one(&mut random)).count() as u32
    }

    #[test]
    fn an_experiment_that_ends_when_it_is_decided_is_wrong_as_often_as_one_look() {
        let normal = |random: &mut StdRng| normal_point(random.random_range(1e-9..1.0 - 1e-9));
        let heavy = |random: &mut StdRng| normal(random).exp();
        // 5 % of 200 are 10, with a standard deviation of 3.
        for (name, wrong) in [("normal", claims(200, 0.0, &normal)), ("lognormal", claims(200, 0.0, &heavy))]
        {
            assert!((1..=19).contains(&wrong), "{name}: {wrong} of 200");
        }
        let found = claims(50, 1.5, &normal);
        assert!(found >= 45, "of a shift by one and a half deviations {found} of 50 are found");
    }
}

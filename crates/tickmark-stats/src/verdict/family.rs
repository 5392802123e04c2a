//! Correction for the number of figures on a page.

use super::sides::Sides;
use super::{Correction, Looks, Rule};
use crate::earlier::among;
use crate::multiple::{benjamini_hochberg, holm};
use crate::permutation::{Chance, Groups, Labels, Pairs, deviate, judge};
use std::collections::BTreeMap;

/// The least chance that labels can give, with its correction, is at most this part of the level: else Student's t finds more of
/// what there is (eight blocks, five values a side).
const REACH: f64 = 0.25;
/// More values a side are not relabelled: their means are normal.
pub(super) const MANY: usize = 2_000;

/// How the chance of a difference was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// By all labels that chance might have given.
    Labels(Labels),
    /// Student's t of the blocks' differences, Welch's of two sides: it takes their means for normal.
    Means,
    /// Student's t by the deviation of earlier replicates.
    Earlier,
}

/// The chances of a figure, and how they were found.
#[derive(Debug, Clone, Copy)]
pub(super) struct FigureChance {
    pub(super) test: Test,
    /// Of the last look; corrected over all looks.
    pub(super) chance: Chance,
    /// Of this figure alone, over all looks.
    over: f64,
    /// The chance of as large a difference between two earlier replicates in any figure; 0 where those do not judge.
    pub(super) between_earlier: f64,
}

/// Figures that are judged at once. A claim is wrong anywhere in all families with at most the rule's level.
#[derive(Debug, Clone, Default)]
pub struct Family<'a> {
    /// The figures.
    pub figures: Vec<Sides<'a>>,
    /// When they are looked at.
    pub looks: Looks<'a>,
    /// Of figures that are judged by earlier replicates: how far any two of those are from each other ([`crate::earlier::greatest`]).
    pub earlier: Vec<f64>,
}

impl<'a> Family<'a> {
    /// Figures that are looked at once.
    #[must_use]
    pub fn once(figures: Vec<Sides<'a>>) -> Self {
        Self { figures, ..Self::default() }
    }

    /// The same with the one rule for values that do not vary ([`Sides::are_constant`]).
    pub(super) fn exact_where_constant(&self) -> Self {
        let figures = self.figures.iter().map(|sides| sides.exact_where_constant()).collect();
        Self { figures, looks: self.looks, earlier: self.earlier.clone() }
    }

    /// The chances of each figure over all looks at it: each look has its own part of the level (Bonferroni), so that the
    /// chance of what was claimed once stays. `all` figures are on the page.
    fn found(&self, level: f64, all: usize) -> Vec<Option<FigureChance>> {
        let part = self.looks.part();
        let mut found = self.at_once(&self.figures, level * part, all);
        over(&mut found, part);
        for (number, blocks) in self.looks.before().iter().enumerate() {
            let part = self.looks.part_at(number);
            let first: Vec<Sides<'a>> = self.figures.iter().map(|sides| sides.first(*blocks)).collect();
            let mut before = self.at_once(&first, level * part, all);
            over(&mut before, part);
            for (now, before) in found.iter_mut().zip(before) {
                if let (Some(now), Some(before)) = (now, before) {
                    now.chance.adjusted = now.chance.adjusted.min(before.chance.adjusted);
                    now.over = now.over.min(before.over);
                }
            }
        }
        found
    }

    /// The chances of figures that are looked at once, corrected for each other.
    fn at_once(&self, figures: &[Sides<'_>], level: f64, all: usize) -> Vec<Option<FigureChance>> {
        let mut by_kind: BTreeMap<Kind, Vec<usize>> = BTreeMap::new();
        for (at, kind) in kinds(figures, level, all).into_iter().enumerate() {
            by_kind.entry(kind).or_default().push(at);
        }
        let mut found: Vec<Option<FigureChance>> = vec![None; figures.len()];
        let mut own: Vec<Vec<(usize, FigureChance)>> = by_kind
            .into_iter()
            .map(|(kind, at)| {
                let figures: Vec<(usize, &Sides<'_>)> = at.into_iter().map(|at| (at, &figures[at])).collect();
                match kind {
                    Kind::Blocks => by_blocks(&figures),
                    Kind::Groups(first, second) => by_groups(&figures, Labels::Groups(first, second)),
                    Kind::Means => by_means(&figures, &self.earlier),
                }
            })
            .collect();
        together(
            own.iter_mut().map(|own| own.iter_mut().map(|(_, found)| &mut found.chance).collect()).collect(),
        );
        for (at, one) in own.into_iter().flatten() {
            found[at] = Some(one);
        }
        found
    }
}

/// Chances that have only a part of the level.
fn over(found: &mut [Option<FigureChance>], part: f64) {
    for found in found.iter_mut().flatten() {
        found.chance.adjusted = (found.chance.adjusted / part).min(1.0);
        found.over = (found.over / part).min(1.0);
    }
}

/// The chances of each figure of each family; none where nothing varies that could be judged.
pub(super) fn chances(families: &[Family<'_>], rule: Rule) -> Vec<Vec<Option<FigureChance>>> {
    let all = families.iter().map(|family| family.figures.len()).sum();
    let mut found: Vec<Vec<Option<FigureChance>>> =
        families.iter().map(|family| family.found(rule.level, all)).collect();
    match rule.correction {
        Correction::FamilyWise => {
            let own =
                found.iter_mut().map(|own| own.iter_mut().flatten().map(|found| &mut found.chance).collect());
            together(own.collect());
        }
        Correction::Discovery => {
            let p: Vec<f64> = found.iter().flatten().flatten().map(|found| found.over).collect();
            let adjusted = benjamini_hochberg(&p);
            for (found, adjusted) in found.iter_mut().flatten().flatten().zip(adjusted) {
                found.chance.adjusted = adjusted;
            }
        }
    }
    found
}

/// The test of a figure; figures of one kind are judged together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Blocks,
    Groups(usize, usize),
    Means,
}

/// The labels that a figure has for itself.
fn labels(sides: &Sides<'_>) -> Option<Labels> {
    match sides {
        Sides::Paired { values: [a, _], .. } if (2..=MANY).contains(&a.len()) => {
            Some(Labels::Blocks(a.len()))
        }
        Sides::Apart { values: [a, b], .. } if a.len().max(b.len()) <= MANY => {
            Some(Labels::Groups(a.len(), b.len()))
        }
        _ => None,
    }
}

/// Selects the test of each figure: by labels where they can reach the level as one of so many, which depends on numbers alone (and on
/// whether anything varies).
fn kinds(figures: &[Sides<'_>], level: f64, all: usize) -> Vec<Kind> {
    let kind = |labels: Option<Labels>| match labels {
        Some(Labels::Blocks(_)) => Kind::Blocks,
        Some(Labels::Groups(a, b)) => Kind::Groups(a, b),
        None => Kind::Means,
    };
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    figures.iter().for_each(|sides| *counts.entry(kind(labels(sides))).or_default() += 1);
    let one = |sides: &Sides<'_>| {
        // Where nothing varies there is nothing but labels.
        let part = if sides.difference(1.0).is_none() { 1.0 } else { REACH };
        let reaches = |labels: &Labels| {
            let own = counts[&kind(Some(*labels))];
            labels.least(own) * all as f64 / own as f64 <= level * part
        };
        kind(labels(sides).filter(reaches))
    };
    figures.iter().map(one).collect()
}

/// Sign flips of the blocks, all figures together.
fn by_blocks(figures: &[(usize, &Sides<'_>)]) -> Vec<(usize, FigureChance)> {
    let ends = figures.iter().filter_map(|(_, sides)| sides.blocks());
    let Some((first, last)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return Vec::new() };
    let pairs = |(at, sides): &(usize, &Sides<'_>)| Some((*at, pairs(sides, first, last)?));
    let (at, own): (Vec<usize>, Vec<Pairs>) = figures.iter().filter_map(pairs).unzip();
    relabelled(at, judge(&own, Labels::Blocks(last - first + 1)), Labels::Blocks(last - first + 1))
}

/// The differences from the first block to the last.
fn pairs(sides: &Sides<'_>, first: usize, last: usize) -> Option<Pairs> {
    let Sides::Paired { values: [a, b], blocks, step } = sides else { return None };
    let mut differences = vec![None; last - first + 1];
    for (at, (a, b)) in a.iter().zip(*b).enumerate() {
        differences[blocks.map_or(at, |blocks| blocks[at]) - first] = Some(b - a);
    }
    Pairs::new(&differences, *step)
}

/// Permutations of the values of two sides, all figures together.
fn by_groups(figures: &[(usize, &Sides<'_>)], labels: Labels) -> Vec<(usize, FigureChance)> {
    let made = |(at, sides): &(usize, &Sides<'_>)| match sides {
        Sides::Apart { values: [a, b], step, .. } => Some((*at, Groups::new(a, b, *step)?)),
        _ => None,
    };
    let (at, own): (Vec<usize>, Vec<Groups>) = figures.iter().filter_map(made).unzip();
    relabelled(at, judge(&own, labels), labels)
}

fn relabelled(at: Vec<usize>, chances: Vec<Chance>, labels: Labels) -> Vec<(usize, FigureChance)> {
    let found = |chance: Chance| FigureChance {
        test: Test::Labels(labels),
        chance,
        over: chance.p,
        between_earlier: 0.0,
    };
    at.into_iter().zip(chances).map(|(at, chance)| (at, found(chance))).collect()
}

/// Student's t of each, by Holm; by earlier replicates no surer than these were ever as far from each other, in any figure.
fn by_means(figures: &[(usize, &Sides<'_>)], earlier: &[f64]) -> Vec<(usize, FigureChance)> {
    let of = |(at, sides): &(usize, &Sides<'_>)| {
        let difference = sides.difference(1.0)?;
        let p = difference.p();
        let test = if matches!(sides, Sides::Known { .. }) { Test::Earlier } else { Test::Means };
        let least = match test {
            Test::Earlier if !earlier.is_empty() => {
                among(earlier, deviate(difference.t().powi(2), difference.df))
            }
            _ => 0.0,
        };
        // What cannot be computed is no chance, and claims nothing.
        Some((*at, test, if p.is_nan() { 1.0 } else { p }, least))
    };
    let all: Vec<(usize, Test, f64, f64)> = figures.iter().filter_map(of).collect();
    let adjusted = holm(&all.iter().map(|(_, _, p, _)| *p).collect::<Vec<_>>());
    let found = |(at, test, p, least): (usize, Test, f64, f64), adjusted: f64| {
        let chance = Chance { p, adjusted: adjusted.max(least) };
        (at, FigureChance { test, chance, over: p.max(least), between_earlier: least })
    };
    all.into_iter().zip(adjusted).map(|(one, adjusted)| found(one, adjusted)).collect()
}

/// Corrects groups of figures for each other: each has the part of the level that its figures are of all, and leaves it to the
/// others where all of its figures are claimed (Holm's procedure with weights).
fn together(mut groups: Vec<Vec<&mut Chance>>) {
    let of = |group: &Vec<&mut Chance>| group.len() as f64;
    let worst = |group: &Vec<&mut Chance>| group.iter().map(|chance| chance.adjusted).fold(0.0, f64::max);
    groups.retain(|group| !group.is_empty());
    let all: f64 = groups.iter().map(of).sum();
    groups.sort_by(|a, b| (worst(a) / of(a)).total_cmp(&(worst(b) / of(b))));
    let (mut left, mut before) = (all, 0.0f64);
    for group in &mut groups {
        let own = of(group);
        for chance in group.iter_mut() {
            let released = (chance.adjusted * left / own).max(before);
            chance.adjusted = released.min(chance.adjusted * all / own).min(1.0);
        }
        left -= own;
        before = before.max(worst(group));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corrected(groups: [&[f64]; 2]) -> [Vec<f64>; 2] {
        let mut chances =
            groups.map(|own| own.iter().map(|p| Chance { p: *p, adjusted: *p }).collect::<Vec<_>>());
        together(chances.iter_mut().map(|own| own.iter_mut().collect()).collect());
        chances.map(|own| own.iter().map(|chance| (chance.adjusted * 1e6).round() / 1e6).collect())
    }

    #[test]
    fn groups_leave_their_part_of_the_level_by_hand() {
        // Two thirds of the level are the first's; once both of it are claimed, at 3 %, the second has all of it, and not before.
        assert_eq!(corrected([&[0.01, 0.02], &[0.01]]), [vec![0.015, 0.03], vec![0.03]]);
        // What is never claimed leaves nothing; the first of its group still has two thirds, or all after the other at 3 %.
        assert_eq!(corrected([&[0.01, 0.5], &[0.01]]), [vec![0.015, 0.5], vec![0.03]]);
        assert_eq!(corrected([&[0.04, 0.5], &[0.01]]), [vec![0.04, 0.5], vec![0.03]]);
        assert_eq!(corrected([&[], &[0.04]]), [vec![], vec![0.04]]);
    }
}

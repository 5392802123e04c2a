//! Features of a curve of costs over sizes: the levels of a memory, a capacity, the size where a cost first rises.

use crate::quantile::median;

/// A stretch of sizes over which the cost hardly grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// The cost: the median over the stretch.
    pub cost: f64,
    /// Index of its first point.
    pub first: usize,
    /// Index of its last point.
    pub last: usize,
    /// Index of the largest size that is nearer to this level's cost than to the next one's.
    pub reach: usize,
}

/// A cost that grows by less than this part over an octave of sizes is flat.
const FLAT: f64 = 0.25;
/// Two stretches whose costs differ by less than this part are one.
const ALIKE: f64 = 0.35;

/// The flat stretches of a curve of ascending sizes and their costs, cheapest first: the levels of a memory.
/// Between two levels lie the sizes that only partly fit the nearer one. Stretches of alike cost are joined; one
/// point alone is no stretch, but the last sizes, which are beyond every cache, are a level also where the
/// cost still grows.
#[must_use]
pub fn levels(points: &[(f64, f64)]) -> Vec<Level> {
    let Some(end) = points.len().checked_sub(1) else { return Vec::new() };
    let flat = |i: usize| {
        let ((from, low), (to, high)) = (points[i], points[i + 1]);
        high / low - 1.0 < FLAT * (to / from).log2()
    };
    let cost = |first: usize, last: usize| {
        median(points[first..=last].iter().map(|(_, cost)| *cost)).unwrap_or(f64::NAN)
    };
    let mut levels: Vec<Level> = Vec::new();
    let mut first = 0;
    for i in 0..=end {
        if i < end && flat(i) {
            continue;
        }
        if i > first || i == end {
            let level = Level { cost: cost(first, i), first, last: i, reach: end };
            match levels.last_mut() {
                Some(last) if level.cost / last.cost - 1.0 < ALIKE => {
                    *last = Level { cost: cost(last.first, i), last: i, ..*last };
                }
                _ => levels.push(level),
            }
        }
        first = i + 1;
    }
    for number in 1..levels.len() {
        let (near, far) = (levels[number - 1], levels[number]);
        let middle = (near.cost * far.cost).sqrt();
        let within = (near.last..far.first).take_while(|i| points[*i].1 <= middle);
        levels[number - 1].reach = within.last().unwrap_or(near.last);
    }
    levels
}

/// The largest size before the cost has risen by `rise` over the first one; none where it never does.
#[must_use]
pub fn capacity(points: &[(f64, f64)], rise: f64) -> Option<f64> {
    let (_, base) = points.first()?;
    let risen = points.iter().position(|(_, cost)| *cost > base + rise)?;
    Some(points[risen.checked_sub(1)?].0)
}

/// The smallest size at which the cost lies above the middle between its least and its greatest; none where
/// these are closer than a fifth.
#[must_use]
pub fn step(points: &[(f64, f64)]) -> Option<f64> {
    let costs = || points.iter().map(|(_, cost)| *cost);
    let (least, most) = (costs().min_by(f64::total_cmp)?, costs().max_by(f64::total_cmp)?);
    let risen = points.iter().find(|(_, cost)| *cost > f64::midpoint(least, most))?;
    (most > 1.2 * least).then_some(risen.0)
}

/// The cost of the first point over the least.
#[must_use]
pub fn speedup(points: &[(f64, f64)]) -> Option<f64> {
    let least = points.iter().map(|(_, cost)| *cost).min_by(f64::total_cmp)?;
    Some(points.first()?.1 / least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u32, f64)]) -> Vec<(f64, f64)> {
        points.iter().map(|(size, cost)| (f64::from(*size), *cost)).collect()
    }

    #[test]
    fn three_caches_and_memory() {
        // KB; the sizes between the levels are partly in each.
        let points = curve(&[
            (8, 1.1),
            (16, 1.1),
            (32, 1.1),
            (48, 2.3),
            (64, 3.0),
            (128, 3.3),
            (256, 3.4),
            (512, 3.5),
            (1024, 4.8),
            (2048, 9.0),
            (4096, 12.0),
            (8192, 13.0),
            (16384, 14.5),
            (32768, 40.0),
            (65536, 110.0),
            (131_072, 115.0),
        ]);
        let found: Vec<(f64, f64)> =
            levels(&points).iter().map(|level| (level.cost, points[level.reach].0)).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], (1.1, 32.0));
        assert!(found[1].1 == 1024.0 && (3.0..3.6).contains(&found[1].0), "{found:?}");
        assert!(found[2].1 == 16384.0 && (12.0..15.0).contains(&found[2].0), "{found:?}");
        assert!((110.0..116.0).contains(&found[3].0));
    }

    #[test]
    fn no_cache_is_one_level_and_a_rising_end_is_memory() {
        assert_eq!(levels(&curve(&[(1, 50.0), (2, 50.0), (4, 51.0)])).len(), 1);
        let rising = levels(&curve(&[(1, 1.0), (2, 1.0), (4, 10.0), (8, 20.0)]));
        assert_eq!(rising.iter().map(|level| level.cost).collect::<Vec<_>>(), [1.0, 20.0]);
        assert!(levels(&[]).is_empty());
    }

    #[test]
    fn capacity_step_and_speedup() {
        let tlb = curve(&[(32, 0.0), (48, 0.1), (64, 0.1), (72, 0.9), (96, 2.0)]);
        assert_eq!(capacity(&tlb, 0.5), Some(64.0));
        assert_eq!(capacity(&tlb, 5.0), None);
        assert_eq!(step(&curve(&[(16, 4.0), (32, 4.1), (64, 6.4), (128, 6.5)])), Some(64.0));
        assert_eq!(step(&curve(&[(16, 4.0), (32, 4.1)])), None);
        assert_eq!(speedup(&curve(&[(1, 100.0), (2, 51.0), (4, 25.0), (8, 30.0)])), Some(4.0));
    }
}

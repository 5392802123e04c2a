//! The time of a message by its length: t(n) = t0 + n / r_inf (Hockney; GENESIS, PARKBENCH), in as many straight pieces as the data ask for.

use crate::estimate::Interval;
use crate::student::t_point;

/// A piece of fewer sizes is none.
const FEWEST: usize = 5;
/// Pieces at most.
const MOST: usize = 3;
/// Relative residuals below this are no news: what a repetition moves a median by.
const NOISE: f64 = 0.003;
/// Free parameters of a piece: its two, and where it ends.
const FREE: f64 = 3.0;
/// A piece whose worst residual is above this does not hold: its rate is not told.
pub const HOLDS: f64 = 0.1;

/// A stretch of sizes over which the time is a straight line: weighted least squares with weights 1/t^2, so that residuals are shares of the
/// time.
#[derive(Debug, Clone, PartialEq)]
pub struct LineSegment {
    /// Index of its first size and of its last.
    pub sizes: (usize, usize),
    /// The time of an empty message, ns; of pieces but the first it is the line's value at 0 and no message's.
    pub start: f64,
    /// Nanoseconds a byte.
    pub per_byte: f64,
    /// Their intervals at 95 %: none where a bound was met.
    pub start_interval: Option<Interval>,
    /// The same of the other.
    pub per_byte_interval: Option<Interval>,
    /// The median and the largest of the residuals, as shares of the time.
    pub residuals: (f64, f64),
}

impl LineSegment {
    /// The time that it gives a message.
    #[must_use]
    pub fn at(&self, size: f64) -> f64 {
        self.start + self.per_byte * size
    }

    /// The rate that its line goes to, bytes a second: none where it does not hold, or does not rise beyond doubt.
    #[must_use]
    pub fn rate(&self) -> Option<Interval> {
        let interval = self.per_byte_interval.filter(|i| i.low > 0.0 && self.residuals.1 <= HOLDS)?;
        Some(Interval { low: 1e9 / interval.high, high: 1e9 / interval.low })
    }

    /// The length at which half of that rate is reached: the time of an empty message in bytes.
    #[must_use]
    pub fn half_length(&self) -> Option<f64> {
        self.rate().map(|_| self.start / self.per_byte)
    }
}

/// The fit of sizes (ascending) and times. None of fewer than five, or of times that are none. The number of pieces is that with the least
/// Bayesian information criterion (Schwarz, 1978).
#[must_use]
pub fn pieces(points: &[(f64, f64)]) -> Option<Vec<LineSegment>> {
    let sound =
        |(size, time): &(f64, f64)| size.is_finite() && *size >= 0.0 && time.is_finite() && *time > 0.0;
    let ascending = points.windows(2).all(|two| two[0].0 < two[1].0);
    if points.len() < FEWEST || !ascending || !points.iter().all(sound) {
        return None;
    }
    let count = points.len();
    let mut best: Option<(f64, Vec<usize>)> = None;
    for wanted in 1..=MOST.min(count / FEWEST) {
        let Some((sum, ends)) = cut(points, wanted) else { continue };
        let criterion = count as f64 * (sum / count as f64 + NOISE * NOISE).ln()
            + FREE * wanted as f64 * (count as f64).ln();
        if best.as_ref().is_none_or(|(least, _)| criterion < *least) {
            best = Some((criterion, ends));
        }
    }
    let (_, ends) = best?;
    let mut first = 0;
    let piece = |end: usize| {
        let piece = line(points, first, end, first == 0).map(|line| line.piece(points, first, end));
        first = end + 1;
        piece
    };
    ends.into_iter().map(piece).collect()
}

/// One straight line through all points, which may begin anywhere. None of fewer than three.
#[must_use]
pub fn straight(points: &[(f64, f64)]) -> Option<LineSegment> {
    let last = points.len().checked_sub(1).filter(|last| *last >= 2)?;
    line(points, 0, last, false).map(|line| line.piece(points, 0, last))
}

/// The least sum of squares in so many pieces, and the last size of each.
fn cut(points: &[(f64, f64)], wanted: usize) -> Option<(f64, Vec<usize>)> {
    let count = points.len();
    let cost = |first: usize, last: usize| {
        (last + 1 - first >= FEWEST).then(|| line(points, first, last, first == 0)).flatten()
    };
    // By how many pieces and up to which size.
    let mut table: Vec<Vec<Option<(f64, usize)>>> = Vec::with_capacity(wanted);
    table.push((0..count).map(|last| cost(0, last).map(|line| (line.sum, 0))).collect());
    while table.len() < wanted {
        let fewer = &table[table.len() - 1];
        let best = |last: usize| {
            let with = |first: usize| {
                let (sum, _) = fewer[first.checked_sub(1)?]?;
                Some((sum + cost(first, last)?.sum, first))
            };
            (1..=last).filter_map(with).min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let next = (0..count).map(best).collect();
        table.push(next);
    }
    let (sum, _) = table[wanted - 1][count - 1]?;
    let (mut ends, mut last) = (Vec::new(), count - 1);
    for pieces in (0..wanted).rev() {
        ends.push(last);
        last = table[pieces][last]?.1.saturating_sub(1);
    }
    ends.reverse();
    Some((sum, ends))
}

/// A line with its weighted sum of squares and what its intervals need.
struct Line {
    start: f64,
    per_byte: f64,
    sum: f64,
    /// Variances of the two for a residual variance of one; none where a bound was met.
    variances: [Option<f64>; 2],
}

/// Where it may not begin at a negative time and would, it goes through 0.
fn line(points: &[(f64, f64)], first: usize, last: usize, not_below: bool) -> Option<Line> {
    let [mut w, mut x, mut y, mut xx, mut xy] = [0.0; 5];
    for (size, time) in &points[first..=last] {
        let weight = 1.0 / (time * time);
        w += weight;
        x += weight * size;
        y += weight * time;
        xx += weight * size * size;
        xy += weight * size * time;
    }
    let determinant = w * xx - x * x;
    if determinant <= 0.0 {
        return None;
    }
    let (mut start, mut per_byte) = ((y * xx - x * xy) / determinant, (w * xy - x * y) / determinant);
    let mut variances = [Some(xx / determinant), Some(w / determinant)];
    if not_below && start < 0.0 {
        (start, per_byte) = (0.0, xy / xx);
        variances = [None, Some(1.0 / xx)];
    }
    let residual = |(size, time): &(f64, f64)| ((start + per_byte * size - time) / time).powi(2);
    let sum = points[first..=last].iter().map(residual).sum();
    Some(Line { start, per_byte, sum, variances })
}

impl Line {
    fn piece(&self, points: &[(f64, f64)], first: usize, last: usize) -> LineSegment {
        let (start, per_byte) = (self.start, self.per_byte);
        let residual = |(size, time): &(f64, f64)| ((start + per_byte * size - time) / time).abs();
        let mut residuals: Vec<f64> = points[first..=last].iter().map(residual).collect();
        residuals.sort_unstable_by(f64::total_cmp);
        let free = (last - first).saturating_sub(1).max(1) as f64;
        let (variance, point) = (self.sum / free, t_point(0.025, free));
        let interval = |value: f64, own: Option<f64>| {
            let half = point * (own? * variance).sqrt();
            Some(Interval { low: value - half, high: value + half })
        };
        LineSegment {
            sizes: (first, last),
            start,
            per_byte,
            start_interval: interval(start, self.variances[0]),
            per_byte_interval: interval(per_byte, self.variances[1]),
            residuals: (residuals[residuals.len() / 2], residuals.last().copied().unwrap_or(0.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn sizes() -> Vec<f64> {
        (0..=20)
            .flat_map(|power| [1.0, 1.25, 1.5, 1.75].map(|part| (f64::from(1u32 << power) * part).floor()))
            .fold(Vec::new(), |mut all, size| {
                if all.last().is_none_or(|last| *last < size) {
                    all.push(size);
                }
                all
            })
    }

    fn noisy(of: impl Fn(f64) -> f64, share: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut around = || 1.0 + share * (random.random::<f64>() + random.random::<f64>() - 1.0);
        sizes().into_iter().map(|size| (size, of(size) * around())).collect()
    }

    #[test]
    fn one_line_is_one_piece_and_its_intervals_hold_the_truth() {
        let (mut pieces_of_one, mut held) = (0, [0, 0]);
        for seed in 0..100 {
            let points = noisy(|size| 19_000.0 + size / 10.0, 0.03, seed);
            let found = pieces(&points).unwrap();
            pieces_of_one += usize::from(found.len() == 1);
            let one = line(&points, 0, points.len() - 1, true).unwrap().piece(&points, 0, points.len() - 1);
            let within = |interval: Option<Interval>, value: f64| {
                let interval = interval.unwrap();
                usize::from((interval.low..=interval.high).contains(&value))
            };
            held[0] += within(one.start_interval, 19_000.0);
            held[1] += within(one.per_byte_interval, 0.1);
        }
        assert!(pieces_of_one >= 95, "{pieces_of_one}");
        assert!(held.iter().all(|held| *held >= 88), "{held:?}");
        let one = &pieces(&noisy(|size| 19_000.0 + size / 10.0, 0.0, 1)).unwrap()[0];
        let rate = one.rate().unwrap();
        assert!(
            (rate.low / 1e10 - 1.0).abs() < 1e-6
                && (one.half_length().unwrap() / 190_000.0 - 1.0).abs() < 1e-6
        );
    }

    #[test]
    fn a_break_is_found_where_it_is() {
        let broken =
            |size: f64| if size < 200_000.0 { 19_000.0 + size / 10.0 } else { 19_000.0 + size / 3.0 };
        let points = noisy(broken, 0.02, 3);
        let found = pieces(&points).unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        let (last, next) = (points[found[0].sizes.1].0, points[found[1].sizes.0].0);
        assert!(last < 200_000.0 && next >= 196_608.0, "{last} {next}");
        let rate = found[1].rate().unwrap();
        assert!(rate.low < 3e9 && 3e9 < rate.high, "{rate:?}");
    }

    #[test]
    fn no_time_is_negative_and_what_does_not_hold_has_no_rate() {
        // Times that bend upwards would begin below zero.
        let found = pieces(&noisy(|size| 10.0 + size.powf(1.3), 0.01, 5)).unwrap();
        assert!(found[0].start >= 0.0, "{found:?}");
        let wild = noisy(|size| 20_000.0 + size / 5.0, 0.8, 7);
        assert!(pieces(&wild).unwrap().iter().all(|piece| piece.rate().is_none()));
        assert!(pieces(&wild[..4]).is_none() && pieces(&[]).is_none());
        let mut negative = wild;
        negative[3].1 = -1.0;
        assert!(pieces(&negative).is_none());
    }
}

//! A comb of slots, one period apart, laid over the gaps.

use super::{FEWEST, FULL, Gaps};
use crate::quantile::Sorted;

/// Gaps of a train begin within this of each other, in ns, but for the late ones.
const WINDOW: f64 = 20_000.0;
/// A gap this far from its slot still fills it: a late tick is a tick all the same.
const LATE: f64 = 25_000.0;
/// A gap hides what comes in it, and so much before it: the jitter of its own beginning.
const JITTER: f64 = 5_000.0;
/// Another task's turn that a tick ends is over so long after it, in ns: the tick's own cost and a context switch; a tenth of
/// the period at most.
const END: f64 = 100_000.0;
/// Slots of which fewer say nothing.
const FEW: usize = 4;
/// The stretch through which a comb is laid first, in ns; the line is fitted through all of it.
const STRETCH: f64 = 1.2e9;
/// Into how many parts a period is divided to look for a faster train: others are products of these.
const PARTS: [i64; 30] = [
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
    107, 109, 113,
];
/// Windows this near, in ns, are of one train: as its period is tried, the beginning of its window moves.
const NEAR: f64 = 3.0 * WINDOW;
/// Trains of one period that are tried.
const PHASES: usize = 4;
/// A line whose halves have another slope on average, as a share: beyond what the begin of a tick varies by in a second, below what matters.
const CROOKED: f64 = 5e-6;
/// How far a period of `lags` may be off, as a share.
const OFF: f64 = 4e-5;

/// Gaps in columns, with what is known of each.
pub(super) struct Marked {
    pub(super) span: f64,
    pub(super) start: Vec<f64>,
    pub(super) length: Vec<f64>,
    pub(super) preempted: Vec<bool>,
    /// Whether a train has taken it.
    pub(super) taken: Vec<bool>,
    unseen: Vec<(f64, f64)>,
}

impl Marked {
    pub(super) fn from_gaps(gaps: &Gaps<'_>) -> Self {
        let none = vec![false; gaps.start.len()];
        let mut preempted = none.clone();
        for gap in gaps.preempted {
            if let Some(gap) = preempted.get_mut(*gap as usize) {
                *gap = true;
            }
        }
        let (start, length) = (gaps.start.to_vec(), gaps.length.to_vec());
        Self { span: gaps.span, start, length, preempted, taken: none, unseen: gaps.unseen.to_vec() }
    }

    /// When the gaps began that no train has taken, up to `reach`.
    fn left(&self, reach: f64) -> Vec<f64> {
        let early = self.start.partition_point(|start| *start < reach);
        let free = self.start[..early].iter().zip(&self.taken).filter(|(_, taken)| !**taken);
        free.map(|(start, _)| *start).collect()
    }
}

/// A train's slots among the gaps.
pub(super) struct Comb {
    period: f64,
    phase: f64,
    /// The share of the slots that is filled, of those in which the loop had the CPU, less what chance fills.
    pub(super) filled: f64,
    /// The filled slots that no other task had a part in: number of the slot and index of the gap, ascending.
    pub(super) own: Vec<(i64, usize)>,
    /// Part of its gaps that belongs to a faster train, ns.
    pub(super) beside: f64,
    /// How often another task had the CPU from between two slots.
    pub(super) between: usize,
    /// The share of slots that gaps at random would fill.
    chance: f64,
}

impl Comb {
    pub(super) fn frequency(&self) -> f64 {
        1e9 / self.period
    }

    pub(super) fn phase(&self) -> f64 {
        self.phase
    }

    fn at(period: f64, phase: f64) -> Self {
        Self { period, phase, filled: 0.0, own: Vec::new(), beside: 0.0, between: 0, chance: 0.0 }
    }

    /// The comb of about this period, where most of its slots are filled.
    pub(super) fn fit(gaps: &Marked, period: f64) -> Option<Self> {
        // Most periods are refuted by a small part.
        let first = (40.0 * period).max(0.4e9).min(gaps.span);
        lay(gaps, (period, OFF), None, first).into_iter().find_map(|laid| Self::through(gaps, laid, first))
    }

    /// The comb that continues through all of the trace what was laid over the first part of it.
    fn through(gaps: &Marked, (period, phase): (f64, f64), first: f64) -> Option<Self> {
        Self::at(period, phase).counted(gaps, first, FULL - 0.2)?;
        let reach = STRETCH.min(gaps.span);
        let (period, phase) = lay(gaps, (period, WINDOW / first), Some(phase), reach).into_iter().next()?;
        let (period, phase) = drawn(gaps, period, phase, reach)?;
        Self::at(period, phase).counted(gaps, gaps.span, FULL)?.fastest(gaps)
    }

    /// The train of a multiple of the rate, where that is the one: the slots between this one's are filled too, as often as the loop had the
    /// CPU in them. None where it hardly ever had it there, as beside a task that takes every other tick's turn: then
    /// nothing tells the two.
    fn fastest(self, gaps: &Marked) -> Option<Self> {
        let possible = |parts: &i64| self.frequency() * *parts as f64 <= super::HIGHEST;
        for parts in PARTS.into_iter().filter(possible) {
            let finer = || Self::at(self.period / parts as f64, self.phase);
            let (comb, (filled, observed)) =
                finer().slots(gaps, gaps.span, |slot| slot.rem_euclid(parts) != 0);
            if observed < FEW {
                return None;
            }
            let between = comb.beyond_chance(filled, observed);
            if between > FULL {
                return finer().counted(gaps, gaps.span, FULL)?.fastest(gaps);
            }
            // Every so many slots of a train that is no full one: by chance so many of those are filled.
            if between > FULL / 2.0 {
                return None;
            }
        }
        Some(self)
    }

    /// A train of which each slot falls together with every so many of this one's, as a guest's tick with that of its
    /// host may: those gaps are longer than nearly all others.
    pub(super) fn hidden(&self, gaps: &Gaps<'_>) -> Option<Self> {
        let slowest = (self.frequency() / super::LOWEST) as i64;
        let lengths = |own: &mut dyn Iterator<Item = &(i64, usize)>| {
            Sorted::new(own.map(|(_, gap)| gaps.length[*gap]).collect::<Vec<_>>())
        };
        for every in 2..=slowest.min(self.own.len() as i64 / FEWEST as i64) {
            let class = |slot: &i64| slot.rem_euclid(every) as usize;
            let mut sums = vec![(0.0, 0usize); every as usize];
            for (slot, gap) in &self.own {
                let sum = &mut sums[class(slot)];
                *sum = (sum.0 + gaps.length[*gap], sum.1 + 1);
            }
            let mean = |sum: &(f64, usize)| sum.0 / sum.1.max(1) as f64;
            let longest = (0..sums.len()).max_by(|a, b| mean(&sums[*a]).total_cmp(&mean(&sums[*b])))?;
            if sums[longest].1 < FEWEST {
                continue;
            }
            let inside = |own: &&(i64, usize)| class(&own.0) == longest;
            let all = sums.iter().fold((0.0, 0), |all, sum| (all.0 + sum.0, all.1 + sum.1));
            if mean(&sums[longest]) < 1.2 * mean(&all) {
                continue;
            }
            let of_class = lengths(&mut self.own.iter().filter(inside));
            let others = lengths(&mut self.own.iter().filter(|own| !inside(own)));
            let longer = of_class.quantile(0.1)? > others.quantile(0.5)?;
            if longer && of_class.quantile(0.5)? > others.quantile(0.9)? {
                let own = self.own.iter().filter(inside).copied().collect();
                let period = self.period * every as f64;
                let phase = self.phase + self.period * longest as f64;
                return Some(Self { period, phase, own, beside: others.quantile(0.5)?, ..*self });
            }
        }
        None
    }

    /// Counts the slots up to `reach`; none where fewer than `least` of them are filled.
    fn counted(self, gaps: &Marked, reach: f64, least: f64) -> Option<Self> {
        let (mut comb, (filled, observed)) = self.slots(gaps, reach, |_| true);
        comb.filled = comb.beyond_chance(filled, observed);
        (filled >= FEWEST && comb.filled > least).then_some(comb)
    }

    /// The share of the slots that is filled, less what chance fills.
    fn beyond_chance(&self, filled: usize, observed: usize) -> f64 {
        let share = filled as f64 / observed.max(1) as f64;
        ((share - self.chance) / (1.0 - self.chance).max(1e-9)).clamp(0.0, 1.0)
    }

    /// Which slots up to `reach` are filled, and how many of those that the loop saw: (filled, seen) of the slots that are asked
    /// about.
    fn slots(mut self, gaps: &Marked, reach: f64, examined: impl Fn(i64) -> bool) -> (Self, (usize, usize)) {
        let (period, end_within) = (self.period, END.min(self.period / 10.0));
        // What another task had, or what is too long for a tick: the loop was away.
        let mut away: Vec<(f64, f64)> = Vec::new();
        let mut taken: Vec<(f64, f64)> = Vec::new();
        let mut here: Vec<usize> = Vec::new();
        let off = |at: f64| at - self.phase - period * ((at - self.phase) / period).round();
        for (gap, (start, length)) in gaps.start.iter().zip(&gaps.length).enumerate() {
            if *start >= reach {
                break;
            }
            if gaps.taken[gap] {
                taken.push((start - JITTER, start + length));
            } else if gaps.preempted[gap] || *length > 0.5 * period {
                away.push((*start, start + length));
                self.between += usize::from(gaps.preempted[gap] && off(*start).abs() > LATE);
            } else {
                here.push(gap);
            }
        }
        let gone: f64 = away.iter().map(|(from, to)| to - from).sum();
        // A turn of another task that began and ended with a tick.
        let ended_by_it =
            |(start, end): (f64, f64)| end - start > 0.5 * period && (-LATE..=end_within).contains(&off(end));
        let (mut filled, mut observed, mut others) = (0usize, 0usize, 0usize);
        let (mut next_away, mut next_taken, mut next_unseen, mut next) = (0, 0, 0, 0);
        let first = ((LATE - self.phase) / period).ceil() as i64;
        for slot in first.. {
            let at = self.phase + period * slot as f64;
            if at + LATE > reach {
                break;
            }
            while next < here.len() && gaps.start[here[next]] < at - LATE {
                (next, others) = (next + 1, others + 1);
            }
            while next_away < away.len() && away[next_away].1 < at - LATE {
                next_away += 1;
            }
            while next_taken < taken.len() && taken[next_taken].1 < at {
                next_taken += 1;
            }
            while next_unseen < gaps.unseen.len() && gaps.unseen[next_unseen].1 < at - JITTER {
                next_unseen += 1;
            }
            if !examined(slot) {
                continue;
            }
            match away.get(next_away) {
                Some(&turn) if turn.0 <= at + LATE => {
                    // Its beginning and its end are seen; of what lies between nothing is known. What begins here and
                    // does not end with a tick may be another timer's.
                    let known = (turn.0 - at).abs() <= LATE || turn.1 - at <= end_within;
                    if known && ended_by_it(turn) {
                        (filled, observed) = (filled + 1, observed + 1);
                    }
                }
                // Hidden in a gap of another train.
                _ if taken.get(next_taken).is_some_and(|gap| gap.0 <= at) => {}
                _ => {
                    let near = here[next..].iter().take_while(|gap| gaps.start[**gap] <= at + LATE);
                    let closest = near
                        .min_by(|a, b| (gaps.start[**a] - at).abs().total_cmp(&(gaps.start[**b] - at).abs()));
                    // While the loop did not look, nothing was seen: what it saw before or after counts all the same.
                    let hidden = gaps.unseen.get(next_unseen).is_some_and(|time| time.0 <= at + JITTER);
                    observed += usize::from(closest.is_some() || !hidden);
                    if let Some(gap) = closest {
                        filled += 1;
                        self.own.push((slot, *gap));
                    }
                }
            }
        }
        let density = others as f64 / (reach - gone).max(1.0);
        self.chance = 1.0 - (-2.0 * LATE * density).exp();
        (self, (filled, observed))
    }
}

/// Among the periods within a share `off` of this one, those whose slots catch most gaps in a narrow window, and where that window lies, near
/// `phase` where one is given: period and phase in ns, the fullest first. Another CPU's tick has the same period: it is told by its
/// phase. Looks at gaps up to `reach` ns.
fn lay(gaps: &Marked, (period, off): (f64, f64), phase: Option<f64>, reach: f64) -> Vec<(f64, f64)> {
    let early = gaps.left(reach);
    // Fine enough that the last slot moves by a quarter of the window.
    let fine = WINDOW / 4.0 / reach;
    let tries = (off / fine).ceil();
    let cell = WINDOW / 2.0;
    let apart = |a: f64, b: f64| ((a - b).abs() % period).min(period - (a - b).abs() % period);
    let mut best: Vec<(u32, f64, f64)> = Vec::new();
    let mut cells: Vec<u32> = Vec::new();
    for step in -tries as i32..=tries as i32 {
        let period = period * (1.0 + f64::from(step) * fine);
        let (count, turn) = ((period / cell) as usize, 1.0 / period);
        cells.clear();
        cells.resize(count + 1, 0);
        for at in &early {
            let turns = at * turn;
            cells[((turns - (turns as i64) as f64) * period / cell) as usize] += 1;
        }
        // The circle is closed: the last cell, which is a part of one, lies beside the first.
        cells[0] += cells[count];
        for own in 0..count {
            let two = cells[own] + cells[(own + 1) % count];
            let at = (own + 1) as f64 * cell;
            let full = best.len() == PHASES && best.iter().all(|(most, ..)| two <= *most);
            if full || phase.is_some_and(|phase| apart(phase, at) > NEAR) {
                continue;
            }
            match best.iter_mut().find(|(.., other)| apart(*other, at) < NEAR) {
                Some(same) if two > same.0 => *same = (two, period, at),
                Some(_) => {}
                None => best.push((two, period, at)),
            }
            best.sort_unstable_by_key(|(two, ..)| std::cmp::Reverse(*two));
            best.truncate(PHASES);
        }
    }
    best.into_iter().map(|(_, period, phase)| (period, phase)).collect()
}

/// A line through slot and time, again without what lies far off, and again through twice as long a stretch.
fn drawn(gaps: &Marked, mut period: f64, mut phase: f64, mut reach: f64) -> Option<(f64, f64)> {
    loop {
        let (mut tolerance, mut taken) = (WINDOW, Vec::new());
        let near = gaps.left(reach);
        for _ in 0..6 {
            taken = slots(&near, period, phase, tolerance);
            (period, phase) = line(&taken).filter(|(period, _)| *period > 0.0)?;
            let off = taken.iter().map(|(slot, at)| (at - phase - period * slot).abs());
            // Six median deviations: four standard deviations of a normal error.
            tolerance = (6.0 * Sorted::new(off).quantile(0.5)?).clamp(WINDOW / 10.0, WINDOW);
        }
        if reach >= gaps.span {
            return is_one(&taken, period).then_some((period, phase));
        }
        // A line through a stretch is good for one twice as long.
        reach *= 2.0;
    }
}

/// True if a line runs as its halves do. Where one train ends and another of its rate begins near it, the line goes from the one to the
/// other: each half then has the right slope, and the whole has not.
fn is_one(taken: &[(f64, f64)], period: f64) -> bool {
    let (first, second) = taken.split_at(taken.len() / 2);
    let (Some((first, _)), Some((second, _))) = (line(first), line(second)) else { return true };
    (first.midpoint(second) / period - 1.0).abs() < CROOKED
}

/// The nearest gap of each slot within `tolerance`: slot and time.
fn slots(start: &[f64], period: f64, phase: f64, tolerance: f64) -> Vec<(f64, f64)> {
    let mut found: Vec<(f64, f64)> = Vec::new();
    for at in start {
        let slot = ((at - phase) / period).round();
        let off = (at - phase - slot * period).abs();
        if off > tolerance {
            continue;
        }
        match found.last_mut() {
            Some(last) if last.0 == slot => {
                if off < (last.1 - phase - slot * period).abs() {
                    last.1 = *at;
                }
            }
            _ => found.push((slot, *at)),
        }
    }
    found
}

/// Least squares: slope and intercept.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let (x0, y0) =
        (points.iter().map(|p| p.0).sum::<f64>() / count, points.iter().map(|p| p.1).sum::<f64>() / count);
    let across: f64 = points.iter().map(|p| (p.0 - x0) * (p.1 - y0)).sum();
    let along: f64 = points.iter().map(|p| (p.0 - x0).powi(2)).sum();
    (along > 0.0).then(|| (across / along, y0 - across / along * x0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_from_one_train_to_another_is_none() {
        let train = |begins: f64| {
            // 1250 slots of 4 ms, with 3 us to and fro.
            let at = |slot: u32| {
                let late = f64::from(slot % 7) * 1e3 - 3e3 + if slot < 600 { 0.0 } else { begins };
                (f64::from(slot), f64::from(slot) * 4e6 + late)
            };
            let points: Vec<_> = (0..1_250).map(at).collect();
            let (period, _) = line(&points).unwrap();
            is_one(&points, period)
        };
        assert!(train(0.0) && !train(-20e3) && !train(20e3));
    }
}

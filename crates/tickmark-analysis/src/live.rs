//! History of each CPU over the last minutes and hours.

use std::collections::VecDeque;

/// A second, or a minute, of one CPU. Times in ns; shares of the time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// The median wake-up latency, and the greatest; none where no wake-up came.
    pub late: Option<(f64, f64)>,
    /// The share of the time in which the CPU was wanted that was lost to gaps and to waiting for it, and the longest gap.
    pub gaps: Option<(f64, f64)>,
    /// A read of the clock.
    pub clock: Option<f64>,
    /// Timer interrupts a second.
    pub timer_interrupts: Option<f64>,
    /// Share of time in use.
    pub busy: Option<f64>,
    /// Share of time in interrupts.
    pub interrupts: Option<f64>,
    /// Share of time taken by the hypervisor.
    pub steal: Option<f64>,
}

impl Point {
    /// Of wake-ups, gaps, and how long the CPU was waited for and wanted, as they were seen, with what the kernel counted filled in.
    #[must_use]
    pub fn from_counts(late: &[u64], gaps: &[u64], [waited, wanted]: [u64; 2], counted: Self) -> Self {
        let mut sorted: Vec<u64> = late.to_vec();
        sorted.sort_unstable();
        let middle = sorted.get(sorted.len() / 2).map(|middle| *middle as f64);
        let most = |all: &[u64]| all.iter().copied().max().unwrap_or(0) as f64;
        let lost = (waited + gaps.iter().sum::<u64>()) as f64 / wanted.max(1) as f64;
        Self {
            late: middle.map(|middle| (middle, most(late))),
            gaps: (wanted > 0).then(|| (lost, most(gaps))),
            ..counted
        }
    }

    /// Several as one: means, and the worst of what is worst.
    fn together(all: &[Self]) -> Self {
        let mean = |of: &dyn Fn(&Self) -> Option<f64>| {
            let known: Vec<f64> = all.iter().filter_map(of).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let most = |of: &dyn Fn(&Self) -> Option<f64>| all.iter().filter_map(of).reduce(f64::max);
        Self {
            late: mean(&|one| Some(one.late?.0)).zip(most(&|one| Some(one.late?.1))),
            gaps: mean(&|one| Some(one.gaps?.0)).zip(most(&|one| Some(one.gaps?.1))),
            clock: all.iter().filter_map(|one| one.clock).reduce(f64::min),
            timer_interrupts: mean(&|one| one.timer_interrupts),
            busy: mean(&|one| one.busy),
            interrupts: mean(&|one| one.interrupts),
            steal: mean(&|one| one.steal),
        }
    }
}

/// Seconds and minutes that are kept: ten minutes and two days.
const KEPT: [usize; 2] = [600, 2880];
const MINUTE: usize = 60;
/// Seconds that what was seen is shown for.
const STAYS: usize = 30;

/// One CPU.
#[derive(Debug, Default)]
pub struct History {
    /// Its number.
    pub cpu: u32,
    seconds: VecDeque<Point>,
    minutes: VecDeque<Point>,
    /// Seconds of the minute that is not over.
    open: Vec<Point>,
    /// The latest wake-up since it began, and the longest gap.
    pub worst: (f64, f64),
    /// Who had it in the last part of a second of which the kernel's events were recorded, with their shares, the largest first; none where
    /// they were not.
    pub occupants: Option<Vec<(String, f64)>>,
}

impl History {
    /// Of this CPU, empty.
    #[must_use]
    pub fn new(cpu: u32) -> Self {
        Self { cpu, ..Self::default() }
    }

    /// One second more.
    pub fn add(&mut self, point: Point) {
        let keep = |all: &mut VecDeque<Point>, point: Point, most: usize| {
            all.push_back(point);
            if all.len() > most {
                all.pop_front();
            }
        };
        self.worst.0 = self.worst.0.max(point.late.map_or(0.0, |late| late.1));
        self.worst.1 = self.worst.1.max(point.gaps.map_or(0.0, |gaps| gaps.1));
        keep(&mut self.seconds, point, KEPT[0]);
        self.open.push(point);
        if self.open.len() == MINUTE {
            keep(&mut self.minutes, Point::together(&self.open), KEPT[1]);
            self.open.clear();
        }
        // As everything that nobody visits any more.
        if !self.seconds.iter().rev().take(STAYS).any(|point| point.late.is_some()) {
            self.occupants = None;
        }
    }

    /// The newest second; of hundreds of CPUs each is visited every few of them: what was seen last stays for half a minute.
    #[must_use]
    pub fn last(&self) -> Point {
        let Some(newest) = self.seconds.back().copied() else { return Point::default() };
        let visited = self.seconds.iter().rev().take(STAYS).find(|point| point.late.is_some());
        visited.map_or(newest, |summary| Point {
            late: summary.late,
            gaps: summary.gaps,
            clock: summary.clock,
            ..newest
        })
    }

    /// Values of one quantity over the last seconds or minutes, oldest first; 0 where there was none.
    #[must_use]
    pub fn latest(&self, what: LiveQuantity, minutes: bool, count: usize) -> Vec<f64> {
        let all = if minutes { &self.minutes } else { &self.seconds };
        let skip = all.len().saturating_sub(count);
        all.iter().skip(skip).map(|point| what.value_of(point).unwrap_or(0.0)).collect()
    }
}

/// A quantity that is plotted over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveQuantity {
    /// The greatest wake-up latency, ns.
    #[default]
    WakeUp,
    /// The longest gap, ns.
    Gap,
    /// The share of the time in which the CPU was wanted that others had.
    Lost,
    /// The share of the time in which it was in use.
    Busy,
    /// Timer interrupts a second.
    Timer,
    /// A read of the clock, ns.
    Clock,
}

impl LiveQuantity {
    /// All of them, in the order in which they are chosen.
    pub const ALL: [Self; 6] = [Self::WakeUp, Self::Gap, Self::Lost, Self::Busy, Self::Timer, Self::Clock];

    /// The one behind it.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|what| *what == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    fn value_of(self, point: &Point) -> Option<f64> {
        match self {
            Self::WakeUp => point.late.map(|late| late.1),
            Self::Gap => point.gaps.map(|gaps| gaps.1),
            Self::Lost => point.gaps.map(|gaps| gaps.0),
            Self::Busy => point.busy,
            Self::Timer => point.timer_interrupts,
            Self::Clock => point.clock,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_keep_what_was_worst_in_bounded_room() {
        let mut history = History::new(3);
        for second in 0..200_000u32 {
            let late = if second == 100 { 5_000_000 } else { 50_000 + u64::from(second % 7) };
            let counted = Point { busy: Some(0.5), ..Point::default() };
            history.add(Point::from_counts(&[late, 40_000, 45_000], &[2_000], [38_000, 1_000_000], counted));
        }
        assert_eq!((history.seconds.len(), history.minutes.len(), history.worst), (600, 2880, (5e6, 2e3)));
        assert_eq!((history.last().busy, history.last().gaps), (Some(0.5), Some((0.04, 2e3))));
        let late = |minutes, count| history.latest(LiveQuantity::WakeUp, minutes, count);
        assert!(late(false, 10).len() == 10 && late(true, 5000).len() == 2880);
        assert_eq!(history.latest(LiveQuantity::Busy, true, 2), [0.5, 0.5]);
        assert_eq!(history.latest(LiveQuantity::Clock, false, 2), [0.0, 0.0]);
        let mut short = History::new(0);
        (0..120).for_each(|second| {
            short.add(Point::from_counts(
                &[if second == 70 { 9_000 } else { 100 }],
                &[],
                [0, 10],
                Point::default(),
            ));
        });
        assert_eq!(short.latest(LiveQuantity::WakeUp, true, 9), [100.0, 9_000.0]);
        // A second without a visit shows what was seen before.
        short.add(Point { busy: Some(0.25), ..Point::default() });
        assert_eq!((short.last().late, short.last().busy), (Some((100.0, 100.0)), Some(0.25)));
        // Who had a CPU that nobody visits any more is not known.
        short.occupants = Some(vec![("tar (7)".to_owned(), 0.5)]);
        (0..STAYS - 2).for_each(|_| short.add(Point::default()));
        assert!(short.occupants.is_some());
        short.add(Point::default());
        assert!(short.occupants.is_none());
        let mut what = LiveQuantity::default();
        (0..LiveQuantity::ALL.len()).for_each(|_| what = what.next());
        assert_eq!(what, LiveQuantity::WakeUp);
        let none = Point::from_counts(&[], &[], [0, 0], Point::default());
        assert_eq!((none.late, none.gaps), (None, None));
    }
}

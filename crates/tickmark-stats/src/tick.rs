//! The tick among the gaps that a spinning loop saw: a train of interruptions at one frequency.
//!
//! The configured HZ is never looked at: whoever asks may compare it afterwards.

mod comb;
mod lags;

use crate::quantile::Sorted;
use comb::{Comb, Marked};

/// Frequencies that are searched, in Hz.
const LOWEST: f64 = 20.0;
const HIGHEST: f64 = 2_500.0;
/// A loop that sees no gap for longer than this, in ns, spins on a CPU without interrupts.
const LONGEST_REST: f64 = 1e12;
/// Interrupts that the ends of a run may cut off.
const ENDS: f64 = 3.0;
/// Timer interrupts for each of the tick that the kernel counts at most, beside those that woke a task here.
const OTHERS: f64 = 1.5;
/// Gaps that are shorter are not asked about, in ns.
const FELT: f64 = 1_000.0;
/// Rates that differ by less, as a share, are one.
const SAME: f64 = 1e-4;
/// The share of the slots in which the loop had the CPU that a tick fills at least: a train at twice the tick's frequency
/// fills half, one at three halves of it two thirds.
const FULL: f64 = 0.8;
/// Trains that are looked for at most.
const MOST: usize = 12;
/// A train of fewer is not told from chance.
const FEWEST: usize = 10;
/// The share of the time that other tasks may have had where a cost is told.
const MOST_AWAY: f64 = 0.3;

/// Gaps of a loop that spun for `span`, all in ns.
#[derive(Debug, Clone, Copy)]
pub struct Gaps<'a> {
    /// How long it spun.
    pub span: f64,
    /// When each gap began, ascending.
    pub start: &'a [f64],
    /// How long each was.
    pub length: &'a [f64],
    /// The gaps in which another task had the CPU, as ascending indices; empty where that is not known.
    pub preempted: &'a [u32],
    /// Timer interrupts that the kernel counted meanwhile: the tick and every other timer.
    pub interrupts: Option<f64>,
    /// From when to when the loop did something else than look, ascending.
    pub unseen: &'a [(f64, f64)],
    /// Of some gaps, as ascending indices: whether the kernel counted a timer interrupt in it.
    pub timers: &'a [(u32, bool)],
}

impl Gaps<'_> {
    /// True if the columns can be what a loop saw: numbers, one gap after the other, to the end of the span, which is not much longer.
    fn follow_one_another(&self) -> bool {
        let mut end = 0.0;
        let each = self.start.iter().zip(self.length);
        let ordered = each.into_iter().all(|(start, length)| {
            let follows = *start >= end && *length > 0.0 && length.is_finite();
            end = start + length;
            follows
        });
        let rest = self.span - end;
        self.start.len() == self.length.len()
            && ordered
            && (-1.0..LONGEST_REST).contains(&rest)
            && self.preempted.is_sorted()
    }
}

/// A train of interruptions.
#[derive(Debug, Clone, PartialEq)]
pub struct Train {
    /// Interruptions a second of the clock that stamped the gaps.
    pub frequency: f64,
    /// When one of them was due, in ns from the beginning.
    pub phase: f64,
    /// The share of its slots in which it was seen, of those in which the loop had the CPU, less what chance fills.
    pub filled: f64,
    /// Cost of one; none where too few had no part of another task.
    pub cost: Option<Cost>,
    /// True if the kernel counted as many timer interrupts or more, and counted them in its gaps where that is known; not so where the
    /// count is unknown.
    pub confirmed: bool,
}

/// Every train of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Trains {
    /// Fastest first.
    pub all: Vec<Train>,
    /// Which of them is the tick; or why none is.
    pub tick: Result<usize, NotFound>,
    /// The train that each gap is of.
    pub of: Vec<Option<usize>>,
}

/// Time of an interruption of a train, without the time of other tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Lengths of the gaps: 10th percentile, median, 90th percentile, ns.
    pub length: [f64; 3],
    /// The share of the CPU that the train takes: the mean length, with those above the 90th percentile counted as that,
    /// over the period.
    pub share: f64,
}

/// Why no tick was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NotFound {
    /// Gaps that are not one after the other within the span: a damaged trace.
    Damaged,
    /// Too few gaps: no tick (nohz_full), or not enough time.
    FewGaps,
    /// Gaps without a period that most of its slots show, up to this many Hz where the kernel's count bounds it.
    NoPeriod {
        /// The count of timer interrupts a second.
        counted: Option<f64>,
    },
}

/// Finds the tick.
///
/// # Errors
/// Where no train fills most of the slots in which the loop had the CPU.
pub fn find(gaps: &Gaps<'_>) -> Result<Train, NotFound> {
    let mut found = trains(gaps);
    found.tick.map(|tick| found.all.swap_remove(tick))
}

/// Finds every train. They are taken out one after the other, the shortest period first, so that no multiple of a period
/// passes for a train of its own; the tick is the fastest whose count the kernel's confirms.
#[must_use]
pub fn trains(gaps: &Gaps<'_>) -> Trains {
    let none = |why| Trains { all: Vec::new(), tick: Err(why), of: vec![None; gaps.start.len()] };
    if !gaps.follow_one_another() {
        return none(NotFound::Damaged);
    }
    if gaps.start.len() < FEWEST {
        return none(NotFound::FewGaps);
    }
    let seconds = gaps.span / 1e9;
    // A count lower than any tick is that of a timer which this machine does not use.
    let counted = gaps.interrupts.map(|count| count / seconds).filter(|rate| *rate > LOWEST);
    let confirms = |comb: &Comb| {
        let timers = timers(comb, gaps);
        counted.is_none_or(|rate| agrees(comb, timers == Some(true), rate, seconds))
            && timers != Some(false)
            && !(is_felt(comb, gaps) && gaps.preempted.len() >= FEWEST)
    };
    let combs = combs(gaps);
    let mut of = vec![None; gaps.start.len()];
    for (train, comb) in combs.iter().enumerate() {
        comb.own.iter().for_each(|(_, gap)| of[*gap] = Some(train));
    }
    let all = combs.iter().map(|comb| Train {
        frequency: comb.frequency(),
        phase: comb.phase(),
        filled: comb.filled,
        cost: cost(comb, gaps),
        confirmed: counted.is_some() && confirms(comb),
    });
    let tick = combs.iter().position(confirms).map(|first| own_tick(&combs, first, confirms, gaps));
    let tick = tick.ok_or(NotFound::NoPeriod { counted });
    Trains { all: all.collect(), tick, of }
}

/// Of the trains of the same rate as the first, the one in whose gaps timer interrupts were counted, else the one with the longest gaps: the
/// tick of the core's other thread is felt too, as less than a microsecond.
fn own_tick(combs: &[Comb], first: usize, confirms: impl Fn(&Comb) -> bool, gaps: &Gaps<'_>) -> usize {
    let like =
        |comb: &Comb| (comb.frequency() / combs[first].frequency() - 1.0).abs() < SAME && confirms(comb);
    let rank = |at: &usize| {
        let lengths = Sorted::new(combs[*at].own.iter().map(|(_, gap)| gaps.length[*gap]));
        (timers(&combs[*at], gaps) == Some(true), lengths.quantile(0.5).unwrap_or(0.0))
    };
    let all = (first..combs.len()).filter(|at| like(&combs[*at]));
    all.max_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
    .unwrap_or(first)
}

/// True if a train's gaps are too short for the kernel to be asked after them, as those are in which the core's other thread has its tick.
/// Beside other tasks nothing else may be left of a rate that both have.
fn is_felt(comb: &Comb, gaps: &Gaps<'_>) -> bool {
    let lengths = Sorted::new(comb.own.iter().map(|(_, gap)| gaps.length[*gap]));
    lengths.quantile(0.5).is_some_and(|length| length < FELT)
}

/// Whether the kernel counted timer interrupts in most of a train's gaps; none where it was asked of too few.
fn timers(comb: &Comb, gaps: &Gaps<'_>) -> Option<bool> {
    let own = |gap: &u32| comb.own.binary_search_by_key(gap, |(_, own)| *own as u32).is_ok();
    let known: Vec<bool> =
        gaps.timers.iter().filter(|(gap, _)| own(gap)).map(|(_, counted)| *counted).collect();
    (known.len() >= FEWEST).then(|| known.iter().filter(|counted| **counted).count() * 2 > known.len())
}

/// True if a train can be what the kernel counted so many timer interrupts a second of: all of them, or a part that leaves room for fewer
/// others than a tick of twice the rate would make. Where it is not known that they were counted in its own gaps, the part has to leave
/// room for the tasks that came between two of its slots, as timers may have woken them; and as they may have, they count for the others in
/// either case.
fn agrees(comb: &Comb, in_its_gaps: bool, counted: f64, seconds: f64) -> bool {
    // Ticks that fell together while the CPU was away, and the ends of the run, lower the count.
    let allowed = |count: f64| 1.1 * count + ENDS / seconds;
    let (own, others) = (comb.frequency(), comb.between as f64 / seconds);
    own < allowed(counted)
        && (in_its_gaps || allowed(own) > counted || own < allowed(counted - others))
        && counted - others < OTHERS * own
}

/// Finds the periods of ticks in gaps: every train, fastest first; of two that share gaps the slower comes last.
fn combs(gaps: &Gaps<'_>) -> Vec<Comb> {
    let mut marked = Marked::from_gaps(gaps);
    let (mut trains, mut refuted) = (Vec::<Comb>::new(), Vec::<f64>::new());
    while trains.len() < MOST {
        let mut fit = |period: f64| {
            if refuted.iter().any(|other| (period / other - 1.0).abs() < 2e-5) {
                return None;
            }
            let comb = Comb::fit(&marked, period);
            // What turns of other tasks alone tell is there again the next time: nothing of it was taken out.
            if comb.as_ref().is_none_or(|comb| comb.own.len() < FEWEST) {
                refuted.push(period);
            }
            comb
        };
        let periods = lags::periods(&marked, 1e9 / HIGHEST, 1e9 / LOWEST);
        let Some(comb) = periods.into_iter().find_map(&mut fit) else { break };
        comb.own.iter().for_each(|(_, gap)| marked.taken[*gap] = true);
        trains.extend(comb.hidden(gaps));
        trains.push(comb);
    }
    trains.sort_by(|a, b| b.frequency().total_cmp(&a.frequency()));
    trains
}

/// Of the gaps in which no other task had a part; none where others had so much of the CPU that a tick finds caches filled by them, and
/// more to do: beside one that always runs it took 1.5 times what it takes alone.
fn cost(comb: &Comb, gaps: &Gaps<'_>) -> Option<Cost> {
    let away: f64 = gaps.preempted.iter().filter_map(|gap| gaps.length.get(*gap as usize)).sum();
    if away > MOST_AWAY * gaps.span {
        return None;
    }
    let lengths = Sorted::new(comb.own.iter().map(|(_, gap)| gaps.length[*gap] - comb.beside));
    let count = lengths.as_slice().len();
    if count < FEWEST {
        return None;
    }
    let length = [lengths.quantile(0.1)?, lengths.quantile(0.5)?, lengths.quantile(0.9)?];
    // Long gaps in which a tick came along are not its own cost: the 90th percentile caps them.
    let mean = lengths.as_slice().iter().map(|l| l.min(length[2])).sum::<f64>() / count as f64;
    Some(Cost { length, share: mean * comb.frequency() / 1e9 })
}

#[cfg(test)]
mod tests;

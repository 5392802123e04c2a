//! Which name each gap has, and by what evidence.

use std::collections::BTreeMap;
use tickmark_stats::order::{largest_first, smallest_first};
use tickmark_stats::tick::{Gaps, Trains};
use tickmark_wire::{Counted, GapTrace};

/// The loop asks the kernel after gaps longer than this, in ns.
const LONG: f64 = 1_000.0;
/// Soft interrupts that the tick itself raises.
const OF_TICK: [&str; 4] = ["softirq TIMER", "softirq SCHED", "softirq RCU", "softirq HRTIMER"];
/// A quota is granted by the period, of 1 ms or more: what is shorter was another task, in ns.
const SHORTEST_STOP: f64 = 500_000.0;
/// A reading begins before its gap's end is stamped by so much at most, in ns.
const JITTER: f64 = 5_000.0;

/// How long a turn is that the real-time reserve was: it ends at a tick, and others may have been in it.
const SHORTEST_RESERVE: f64 = 0.8;
const LONGEST_RESERVE: f64 = 1.3;

/// The cause of a gap.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapCause {
    /// The kernel's tick.
    Tick,
    /// Another timer's interrupt.
    Timer,
    /// Another interrupt, by its line of /proc/interrupts.
    Interrupt(String),
    /// Soft interrupts that an interrupt left, by their line of /proc/softirqs.
    SoftInterrupt(String),
    /// A page fault of the loop's own.
    Fault,
    /// Another task.
    Task,
    /// No task of the cgroup: its quota of CPU time was used up.
    Quota,
    /// The part of each period that the kernel leaves to ordinary tasks when one at a real-time priority does not sleep.
    RealTimeReserve,
    /// Outside of this kernel, with the evidence.
    Outside(Evidence),
    /// None of this kernel's counters moved, and nothing else says what it was: the hypervisor, the firmware or the processor itself.
    Unseen,
    /// Not looked at, too short to be asked about, or with counters that may belong to another gap.
    Unknown,
}

impl GapCause {
    /// True if the loop's thread was not on the CPU.
    fn is_turn(&self) -> bool {
        matches!(self, Self::Task | Self::Quota | Self::RealTimeReserve)
    }

    /// A short name for programs.
    #[must_use]
    pub fn code(&self) -> String {
        match self {
            Self::Tick => "tick".to_owned(),
            Self::Timer => "timer".to_owned(),
            Self::Interrupt(line) => format!("interrupt {line}"),
            Self::SoftInterrupt(line) => format!("softirq {line}"),
            Self::Fault => "page fault".to_owned(),
            Self::Task => "task".to_owned(),
            Self::Quota => "cgroup quota".to_owned(),
            Self::RealTimeReserve => "real-time reserve".to_owned(),
            Self::Outside(Evidence::Train(rate)) => format!("outside, train of {:.3} Hz", *rate as f64 / 1e3),
            Self::Outside(Evidence::Steal) => "outside, steal".to_owned(),
            Self::Unseen => "unseen".to_owned(),
            Self::Unknown => "unknown".to_owned(),
        }
    }
}

/// By what it is known that the gap was not this kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// A train in whose gaps this kernel counts nothing, of so many mHz.
    Train(u64),
    /// The hypervisor told the kernel that it had taken the time.
    Steal,
}

/// Names found for the gaps of a trace.
pub(super) struct Named<'a> {
    pub(super) trace: &'a GapTrace,
    pub(super) gaps: &'a Gaps<'a>,
    pub(super) trains: &'a Trains,
    pub(super) account: Account,
}

/// The thread's CPU time in this gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    /// True if there is a hypervisor that could take time.
    pub(super) steal: bool,
    /// True if interrupts are a part of it, or absent from it as well.
    pub(super) interrupts: bool,
    /// True if a quota can stop the loop: at a real-time priority none does.
    pub(super) quotas: bool,
    /// At a real-time priority: what the kernel takes from the loop in each period, in ns, and the period.
    pub(super) reserve: Option<(f64, f64)>,
}

/// Counters that moved between two readings.
struct Window<'a> {
    /// The gaps between them.
    gaps: std::ops::Range<usize>,
    /// How long the reading before took, from when.
    before: Option<(f64, f64)>,
    /// The turn of another task in the reading before, as the index of its name; and whether one began in this reading.
    away: Option<usize>,
    began: bool,
    /// Time that was not the loop's, in ns.
    absent: f64,
    moved: BTreeMap<&'a str, u64>,
}

impl Named<'_> {
    /// Turns of other tasks that began while the counters were read: by reading, when and for how long, in ns.
    pub(super) fn away(&self) -> Vec<(usize, f64, f64)> {
        let Some(counted) = &self.trace.counted else { return Vec::new() };
        let of = |(reading, away): (usize, f64)| {
            let gap = *counted.gap.get(reading)? as usize;
            let end = self.gaps.start.get(gap)? + self.gaps.length[gap] + counted.took.get(reading)?.as_f64();
            Some((reading, end - away, away))
        };
        let away = counted.away.iter().map(|away| away.as_f64()).enumerate().filter(|(_, away)| *away > 0.0);
        away.filter_map(of).collect()
    }

    /// The name of each gap, then that of each reading as if it were one.
    pub(super) fn each(&self) -> Vec<GapCause> {
        let readings = self.trace.counted.as_ref().map_or(0, |counted| counted.gap.len());
        let mut names = vec![GapCause::Unknown; self.gaps.start.len()];
        names.resize(names.len() + readings, GapCause::Task);
        for gap in self.gaps.preempted {
            if let Some(name) = names.get_mut(*gap as usize) {
                *name = GapCause::Task;
            }
        }
        let foreign = self.foreign();
        for (gap, train) in self.trains.of.iter().enumerate() {
            match train {
                Some(train) if self.trains.tick == Ok(*train) => names[gap] = GapCause::Tick,
                Some(train) if foreign[*train] => {
                    let rate = self.trains.all[*train].frequency;
                    names[gap] = GapCause::Outside(Evidence::Train((rate * 1e3).round() as u64));
                }
                _ => {}
            }
        }
        if let Some(counted) = &self.trace.counted {
            let mut early = 0;
            self.windows(counted).for_each(|window| early = self.name(window, early, &mut names));
        }
        self.reserves(&mut names);
        names
    }

    /// Turns of others that are as long as the real-time reserve and come once in its period: where more than one could, those that others lie whole periods from.
    fn reserves(&self, names: &mut [GapCause]) {
        let Some((reserve, period)) = self.account.reserve else { return };
        let gaps = self.gaps.start.iter().zip(self.gaps.length).map(|(start, length)| (*start, *length));
        let away = self.away();
        let in_readings =
            away.iter().map(|(reading, start, length)| (self.gaps.start.len() + reading, (*start, *length)));
        let mut turns: Vec<(usize, f64)> = gaps
            .enumerate()
            .chain(in_readings)
            .filter(|(at, (_, length))| {
                names[*at] == GapCause::Task
                    && (SHORTEST_RESERVE..LONGEST_RESERVE).contains(&(length / reserve))
            })
            .map(|(at, (start, _))| (at, start))
            .collect();
        smallest_first(&mut turns, |one| one.1);
        let begins: Vec<f64> = turns.iter().map(|(_, start)| *start).collect();
        let span = self.gaps.start.last().map_or(0.0, |last| last - self.gaps.start[0]);
        let is_in_time = |start: f64| {
            let apart = |other: &f64| ((other - start) / period).abs();
            let recurs =
                begins.iter().map(apart).any(|apart| apart > 0.8 && (apart - apart.round()).abs() < 0.2);
            let is_alone = begins.iter().filter(|other| apart(other) < 0.8).count() == 1;
            recurs || span < 2.0 * period && is_alone
        };
        turns.retain(|(_, start)| is_in_time(*start));
        // More than one in a period are another task's.
        if turns.len() as f64 <= span / period + 1.5 {
            turns.iter().for_each(|(at, _)| names[*at] = GapCause::RealTimeReserve);
        }
    }

    /// Whether each train is none of this kernel's: its gaps were asked about, and hardly any had an interrupt counted.
    fn foreign(&self) -> Vec<bool> {
        let mut summary = vec![(0usize, 0usize); self.trains.all.len()];
        let windows = self.trace.counted.iter().flat_map(|counted| self.windows(counted));
        for window in windows.filter(|window| window.gaps.len() == 1) {
            if let Some(train) = self.trains.of[window.gaps.start] {
                let none = !window.moved.keys().any(|name| name.starts_with("interrupt "));
                summary[train] = (summary[train].0 + usize::from(none), summary[train].1 + 1);
            }
        }
        summary.iter().map(|(none, all)| *all >= 4 && none * 10 > all * 7).collect()
    }

    fn windows<'a>(&'a self, counted: &'a Counted) -> impl Iterator<Item = Window<'a>> {
        let (mut from, mut moved, mut before, mut away) = (0, 0, None, None);
        (0..counted.gap.len()).map_while(move |reading| {
            let last = counted.gap[reading] as usize;
            let end = self.gaps.start.get(last)? + self.gaps.length[last];
            let mut own = BTreeMap::new();
            while counted.reading.get(moved).is_some_and(|of| *of as usize <= reading) {
                let name = counted.names.get(*counted.counter.get(moved)? as usize)?;
                *own.entry(name.as_str()).or_insert(0) += u64::from(*counted.more.get(moved)?);
                moved += 1;
            }
            let gaps = from..last + 1;
            from = last + 1;
            let took = counted.took.get(reading)?.as_f64();
            let absent = counted.absent.get(reading)?.as_f64();
            let before = before.replace((end, end + took));
            let taken = counted.away.get(reading).is_some_and(|away| away.get() > 0);
            let away = std::mem::replace(&mut away, taken.then_some(self.gaps.start.len() + reading));
            Some(Window { gaps, before, away, began: taken, absent, moved: own })
        })
    }

    /// Names what a window's gaps are that no train and no other task explains. Periods of a quota that were counted before the gap that they
    /// ended, in the look before it, come in and go out.
    fn name(&self, mut window: Window<'_>, early: u64, names: &mut [GapCause]) -> u64 {
        let nothing = window.moved.is_empty();
        let ticks = window.gaps.clone().filter(|gap| names[*gap] == GapCause::Tick).count() as u64;
        // Those that came while the counters were read, and while the CPU was away for long.
        let read = window.before.map_or(0, |(from, to)| self.ticks_between(from - JITTER, to));
        let inside = |gap: usize| {
            let start = self.gaps.start[gap];
            if names[gap] == GapCause::Tick {
                0
            } else {
                self.ticks_between(start, start + self.gaps.length[gap])
            }
        };
        let unseen = read + window.gaps.clone().map(inside).sum::<u64>();
        if ticks + unseen > 0 {
            window.moved.retain(|name, _| !OF_TICK.contains(name));
            for (_, count) in window.moved.iter_mut().filter(|(name, _)| Counted::is_timer(name)) {
                *count = count.saturating_sub(ticks + unseen);
            }
            window.moved.retain(|_, count| *count > 0);
        }
        let early = self.quotas(&mut window, early, names);
        let beside_task = window.away.is_some() || window.gaps.clone().any(|gap| names[gap].is_turn());
        // What another task or an interrupt had is absent as well, where interrupts are no part of the CPU time.
        let is_named = self.account.steal && !beside_task && (nothing || self.account.interrupts);
        if is_named {
            self.stolen(&window, names);
        }
        let explained = window.moved.is_empty();
        let mut left: Vec<usize> = window
            .gaps
            .clone()
            .filter(|gap| names[*gap] == GapCause::Unknown && self.gaps.length[*gap] > LONG)
            .collect();
        // A timer's interrupt takes at least a good part of what the tick takes: a count without such a gap was made while the counters
        // were read.
        let least = self.least_interrupt();
        if !left.iter().any(|gap| self.gaps.length[*gap] > least) {
            window.moved.retain(|name, _| !Counted::is_timer(name) && !OF_TICK.contains(name));
        }
        let length: f64 = left.iter().map(|gap| self.gaps.length[*gap]).sum();
        let stolen = is_named && window.absent > 0.5 * length;
        let name = match kind(&window.moved) {
            Some((GapCause::Timer, _)) if stolen => GapCause::Outside(Evidence::Steal),
            // Another task's turn may hold any of them, where there are not enough for all.
            Some((what, times))
                if times >= left.len() as u64 && (!beside_task || what != GapCause::Timer) =>
            {
                what
            }
            Some(_) if beside_task => return early,
            // So many of them it was; what is short had no part in it.
            Some((what, times)) => {
                largest_first(&mut left, |one| self.gaps.length[*one]);
                left.truncate(times as usize);
                what
            }
            // What the tick or another train took is absent, too.
            None if stolen => GapCause::Outside(Evidence::Steal),
            None if explained => GapCause::Unseen,
            None => return early,
        };
        left.iter().for_each(|gap| names[*gap] = name.clone());
        early
    }

    /// The longest turns of others, as many as quotas ended: the period is over when the loop goes on, and the kernel has counted it.
    fn quotas(&self, window: &mut Window<'_>, early: u64, names: &mut [GapCause]) -> u64 {
        let fresh = window.moved.remove(Counted::QUOTA).filter(|_| self.account.quotas).unwrap_or(0);
        let times = early + fresh;
        let turns = window.gaps.clone().filter(|gap| names[*gap] == GapCause::Task);
        let mut turns: Vec<usize> = turns.chain(window.away).collect();
        let away = |at: usize| {
            self.trace.counted.as_ref()?.away.get(at - self.gaps.length.len()).map(|ns| ns.as_f64())
        };
        let length = |at: &usize| self.gaps.length.get(*at).copied().or_else(|| away(*at)).unwrap_or(0.0);
        turns.retain(|at| length(at) > SHORTEST_STOP);
        largest_first(&mut turns, length);
        let most = usize::try_from(times).unwrap_or(usize::MAX);
        turns.iter().take(most).for_each(|gap| names[*gap] = GapCause::Quota);
        // A turn that began in this reading may have been counted in it.
        u64::from(fresh > 0 && fresh > turns.len() as u64 && window.began)
    }

    /// A gap of a train that is far longer than its others, most of which the hypervisor took.
    fn stolen(&self, window: &Window<'_>, names: &mut [GapCause]) {
        let long = |gap: &usize| {
            let train = self.trains.of[*gap].map(|train| &self.trains.all[train]);
            let usual = train.and_then(|train| train.cost).map_or(f64::MAX, |cost| 2.0 * cost.length[2]);
            self.gaps.length[*gap] > usual && window.absent > 0.5 * self.gaps.length[*gap]
        };
        window.gaps.clone().filter(long).for_each(|gap| names[gap] = GapCause::Outside(Evidence::Steal));
    }

    /// Shortest time of a timer's interrupt, ns: half of what nearly every tick takes.
    fn least_interrupt(&self) -> f64 {
        let tick = self.trains.tick.as_ref().ok().map(|tick| &self.trains.all[*tick]);
        tick.and_then(|tick| tick.cost).map_or(0.0, |cost| cost.length[0] / 2.0)
    }

    /// How many ticks were due between two times.
    fn ticks_between(&self, from: f64, to: f64) -> u64 {
        let Some(tick) = self.trains.tick.as_ref().ok().map(|tick| &self.trains.all[*tick]) else { return 0 };
        let slot = |at: f64| ((at - tick.phase) * tick.frequency / 1e9).floor();
        (slot(to) - slot(from)).max(0.0) as u64
    }
}

/// The single cause that the counters show, and its count.
fn kind(moved: &BTreeMap<&str, u64>) -> Option<(GapCause, u64)> {
    let of = |kind: &str| moved.iter().filter(|(name, _)| name.starts_with(kind)).collect::<Vec<_>>();
    let lines = of("interrupt ");
    let others: Vec<_> = lines.iter().copied().filter(|(name, _)| !Counted::is_timer(name)).collect();
    let soft: Vec<_> = of("softirq ").into_iter().filter(|(name, _)| !OF_TICK.contains(name)).collect();
    let text = |name: &str, kind: &str| name.strip_prefix(kind).unwrap_or(name).to_owned();
    // The work that one interrupt leaves behind takes longer than itself, and is done once for several that come together.
    let pair = soft.len() == 1 && others.len() == 1;
    if let Some((name, times)) = soft.iter().max_by_key(|(_, times)| **times) {
        let times = if pair { *others[0].1.max(times) } else { **times };
        return Some((GapCause::SoftInterrupt(text(name, "softirq ")), times));
    }
    if let Some((name, times)) = others.iter().max_by_key(|(_, times)| **times) {
        return Some((GapCause::Interrupt(text(name, "interrupt ")), **times));
    }
    if let Some((_, times)) = lines.first() {
        return Some((GapCause::Timer, **times));
    }
    moved.get("page fault").map(|times| (GapCause::Fault, *times))
}

#[cfg(test)]
mod tests;

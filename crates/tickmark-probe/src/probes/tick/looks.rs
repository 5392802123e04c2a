//! Kernel counters after gaps: read after gaps, and never for long.

use crate::batch::touched;
use crate::sys::counters::Counters;
use crate::sys::usage::thread_cpu;
use tickmark_wire::{Counted, Nanos};

/// Looking takes one in so many parts of the time at most: reading a file with a column for each of 256 CPUs takes milliseconds.
const PART: u64 = 20;
/// So much may be spent at once, as a share of a second.
const AT_ONCE: f64 = 0.001;
/// Least time of a reading, ns, and counters that move between two: the size of the buffer follows from them.
const LEAST: i64 = 10_000;
const MOVED: usize = 6;

/// The readings of one loop, in ticks of its clock.
pub(super) struct Looks {
    counters: Counters,
    random: u64,
    spent: u64,
    at_once: u64,
    /// The gap that each follows, when that ended, the thread's CPU time then, and how long looking took.
    readings: Vec<(u32, u64, i64, u64)>,
    /// Of each, how much another task had.
    away: Vec<u64>,
    /// Reading, counter, by how many.
    moved: Vec<(u32, u32, u32)>,
    /// When the loop began, and its CPU time then; then the same of the end of each reading.
    since: Vec<(u64, i64)>,
}

impl Looks {
    /// For a loop of `time` on `cpu`, whose clock has so many ticks a second and which keeps at most so many gaps; none where the kernel lists
    /// no counters.
    pub(super) fn new(cpu: u32, time: Nanos, frequency: f64, gaps: usize) -> Option<Self> {
        let room = ((time.get() / PART as i64 / LEAST) as usize + 100).min(gaps);
        Some(Self {
            counters: Counters::open(cpu)?,
            random: 0x9e37_79b9_7f4a_7c15,
            spent: 0,
            at_once: (frequency * AT_ONCE) as u64,
            readings: touched((1, 1, 1, 1), room),
            away: touched(1, room),
            moved: touched((1, 1, 1), room * MOVED),
            since: touched((1, 1), room + 1),
        })
    }

    /// Everything before this is forgotten.
    pub(super) fn begin(&mut self, now: u64) {
        self.readings.clear();
        self.away.clear();
        self.moved.clear();
        self.since.clear();
        self.spent = 0;
        self.counters.read(|_, _| ());
        self.since.push((now, thread_cpu().get()));
    }

    /// True if to look after a gap now: after one in three at random, so that what follows one kind of gap closely is not always hidden by
    /// the look.
    pub(super) fn due(&mut self, elapsed: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let room = !self.counters.lost()
            && self.readings.len() < self.readings.capacity()
            && self.moved.len() + MOVED < self.moved.capacity();
        self.random.is_multiple_of(3) && room && self.spent * PART <= elapsed + self.at_once * PART
    }

    /// Looks after the gap with this index, which ended at `end`. Where the kernel lists other counters than before, nothing of this
    /// reading is kept.
    pub(super) fn look(&mut self, gap: u32, end: u64) {
        let cpu = thread_cpu().get();
        let (reading, before, most) = (self.readings.len() as u32, self.moved.len(), self.moved.capacity());
        let moved = &mut self.moved;
        let known = self.counters.read(|counter, more| {
            if moved.len() < most {
                moved.push((reading, counter as u32, u32::try_from(more).unwrap_or(u32::MAX)));
            }
        });
        if known {
            self.readings.push((gap, end, cpu, 0));
            // What is taken from the loop from here on is the next gaps'.
            self.since.push((end, thread_cpu().get()));
        } else {
            self.moved.truncate(before);
        }
    }

    /// How much CPU time that took, in ticks.
    pub(super) fn own(&self) -> u64 {
        let begun = self.readings.last().map_or(0, |reading| reading.2);
        let ended = self.since.last().map_or(begun, |since| since.1);
        // As many ticks as `at_once` has in its share of a second.
        ((ended - begun).max(0) as f64 * self.at_once as f64 / AT_ONCE / 1e9) as u64
    }

    /// How long that took, and how much of it another task had.
    pub(super) fn took(&mut self, ticks: u64, away: u64) {
        self.spent += ticks.saturating_sub(away);
        if let Some(last) = self.readings.last_mut().filter(|last| last.3 == 0) {
            last.3 = ticks;
            self.away.push(away);
            if let Some(since) = self.since.last_mut() {
                since.0 += ticks;
            }
        }
    }

    /// The columns, by what turns ticks into nanoseconds.
    pub(super) fn columns(self, nanos: impl Fn(u64) -> Nanos) -> Counted {
        let absent = |((_, end, cpu, _), since): (&(u32, u64, i64, u64), &(u64, i64))| {
            let wall = nanos(end.saturating_sub(since.0)).get();
            Nanos::new((wall - (cpu - since.1)).max(0))
        };
        Counted {
            names: self.counters.names().to_vec(),
            absent: self.readings.iter().zip(&self.since).map(absent).collect(),
            gap: self.readings.iter().map(|reading| reading.0).collect(),
            took: self.readings.iter().map(|reading| nanos(reading.3)).collect(),
            away: self.away.iter().map(|ticks| nanos(*ticks)).collect(),
            reading: self.moved.iter().map(|moved| moved.0).collect(),
            counter: self.moved.iter().map(|moved| moved.1).collect(),
            more: self.moved.iter().map(|moved| moved.2).collect(),
        }
    }
}

//! The memory that the client shares with its observer: the client reads no clock and writes to nobody.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tickmark_probe::sys::CallError;
use tickmark_probe::sys::memory::Words;
use tickmark_wire::Histogram;

/// A value is known to a 128th of itself.
const BITS: u8 = 7;
/// Buckets of a histogram: times of up to 18 minutes, in ns; what is longer is in the last.
const EACH: usize = 34 << BITS;

/// Words that are not of a histogram.
const STOP: usize = 0;
const TICKS: usize = 1;
const DONE: usize = 2;
const READS: usize = 3;
const SENT: usize = 4;
const NEXT: usize = 5;
const DRAIN: usize = 6;
const FAULTS: usize = 7;
const FIRST: usize = FAULTS + Fault::ALL.len();
/// The slowest requests: when each began, and how long it took.
const SLOWEST: usize = FIRST + 3 * EACH;

/// Why a transaction failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Refused,
    NoPort,
    Closed,
    Short,
    Wrong,
    Status,
    Reset,
    Silent,
}

impl Fault {
    pub(super) const ALL: [Self; 8] = [
        Self::Refused,
        Self::NoPort,
        Self::Closed,
        Self::Short,
        Self::Wrong,
        Self::Status,
        Self::Reset,
        Self::Silent,
    ];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Refused => "connections refused",
            Self::NoPort => "connections without a free local port (TIME_WAIT holds them for a minute)",
            Self::Closed => "connections closed before an answer",
            Self::Short => "answers cut short",
            Self::Wrong => "answers other than what was asked for",
            Self::Status => "answers with an error status",
            Self::Reset => "connections reset",
            Self::Silent => "requests without an answer in time",
        }
    }
}

/// A distribution of times.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times {
    /// From the sending of a request to the end of its answer.
    Service,
    /// From when it was due.
    Response,
    /// By how much the client itself was late.
    Late,
}

/// The memory.
#[derive(Debug, Clone)]
pub(super) struct Board(Arc<Words>);

/// The board's counters at a moment.
pub(super) struct BoardReading(Vec<u64>);

impl Board {
    /// Slowest requests that are kept.
    pub(super) const KEPT: usize = 4096;

    pub(super) fn new() -> Result<Self, CallError> {
        // A word is of 64 bits here, and eight share a line: one side writes them all.
        Ok(Self(Arc::new(Words::shared((SLOWEST + 2 * Self::KEPT).div_ceil(8) + 1)?)))
    }

    fn add(&self, at: usize, more: u64) {
        let word = self.0.packed(at);
        word.store(word.load(Relaxed) + more, Relaxed);
    }

    pub(super) fn stop(&self) {
        self.0.packed(STOP).store(1, Relaxed);
    }

    /// No more requests are sent from now on; answers are waited for.
    pub(super) fn drain(&self) {
        self.0.packed(DRAIN).store(1, Relaxed);
    }

    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.0.packed(DRAIN).load(Relaxed) != 0
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.packed(STOP).load(Relaxed) != 0
    }

    /// Time goes on, for who reads no clock.
    pub(super) fn tick(&self) {
        self.add(TICKS, 1);
    }

    pub(super) fn ticks(&self) -> u64 {
        self.0.packed(TICKS).load(Relaxed)
    }

    pub(super) fn done(&self) -> u64 {
        self.0.packed(DONE).load(Relaxed)
    }

    pub(super) fn is_done(&self) {
        self.add(DONE, 1);
    }

    pub(super) fn is_sent(&self) {
        self.add(SENT, 1);
    }

    /// When the next request is due.
    pub(super) fn is_next(&self, nanos: u64) {
        self.0.packed(NEXT).store(nanos, Relaxed);
    }

    pub(super) fn next(&self) -> u64 {
        self.0.packed(NEXT).load(Relaxed)
    }

    pub(super) fn has_read_the_clock(&self) {
        self.add(READS, 1);
    }

    pub(super) fn fails(&self, fault: Fault) {
        self.add(FAULTS + fault as usize, 1);
    }

    pub(super) fn took(&self, times: Times, nanos: u64) {
        self.add(FIRST + times as usize * EACH + Histogram::place(BITS, nanos).min(EACH - 1), 1);
    }

    /// Keeps a request in one of the places of the slowest.
    #[cfg(feature = "whole")]
    pub(super) fn keep(&self, place: usize, begun: u64, length: u64) {
        self.0.packed(SLOWEST + 2 * place).store(begun, Relaxed);
        self.0.packed(SLOWEST + 2 * place + 1).store(length, Relaxed);
    }

    pub(super) fn read(&self) -> BoardReading {
        BoardReading((0..SLOWEST + 2 * Self::KEPT).map(|at| self.0.packed(at).load(Relaxed)).collect())
    }
}

impl BoardReading {
    fn more(&self, before: &Self, at: usize) -> u64 {
        self.0[at] - before.0[at]
    }

    pub(super) fn done(&self, before: &Self) -> u64 {
        self.more(before, DONE)
    }

    /// Requests that were sent and have neither an answer nor failed.
    pub(super) fn open(&self) -> u64 {
        let ended =
            self.0[DONE] + Fault::ALL.iter().map(|fault| self.0[FAULTS + *fault as usize]).sum::<u64>();
        self.0[SENT].saturating_sub(ended)
    }

    pub(super) fn reads(&self, before: &Self) -> u64 {
        self.more(before, READS)
    }

    pub(super) fn sent(&self, before: &Self) -> u64 {
        self.more(before, SENT)
    }

    #[cfg(feature = "whole")]
    pub(super) fn all_faults(&self) -> Vec<(Fault, u64)> {
        self.faults(&Self(vec![0; self.0.len()]))
    }

    pub(super) fn faults(&self, before: &Self) -> Vec<(Fault, u64)> {
        let all = Fault::ALL.into_iter().map(|fault| (fault, self.more(before, FAULTS + fault as usize)));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// The slowest requests that ended between two times, in the order of their beginnings: when each began, and how long it took.
    #[cfg(feature = "whole")]
    pub(super) fn kept(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let one = |place: usize| (self.0[SLOWEST + 2 * place], self.0[SLOWEST + 2 * place + 1]);
        let mut all: Vec<(u64, u64)> = (0..Board::KEPT).map(one).collect();
        all.retain(|(begun, length)| (from..=to).contains(&(begun + length)));
        all.sort_unstable();
        all
    }

    /// None where there was none.
    pub(super) fn times(&self, before: &Self, times: Times) -> Option<Histogram> {
        let first = FIRST + times as usize * EACH;
        let all = Histogram::of_counts(BITS, (first..first + EACH).map(|at| self.more(before, at)));
        (all.total() > 0).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_become_a_histogram_of_what_came_between_two_looks() {
        let board = Board::new().unwrap();
        board.took(Times::Service, 1_000);
        let before = board.read();
        for nanos in [0, 5, 1_000, 1_001, 3_000_000_000, u64::MAX] {
            board.took(Times::Service, nanos);
        }
        board.took(Times::Late, 77);
        board.is_done();
        board.fails(Fault::Short);
        let after = board.read();
        let all = after.times(&before, Times::Service).unwrap();
        let ends = all.buckets().unwrap();
        assert_eq!((all.total(), ends.len()), (6, 5));
        assert!(ends[2].0.get() <= 1_000 && ends[2].1.get() >= 1_001 && ends[2].2 == 2, "{ends:?}");
        assert!(ends[3].0.get() <= 3_000_000_000 && ends[3].1.get() >= 3_000_000_000);
        assert_eq!(after.times(&before, Times::Late).unwrap().buckets().unwrap()[0].0.get(), 77);
        assert!(after.times(&before, Times::Response).is_none());
        assert_eq!((after.done(&before), after.faults(&before)), (1, vec![(Fault::Short, 1)]));
    }
}

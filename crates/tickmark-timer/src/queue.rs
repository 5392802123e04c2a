//! Pending timers by deadline: a hierarchical timing wheel (Varghese and Lauck, SOSP 1987, scheme 7) of eight levels with 256 slots each, one level
//! for each byte of the deadline. Unlike in most wheels nothing is rounded: timers come out in the order of their deadlines, to the last bit.

mod chunks;
mod nodes;
mod sorted;
mod wheel;

use nodes::Nodes;
use sorted::Sorted;
use std::sync::atomic::{AtomicU32, Ordering};
use wheel::{Slot, Wheel};

/// Timers of one slot that are sorted at once; more are distributed over the level below.
const FEW: usize = 512;

/// A timer of one queue. It stays unique: once its timer has expired or was cancelled, it names none, also when its memory is in use again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimerId {
    queue: u32,
    index: u32,
    generation: u32,
}

/// A timer whose deadline has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired<T> {
    /// Its former id; it names no timer any more.
    pub id: TimerId,
    /// When it was due, in the unit of the queue.
    pub deadline: u64,
    /// The value that was given with it.
    pub value: T,
}

/// The queue holds as many timers as it may: what was to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> std::fmt::Display for Full<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the timer queue holds as many timers as it may")
    }
}

impl<T: std::fmt::Debug> std::error::Error for Full<T> {}

/// Pending timers, each with a deadline and a value.
///
/// Deadlines are numbers of any unit (nanoseconds of CLOCK_MONOTONIC, ticks of a counter) and may be anything up to `u64::MAX`. Timers
/// of one deadline expire in no particular order. Deadlines that have already passed when they are added expire at the
/// next [`pop`](Self::pop)s, in no order among themselves and those that are due at the time of the last one.
///
/// To add, to cancel and to re-arm takes constant time; to expire takes constant time on average, at most eight moves a timer. No memory
/// is allocated but to hold more timers than ever before ([`reserve`](Self::reserve)). With a value of 8 bytes that has a niche (a
/// `Box`, a `NonZeroU64`), or of 4 bytes, a timer takes some 28 bytes.
///
/// ```
/// use tickmark_timer::TimerQueue;
/// let mut queue = TimerQueue::new(1_000);
/// let late = queue.add(5_000, "late").unwrap();
/// queue.add(2_000, "early").unwrap();
/// assert_eq!(queue.next_deadline(), Some(2_000));
/// assert_eq!(queue.pop(4_000).map(|timer| timer.value), Some("early"));
/// assert_eq!(queue.pop(4_000), None);
/// assert_eq!(queue.cancel(late), Some("late"));
/// ```
#[derive(Debug)]
pub struct TimerQueue<T> {
    id: u32,
    nodes: Nodes<T>,
    wheel: Wheel,
    sorted: Sorted,
}

impl<T> TimerQueue<T> {
    /// An empty queue that begins at this time.
    #[must_use]
    pub fn new(now: u64) -> Self {
        Self::with_limit(now, u32::MAX - 1)
    }

    /// An empty queue that holds at most so many timers: more are refused.
    #[must_use]
    pub fn with_limit(now: u64, limit: u32) -> Self {
        static QUEUES: AtomicU32 = AtomicU32::new(0);
        let id = QUEUES.fetch_add(1, Ordering::Relaxed);
        Self { id, nodes: Nodes::new(limit), wheel: Wheel::new(now), sorted: Sorted::with_capacity(FEW) }
    }

    /// Makes room for so many more timers.
    pub fn reserve(&mut self, timers: usize) {
        self.nodes.reserve(timers);
        self.wheel.reserve(self.len() + timers);
    }

    /// How many timers are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True if no timer is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a timer.
    ///
    /// # Errors
    /// The queue is full; the value comes back.
    #[inline]
    pub fn add(&mut self, deadline: u64, value: T) -> Result<TimerId, Full<T>> {
        let index = self.nodes.take(deadline, value).map_err(Full)?;
        let at = self.wheel.insert(deadline, index);
        self.nodes[index].at = at;
        Ok(self.id_of(index))
    }

    /// Takes a timer away before it expires. None where it has expired, was cancelled, or is another queue's.
    #[inline]
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        if id.queue != self.id {
            return None;
        }
        let (value, deadline, at) = self.nodes.give_back(id.index, id.generation)?;
        self.take_out(deadline, at);
        Some(value)
    }

    /// Gives a pending timer another deadline; whether there was such a timer.
    #[inline]
    pub fn rearm(&mut self, id: TimerId, deadline: u64) -> bool {
        let Some(index) = self.pending(id) else { return false };
        self.take_out(self.nodes[index].deadline, self.nodes[index].at);
        self.nodes[index].deadline = deadline;
        self.nodes[index].at = self.wheel.insert(deadline, index);
        true
    }

    /// The deadline of a pending timer.
    #[must_use]
    pub fn deadline(&self, id: TimerId) -> Option<u64> {
        self.pending(id).map(|index| self.nodes[index].deadline)
    }

    /// The next timer whose deadline is not later than `now`. Time does not run backwards: of a `now` before that of an earlier call
    /// nothing becomes pending again.
    #[inline]
    pub fn pop(&mut self, now: u64) -> Option<Expired<T>> {
        loop {
            match (self.sorted.next(), self.wheel.next()) {
                (Some(deadline), next) if next.is_none_or(|slot| deadline <= slot.start) => {
                    if deadline > now {
                        break;
                    }
                    let index = self.sorted.pop()?;
                    return self.expired(index);
                }
                (sorted, Some(slot)) if slot.start <= now => {
                    self.wheel.advance(slot.start);
                    self.open(slot, sorted.is_none());
                }
                _ => break,
            }
        }
        self.wheel.advance(now);
        None
    }

    /// When [`pop`](Self::pop) has to be called next: the earliest deadline, or an earlier time where that would take long to find. None where
    /// nothing is pending.
    #[must_use]
    pub fn next_deadline(&self) -> Option<u64> {
        let sorted = self.sorted.next();
        let next = self.wheel.next().map(|slot| {
            let known = slot.level == 0 || sorted.is_some_and(|deadline| deadline <= slot.start);
            if known || self.wheel.count(slot) > FEW {
                return slot.start;
            }
            let deadlines = self.wheel.each(slot).map(|index| self.nodes[index].deadline);
            deadlines.min().unwrap_or(slot.start)
        });
        sorted.into_iter().chain(next).min()
    }

    fn pending(&self, id: TimerId) -> Option<u32> {
        (id.queue == self.id && self.nodes.holds(id.index, id.generation)).then_some(id.index)
    }

    fn id_of(&self, index: u32) -> TimerId {
        TimerId { queue: self.id, index, generation: self.nodes[index].generation }
    }

    /// Out of the list in which a timer stands there.
    #[inline]
    fn take_out(&mut self, deadline: u64, at: u32) {
        if Sorted::has(at) {
            self.sorted.remove(at);
        } else {
            self.wheel.remove(&mut self.nodes, deadline, at);
        }
    }

    /// Takes a timer that is no longer in a list.
    #[inline]
    fn expired(&mut self, index: u32) -> Option<Expired<T>> {
        let id = self.id_of(index);
        let (value, deadline, _) = self.nodes.give_back(index, id.generation)?;
        Some(Expired { id, deadline, value })
    }

    /// Takes a slot apart whose time has come: its timers are sorted where nothing else is and they are few, else they go over the levels below.
    fn open(&mut self, slot: Slot, may_sort: bool) {
        if slot.level == 0 {
            // Before all that is sorted: else that would have been served first.
            self.wheel.take_some(slot, |index| self.sorted.push(&mut self.nodes, index));
        } else if may_sort && self.wheel.count(slot) <= FEW {
            self.wheel.take(slot, |index| self.sorted.push(&mut self.nodes, index));
            self.sorted.sort(&mut self.nodes);
        } else {
            self.wheel.distribute(&mut self.nodes, slot);
        }
    }
}

#[cfg(test)]
mod tests;

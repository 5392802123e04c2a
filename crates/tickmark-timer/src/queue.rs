//! Pending timers by deadline: a hierarchical timing wheel (Varghese and Lauck, SOSP 1987, scheme 7) of eight levels with 256 slots each, one level
//! for each byte of the deadline. Unlike in most wheels nothing is rounded: timers come out in the order of their deadlines, to the last bit.

mod nodes;
mod wheel;

use nodes::{Nodes, Place};
use std::sync::atomic::{AtomicU32, Ordering};
use wheel::{Slot, Wheel};

/// Timers of one slot that are sorted at once; more are distributed over the level below.
const SORTED: usize = 512;

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
    /// What it was called; names no timer any more.
    pub id: TimerId,
    /// When it was due, in the unit of the queue.
    pub deadline: u64,
    /// What was given with it.
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
/// of one deadline expire in the order in which they were added. A deadline that has already passed expires at the next
/// [`pop`](Self::pop), before later ones.
///
/// To add, to cancel and to re-arm takes constant time; to expire takes constant time on average, at most eight moves a timer. No memory
/// is allocated but to hold more timers than ever before ([`reserve`](Self::reserve)). With a value of 8 bytes that has a niche (a
/// `Box`, a `NonZeroU64`), or of 4 bytes, a timer takes 32 bytes.
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
    /// Deadline, order and index of the timers that are sorted; empty between calls.
    scratch: Vec<(u64, u32, u32)>,
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
        Self { id, nodes: Nodes::new(limit), wheel: Wheel::new(now), scratch: Vec::with_capacity(SORTED) }
    }

    /// Makes room for so many more timers.
    pub fn reserve(&mut self, timers: usize) {
        self.nodes.reserve(timers);
    }

    /// How many timers are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether no timer is pending.
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
        let (index, generation) = self.nodes.take(deadline, value).map_err(Full)?;
        self.wheel.insert(&mut self.nodes, index);
        Ok(TimerId { queue: self.id, index, generation })
    }

    /// Takes a timer away before it expires. None where it has expired, was cancelled, or is another queue's.
    #[inline]
    pub fn cancel(&mut self, id: TimerId) -> Option<T> {
        let index = self.pending(id)?;
        self.wheel.remove(&mut self.nodes, index);
        self.nodes.give_back(index)
    }

    /// Gives a pending timer another deadline, with its place behind those that have it already; whether there was such a timer.
    #[inline]
    pub fn rearm(&mut self, id: TimerId, deadline: u64) -> bool {
        let Some(index) = self.pending(id) else { return false };
        self.wheel.remove(&mut self.nodes, index);
        self.nodes[index].deadline = deadline;
        self.wheel.insert(&mut self.nodes, index);
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
            let sorted = self.wheel.sorted().map(|index| (index, self.nodes[index].deadline));
            let next = self.wheel.next();
            match (sorted, next) {
                // What is sorted was added before anything else of its time.
                (Some((index, deadline)), next) if next.is_none_or(|slot| deadline <= slot.start) => {
                    if deadline > now {
                        break;
                    }
                    return self.expire(index);
                }
                (_, Some(slot)) if slot.start <= now => {
                    self.wheel.advance(slot.start);
                    if slot.level == 0 {
                        return self.expire(self.wheel.first(slot)?);
                    }
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
        let sorted = self.wheel.sorted().map(|index| self.nodes[index].deadline);
        let next = self.wheel.next().map(|slot| {
            if slot.level == 0 || sorted.is_some_and(|deadline| deadline <= slot.start) {
                return slot.start;
            }
            let mut all = self.nodes.from(self.wheel.first(slot));
            let least = all.by_ref().take(SORTED).map(|(_, node)| node.deadline).min();
            least.filter(|_| all.next().is_none()).unwrap_or(slot.start)
        });
        sorted.into_iter().chain(next).min()
    }

    fn pending(&self, id: TimerId) -> Option<u32> {
        (id.queue == self.id && self.nodes.holds(id.index, id.generation)).then_some(id.index)
    }

    fn expire(&mut self, index: u32) -> Option<Expired<T>> {
        let (deadline, generation) = (self.nodes[index].deadline, self.nodes[index].generation);
        self.wheel.remove(&mut self.nodes, index);
        let value = self.nodes.give_back(index)?;
        Some(Expired { id: TimerId { queue: self.id, index, generation }, deadline, value })
    }

    /// Takes a slot apart whose time has come: into the sorted list where that is empty and they are few, else over the levels below.
    fn open(&mut self, slot: Slot, may_sort: bool) {
        let first = self.wheel.take(slot);
        let few = may_sort && {
            let mut each = self.nodes.from(first);
            let numbered = (0..).zip(each.by_ref().take(SORTED));
            self.scratch.extend(numbered.map(|(order, (index, node))| (node.deadline, order, index)));
            each.next().is_none()
        };
        if !few {
            self.scratch.clear();
            self.wheel.distribute(&mut self.nodes, first);
            return;
        }
        self.scratch.sort_unstable();
        for (.., index) in self.scratch.drain(..) {
            self.wheel.append(&mut self.nodes, index, Place::SORTED);
        }
    }
}

#[cfg(test)]
mod tests;

//! The timers of a slot that has been opened, in their order.

use super::nodes::{NONE, Nodes};

/// Set in a timer's `at` where it stands here.
const HERE: u32 = 1 << 31;

/// The latest first, so that the next one is taken from the end. What was cancelled leaves a hole, but none at the end.
#[derive(Debug)]
pub(super) struct Sorted(Vec<(u64, u32)>);

impl Sorted {
    pub(super) fn with_capacity(timers: usize) -> Self {
        Self(Vec::with_capacity(timers))
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// True if a timer stands here, by its `at`.
    #[inline]
    pub(super) fn has(at: u32) -> bool {
        at & HERE != 0
    }

    /// Puts one before all others.
    #[inline]
    pub(super) fn push<T>(&mut self, nodes: &mut Nodes<T>, timer: u32) {
        nodes[timer].at = HERE | self.0.len() as u32;
        self.0.push((nodes[timer].deadline, timer));
    }

    /// After the last one was pushed, where they had no order.
    pub(super) fn sort<T>(&mut self, nodes: &mut Nodes<T>) {
        self.0.sort_unstable_by(|a, b| b.cmp(a));
        for (place, (_, timer)) in (0..).zip(&self.0) {
            nodes[*timer].at = HERE | place;
        }
    }

    /// The next one: its deadline.
    #[inline]
    pub(super) fn next(&self) -> Option<u64> {
        self.0.last().map(|(deadline, _)| *deadline)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<u32> {
        let (_, timer) = self.0.pop()?;
        self.close();
        Some(timer)
    }

    pub(super) fn remove(&mut self, at: u32) {
        if let Some((_, timer)) = self.0.get_mut((at & !HERE) as usize) {
            *timer = NONE;
        }
        self.close();
    }

    #[inline]
    fn close(&mut self) {
        while self.0.last().is_some_and(|(_, timer)| *timer == NONE) {
            self.0.pop();
        }
    }
}

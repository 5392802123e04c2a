//! The memory of timers: one vector, its free places in a list.

use crate::sys;
use std::ops::{Index, IndexMut};

/// No node, no chunk.
pub(super) const NONE: u32 = u32::MAX;
/// As many as chunks have numbers for.
const MOST: u32 = 1 << 30;

#[derive(Debug)]
pub(super) struct Node<T> {
    pub(super) deadline: u64,
    /// None where the place is free.
    value: Option<T>,
    pub(super) generation: u32,
    /// Where it stands in its list; of a free place, the next one.
    pub(super) at: u32,
}

#[derive(Debug)]
pub(super) struct Nodes<T> {
    all: Vec<Node<T>>,
    free: u32,
    len: usize,
    limit: usize,
}

impl<T> Nodes<T> {
    pub(super) fn new(limit: u32) -> Self {
        Self { all: Vec::new(), free: NONE, len: 0, limit: limit.min(MOST) as usize }
    }

    /// Makes room for so many more timers, on huge pages where that is worth it: timers are visited in any order, and each visit of a small
    /// page costs a walk through the page tables, in a guest through two.
    pub(super) fn reserve(&mut self, timers: usize) {
        self.all.reserve((self.len + timers).saturating_sub(self.all.len()));
        sys::prefer_huge_pages(self.all.as_ptr().cast(), self.all.capacity() * size_of::<Node<T>>());
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.all.capacity()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// True if a timer of that generation is at this place.
    #[inline]
    pub(super) fn holds(&self, index: u32, generation: u32) -> bool {
        let node = self.all.get(index as usize);
        node.is_some_and(|node| node.generation == generation && node.value.is_some())
    }

    /// A place for a timer; the value again where there is none.
    #[inline]
    pub(super) fn take(&mut self, deadline: u64, value: T) -> Result<u32, T> {
        let index = self.free;
        if index == NONE {
            return self.more(deadline, value);
        }
        let node = &mut self.all[index as usize];
        self.free = node.at;
        (node.deadline, node.value) = (deadline, Some(value));
        self.len += 1;
        Ok(index)
    }

    /// A place where there was none. So there are never more than the limit beside those whose generations are used up, and a free one is below it.
    fn more(&mut self, deadline: u64, value: T) -> Result<u32, T> {
        if self.len >= self.limit {
            return Err(value);
        }
        // Places whose generations are used up stay empty.
        let Some(index) = u32::try_from(self.all.len()).ok().filter(|index| *index < MOST) else {
            return Err(value);
        };
        if self.all.len() == self.all.capacity() {
            self.reserve(self.all.len().max(64));
        }
        self.all.push(Node { deadline, value: Some(value), generation: 0, at: NONE });
        self.len += 1;
        Ok(index)
    }

    /// Frees a timer's place where it is of that generation: its value, its deadline and where it stood. A place whose generations are used
    /// up is never used again, so that no handle can come to name another timer.
    #[inline]
    pub(super) fn give_back(&mut self, index: u32, generation: u32) -> Option<(T, u64, u32)> {
        let node = self.all.get_mut(index as usize).filter(|node| node.generation == generation)?;
        let value = node.value.take()?;
        let stood = (value, node.deadline, node.at);
        self.len -= 1;
        if let Some(generation) = generation.checked_add(1) {
            (node.generation, node.at) = (generation, self.free);
            self.free = index;
        }
        Some(stood)
    }
}

impl<T> Index<u32> for Nodes<T> {
    type Output = Node<T>;

    #[inline]
    fn index(&self, index: u32) -> &Node<T> {
        &self.all[index as usize]
    }
}

impl<T> IndexMut<u32> for Nodes<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Node<T> {
        &mut self.all[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_whose_generations_are_used_up_is_not_used_again() {
        let mut nodes = Nodes::new(10);
        let first = nodes.take(1, ()).unwrap();
        nodes[first].generation = u32::MAX;
        assert!(nodes.holds(first, u32::MAX));
        assert!(nodes.give_back(first, u32::MAX).is_some());
        let second = nodes.take(1, ()).unwrap();
        assert_ne!(first, second);
        assert!(!nodes.holds(first, u32::MAX) && !nodes.holds(first, 0) && nodes.holds(second, 0));
    }
}

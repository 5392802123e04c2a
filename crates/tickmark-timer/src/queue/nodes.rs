//! The memory of timers: one vector, its free places in a list.

use std::ops::{Index, IndexMut};

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// The list that a node is in: a slot of the wheel by its number, or one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(pub(super) u16);

impl Place {
    /// What is sorted already.
    pub(super) const SORTED: Self = Self(2048);
    /// What holds no timer.
    const FREE: Self = Self(2049);
}

#[derive(Debug)]
pub(super) struct Node<T> {
    pub(super) deadline: u64,
    value: Option<T>,
    pub(super) next: u32,
    pub(super) previous: u32,
    pub(super) generation: u32,
    pub(super) place: Place,
}

#[derive(Debug)]
pub(super) struct Nodes<T> {
    all: Vec<Node<T>>,
    free: u32,
    len: usize,
    limit: u32,
}

impl<T> Nodes<T> {
    pub(super) fn new(limit: u32) -> Self {
        Self { all: Vec::new(), free: NONE, len: 0, limit: limit.min(NONE - 1) }
    }

    pub(super) fn reserve(&mut self, timers: usize) {
        self.all.reserve((self.len + timers).saturating_sub(self.all.len()));
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.all.capacity()
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether a timer of that generation is at this place.
    pub(super) fn holds(&self, index: u32, generation: u32) -> bool {
        let node = self.all.get(index as usize);
        node.is_some_and(|node| node.generation == generation && node.place != Place::FREE)
    }

    /// A place for a timer, with its generation; the value again where there is none.
    #[inline]
    pub(super) fn take(&mut self, deadline: u64, value: T) -> Result<(u32, u32), T> {
        if self.len >= self.limit as usize {
            return Err(value);
        }
        if self.free == NONE {
            // Places whose generations are used up stay empty, and are no part of the limit.
            let Some(index) = u32::try_from(self.all.len()).ok().filter(|index| *index < NONE) else {
                return Err(value);
            };
            let (value, place) = (Some(value), Place::FREE);
            self.all.push(Node { deadline, value, next: NONE, previous: NONE, generation: 0, place });
            self.len += 1;
            return Ok((index, 0));
        }
        let index = self.free;
        let node = &mut self.all[index as usize];
        self.free = node.next;
        (node.deadline, node.value) = (deadline, Some(value));
        self.len += 1;
        Ok((index, node.generation))
    }

    /// Frees a place and gives its value. A place whose generations are used up is never used again, so that no handle can come to name
    /// another timer.
    #[inline]
    pub(super) fn give_back(&mut self, index: u32) -> Option<T> {
        let node = &mut self.all[index as usize];
        node.place = Place::FREE;
        self.len -= 1;
        if let Some(generation) = node.generation.checked_add(1) {
            (node.generation, node.next) = (generation, self.free);
            self.free = index;
        }
        node.value.take()
    }

    /// The nodes of a list from this one on.
    pub(super) fn from(&self, first: Option<u32>) -> impl Iterator<Item = (u32, &Node<T>)> {
        std::iter::successors(first.map(|index| (index, &self[index])), |(_, node)| {
            (node.next != NONE).then(|| (node.next, &self[node.next]))
        })
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
    fn a_timer_takes_32_bytes() {
        assert_eq!(size_of::<Node<u32>>(), 32);
        assert_eq!(size_of::<Node<Box<u64>>>(), 32);
    }

    #[test]
    fn a_place_whose_generations_are_used_up_is_not_used_again() {
        let mut nodes = Nodes::new(10);
        let (first, _) = nodes.take(1, ()).unwrap();
        nodes[first].generation = u32::MAX;
        assert!(nodes.give_back(first).is_some());
        let (second, _) = nodes.take(1, ()).unwrap();
        assert_ne!(first, second);
        assert!(!nodes.holds(first, u32::MAX) && !nodes.holds(first, 0));
    }
}

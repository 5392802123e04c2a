//! Slots and what is in them, by the time at which they have to be looked at.

use super::chunks::{Chunks, List};
use super::nodes::Nodes;

const BITS: u32 = 8;
const LEVELS: usize = 8;
const SLOTS: usize = 1 << BITS;
const ALL: usize = LEVELS * SLOTS;

/// A slot that is not empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) level: usize,
    number: usize,
    /// The first time that lies in it; at the lowest level the only one.
    pub(super) start: u64,
}

/// A timer stands at the level of the highest byte in which its deadline differs from the cursor, in the slot of that byte. So a slot of a level
/// lies within the cursor's own slot of the level above, and before every slot of that level: the lowest level that is not empty
/// has the earliest timers. As the cursor moves up to a slot's beginning, what stands in it stays right where it is: which slot a timer is in is
/// told by its deadline, and not kept.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Every slot that begins at or before this time has been opened.
    cursor: u64,
    /// Those of each level, lowest first.
    slots: Box<[List]>,
    chunks: Chunks,
    /// Which slots are not empty, a bit each.
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// Which levels are not.
    levels: u8,
}

impl Wheel {
    pub(super) fn new(now: u64) -> Self {
        // Made where it stays: by way of the stack it is larger than some stacks are.
        let slots = (0..ALL).map(|_| List::EMPTY).collect();
        Self { cursor: now, slots, chunks: Chunks::new(), occupied: [[0; SLOTS / 64]; LEVELS], levels: 0 }
    }

    pub(super) fn reserve(&mut self, timers: usize) {
        self.chunks.reserve(timers, ALL);
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.chunks.capacity()
    }

    /// Every slot that begins until then must have been opened.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        self.cursor = self.cursor.max(now);
    }

    /// Number of a slot; a deadline that has passed is at the cursor.
    #[inline]
    fn number(&self, deadline: u64) -> usize {
        let at = deadline.max(self.cursor);
        let level = (63 - ((at ^ self.cursor) | 1).leading_zeros()) / BITS;
        level as usize * SLOTS + (at >> (level * BITS)) as usize % SLOTS
    }

    #[inline]
    pub(super) fn insert(&mut self, deadline: u64, index: u32) -> u32 {
        let number = self.number(deadline);
        let list = &mut self.slots[number];
        if list.is_empty() {
            self.occupied[number / SLOTS][number % SLOTS / 64] |= 1 << (number % 64);
            self.levels |= 1 << (number / SLOTS);
        }
        self.chunks.push(list, index)
    }

    #[inline]
    pub(super) fn remove<T>(&mut self, nodes: &mut Nodes<T>, deadline: u64, at: u32) {
        let number = self.number(deadline);
        let list = &mut self.slots[number];
        self.chunks.remove(list, at);
        if list.is_sparse() {
            self.shrink(nodes, number);
        }
    }

    /// Gives back what a list needs no more.
    #[cold]
    fn shrink<T>(&mut self, nodes: &mut Nodes<T>, number: usize) {
        let list = std::mem::replace(&mut self.slots[number], List::EMPTY);
        if list.is_empty() {
            self.vacate(number);
        }
        self.refill(nodes, list);
    }

    /// Takes some timers of one deadline out of their slot, giving each.
    #[inline]
    pub(super) fn take_some(&mut self, slot: Slot, each: impl FnMut(u32)) {
        let own = self.chunks.shift(&mut self.slots[slot.number]);
        own.into_iter().flat_map(Iterator::rev).for_each(each);
        if self.count(slot) == 0 {
            self.vacate(slot.number);
        }
    }

    /// How many timers are in a slot.
    pub(super) fn count(&self, slot: Slot) -> usize {
        self.slots[slot.number].len()
    }

    /// The timers of a slot.
    pub(super) fn each(&self, slot: Slot) -> impl Iterator<Item = u32> {
        self.chunks.each(self.slots[slot.number])
    }

    /// Empties a slot, giving each of its timers.
    pub(super) fn take(&mut self, slot: Slot, mut each: impl FnMut(u32)) {
        let mut list = std::mem::replace(&mut self.slots[slot.number], List::EMPTY);
        self.vacate(slot.number);
        while let Some(own) = self.chunks.shift(&mut list) {
            own.for_each(&mut each);
        }
    }

    /// Empties a slot into those of the levels below.
    pub(super) fn distribute<T>(&mut self, nodes: &mut Nodes<T>, slot: Slot) {
        let list = std::mem::replace(&mut self.slots[slot.number], List::EMPTY);
        self.vacate(slot.number);
        self.refill(nodes, list);
    }

    /// Puts the timers of a list where they belong now.
    fn refill<T>(&mut self, nodes: &mut Nodes<T>, mut list: List) {
        while let Some(own) = self.chunks.shift(&mut list) {
            own.for_each(|timer| nodes[timer].at = self.insert(nodes[timer].deadline, timer));
        }
    }

    /// The earliest slot that is not empty.
    #[inline]
    pub(super) fn next(&self) -> Option<Slot> {
        let level = self.levels.trailing_zeros() as usize;
        let words = self.occupied.get(level)?;
        let (word, bits) = words.iter().enumerate().find(|(_, bits)| **bits != 0)?;
        let slot = word * 64 + bits.trailing_zeros() as usize;
        let shift = level as u32 * BITS;
        // The bytes above are the cursor's, those below are zero.
        let above = (self.cursor >> shift) & !(SLOTS as u64 - 1);
        Some(Slot { level, number: level * SLOTS + slot, start: (above | slot as u64) << shift })
    }

    /// Marks a slot as empty.
    fn vacate(&mut self, number: usize) {
        let words = &mut self.occupied[number / SLOTS];
        words[number % SLOTS / 64] &= !(1 << (number % 64));
        if words.iter().all(|word| *word == 0) {
            self.levels &= !(1 << (number / SLOTS));
        }
    }
}

//! Slots and what is in them: lists of nodes, by the time at which they have to be looked at.

use super::nodes::{NONE, Nodes, Place};

const BITS: u32 = 8;
const LEVELS: usize = 8;
const SLOTS: usize = 1 << BITS;
/// Every slot of every level, and the sorted list.
const LISTS: usize = LEVELS * SLOTS + 1;

#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

/// A slot that is not empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) level: usize,
    place: Place,
    /// The first time that lies in it; at the lowest level the only one.
    pub(super) start: u64,
}

/// A timer stands at the level of the highest byte in which its deadline differs from the cursor, in the slot of that byte. So a slot of a level
/// lies within the cursor's own slot of the level above, and before every slot of that level: the lowest level that is not empty
/// has the earliest timers.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Every slot that begins at or before this time has been opened.
    cursor: u64,
    lists: Box<[List; LISTS]>,
    /// Which slots are not empty, a bit each.
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// Which levels are not.
    levels: u8,
}

impl Wheel {
    pub(super) fn new(now: u64) -> Self {
        let lists = Box::new([List { first: NONE, last: NONE }; LISTS]);
        Self { cursor: now, lists, occupied: [[0; SLOTS / 64]; LEVELS], levels: 0 }
    }

    /// Every slot that begins until then must have been opened.
    #[inline]
    pub(super) fn advance(&mut self, now: u64) {
        self.cursor = self.cursor.max(now);
    }

    #[inline]
    pub(super) fn insert<T>(&mut self, nodes: &mut Nodes<T>, index: u32) {
        // What has passed stands at the cursor.
        let at = nodes[index].deadline.max(self.cursor);
        let level = (63 - ((at ^ self.cursor) | 1).leading_zeros()) / BITS;
        let slot = (at >> (level * BITS)) as usize % SLOTS;
        self.occupied[level as usize][slot / 64] |= 1 << (slot % 64);
        self.levels |= 1 << level;
        self.append(nodes, index, Place((level as usize * SLOTS + slot) as u16));
    }

    /// Behind all others of a list.
    #[inline]
    pub(super) fn append<T>(&mut self, nodes: &mut Nodes<T>, index: u32, place: Place) {
        let list = &mut self.lists[place.0 as usize];
        let node = &mut nodes[index];
        (node.place, node.next, node.previous) = (place, NONE, list.last);
        match list.last {
            NONE => list.first = index,
            last => nodes[last].next = index,
        }
        list.last = index;
    }

    #[inline]
    pub(super) fn remove<T>(&mut self, nodes: &mut Nodes<T>, index: u32) {
        let node = &nodes[index];
        let (place, next, previous) = (node.place, node.next, node.previous);
        let list = &mut self.lists[place.0 as usize];
        match previous {
            NONE => list.first = next,
            previous => nodes[previous].next = next,
        }
        match next {
            NONE => list.last = previous,
            next => nodes[next].previous = previous,
        }
        if list.first == NONE {
            self.vacate(place);
        }
    }

    /// Empties a slot; the first node of what was in it.
    pub(super) fn take(&mut self, slot: Slot) -> Option<u32> {
        let list =
            std::mem::replace(&mut self.lists[slot.place.0 as usize], List { first: NONE, last: NONE });
        self.vacate(slot.place);
        (list.first != NONE).then_some(list.first)
    }

    /// Puts a list's nodes, in their order, where they belong now.
    pub(super) fn distribute<T>(&mut self, nodes: &mut Nodes<T>, first: Option<u32>) {
        let mut rest = first.unwrap_or(NONE);
        while rest != NONE {
            let index = rest;
            rest = nodes[index].next;
            self.insert(nodes, index);
        }
    }

    /// The first of the sorted nodes.
    #[inline]
    pub(super) fn sorted(&self) -> Option<u32> {
        let first = self.lists[Place::SORTED.0 as usize].first;
        (first != NONE).then_some(first)
    }

    #[inline]
    pub(super) fn first(&self, slot: Slot) -> Option<u32> {
        let first = self.lists[slot.place.0 as usize].first;
        (first != NONE).then_some(first)
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
        Some(Slot {
            level,
            place: Place((level * SLOTS + slot) as u16),
            start: (above | slot as u64) << shift,
        })
    }

    fn vacate(&mut self, place: Place) {
        let (level, slot) = (place.0 as usize / SLOTS, place.0 as usize % SLOTS);
        let Some(words) = self.occupied.get_mut(level) else { return };
        words[slot / 64] &= !(1 << (slot % 64));
        if words.iter().all(|word| *word == 0) {
            self.levels &= !(1 << level);
        }
    }
}

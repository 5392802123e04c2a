//! Lists of timers as chunks of a cache line: what stands in a list is known line by line, so that its timers are fetched many at a time and not one
//! after the other. A timer that leaves touches none of the others: its place is a hole, which the next one fills.

use super::nodes::NONE;
use crate::sys;

/// Places of a chunk.
const FULL: u32 = 15;
/// Chunks are so far apart in the number by which a place is found: a power of two.
const STRIDE: u32 = 16;
/// Set in a place that is a hole; the rest is the next hole.
const HOLE: u32 = 1 << 31;
/// The last hole.
const LAST: u32 = HOLE - 1;
/// Lists of fewer places are never too sparse.
const SMALL: u32 = 64;

/// Some timers of a list, by their indices, and behind them the next chunk: one line of most caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Chunk([u32; STRIDE as usize]);

impl Chunk {
    const EMPTY: Self = {
        let mut all = [HOLE; STRIDE as usize];
        all[FULL as usize] = NONE;
        Self(all)
    };

    fn next(&self) -> u32 {
        self.0[FULL as usize]
    }

    fn set_next(&mut self, next: u32) {
        self.0[FULL as usize] = next;
    }
}

/// A list: all of its chunks are full, of timers or holes, but the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    first: u32,
    last: u32,
    places: u32,
    holes: u32,
    /// The hole that is filled next.
    hole: u32,
    /// With so many holes it is sparse.
    most: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE, places: 0, holes: 0, hole: LAST, most: 0 };

    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.places - self.holes) as usize
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.places == self.holes
    }

    /// True if it takes four times the memory that it needs, or is empty.
    #[inline]
    pub(super) fn is_sparse(&self) -> bool {
        self.holes == self.places || self.holes > self.most
    }
}

/// The memory of all lists.
#[derive(Debug)]
pub(super) struct Chunks {
    all: Vec<Chunk>,
    free: u32,
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self { all: Vec::new(), free: NONE }
    }

    /// Makes room for so many timers in so many lists.
    pub(super) fn reserve(&mut self, timers: usize, lists: usize) {
        self.all.reserve((timers / FULL as usize + lists).saturating_sub(self.all.len()));
        sys::prefer_huge_pages(self.all.as_ptr().cast(), self.all.capacity() * size_of::<Chunk>());
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.all.capacity()
    }

    #[inline]
    fn place(&mut self, at: u32) -> &mut u32 {
        &mut self.all[(at / STRIDE) as usize].0[(at % STRIDE) as usize]
    }

    /// Puts a timer into a list; where it stands.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, timer: u32) -> u32 {
        let at = list.hole;
        if at == LAST {
            return self.append(list, timer);
        }
        list.hole = std::mem::replace(self.place(at), timer) & !HOLE;
        list.holes -= 1;
        at
    }

    /// The same at a list's end.
    #[inline]
    fn append(&mut self, list: &mut List, timer: u32) -> u32 {
        let place = list.places % FULL;
        if place == 0 {
            let chunk = self.take();
            match list.last {
                NONE => list.first = chunk,
                last => self.all[last as usize].set_next(chunk),
            }
            list.last = chunk;
            list.most = ((list.places + FULL) / 4 * 3).max(SMALL);
        }
        list.places += 1;
        let at = list.last * STRIDE + place;
        *self.place(at) = timer;
        at
    }

    /// Takes what stands there out of its list. The fields are written and read one by one: to read several at once of which one was just written, a
    /// processor waits until all it wrote before has reached its cache, cold lines among it.
    #[inline]
    pub(super) fn remove(&mut self, list: &mut List, at: u32) {
        *self.place(at) = HOLE | list.hole;
        list.hole = at;
        list.holes += 1;
    }

    /// Takes a list's first chunk off: its timers. The holes of the rest are not filled any more.
    #[inline]
    pub(super) fn shift(&mut self, list: &mut List) -> Option<impl DoubleEndedIterator<Item = u32> + use<>> {
        let chunk = list.first;
        let own = *self.all.get(chunk as usize)?;
        let (next, count) = (own.next(), list.places.min(FULL));
        let own = own.0.into_iter().take(count as usize).filter(|timer| timer & HOLE == 0);
        let holes = count - own.clone().count() as u32;
        (list.places, list.holes) = (list.places - count, list.holes - holes);
        (list.first, list.hole) = (next, LAST);
        if next == NONE {
            list.last = NONE;
        }
        self.give_back(chunk);
        Some(own)
    }

    /// The timers of a list.
    pub(super) fn each(&self, list: List) -> impl Iterator<Item = u32> {
        let chunk = |number: u32| self.all.get(number as usize);
        let chunks = std::iter::successors(chunk(list.first), move |own| chunk(own.next()));
        let places = chunks.flat_map(|chunk| &chunk.0[..FULL as usize]).copied().take(list.places as usize);
        places.filter(|timer| timer & HOLE == 0)
    }

    fn take(&mut self) -> u32 {
        if self.free == NONE {
            self.all.push(Chunk::EMPTY);
            return (self.all.len() - 1) as u32;
        }
        let chunk = self.free;
        self.free = std::mem::replace(&mut self.all[chunk as usize], Chunk::EMPTY).next();
        chunk
    }

    fn give_back(&mut self, chunk: u32) {
        self.all[chunk as usize].set_next(self.free);
        self.free = chunk;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(chunks: &Chunks, list: List) -> Vec<u32> {
        let mut all: Vec<u32> = chunks.each(list).collect();
        all.sort_unstable();
        assert_eq!(all.len(), list.len());
        all
    }

    #[test]
    fn a_list_keeps_what_was_not_removed_and_fills_its_holes() {
        let (mut chunks, mut list) = (Chunks::new(), List::EMPTY);
        let stands: Vec<u32> = (0..100).map(|timer| chunks.push(&mut list, timer)).collect();
        for timer in (0..100).filter(|timer| timer % 3 == 0) {
            chunks.remove(&mut list, stands[timer]);
        }
        let left: Vec<u32> = (0..100).filter(|timer| timer % 3 != 0).collect();
        assert_eq!(all(&chunks, list), left);
        let before = chunks.all.len();
        (100..134).for_each(|timer| assert!(chunks.push(&mut list, timer) < 8 * STRIDE));
        assert_eq!((chunks.all.len(), list.len()), (before, 100));
        let mut shifted = Vec::new();
        while let Some(own) = chunks.shift(&mut list) {
            shifted.extend(own);
        }
        shifted.sort_unstable();
        assert_eq!(shifted, left.into_iter().chain(100..134).collect::<Vec<_>>());
        assert_eq!(list.len(), 0);
    }

    #[test]
    fn the_memory_of_an_empty_list_is_used_again() {
        let (mut chunks, mut list) = (Chunks::new(), List::EMPTY);
        for _ in 0..3 {
            let stands: Vec<u32> = (0..100).map(|timer| chunks.push(&mut list, timer)).collect();
            assert!(!list.is_sparse());
            stands[..90].iter().for_each(|at| chunks.remove(&mut list, *at));
            assert!(list.is_sparse() && list.len() == 10);
            stands[90..].iter().for_each(|at| chunks.remove(&mut list, *at));
            assert!(list.is_sparse() && list.is_empty());
            while chunks.shift(&mut list).is_some() {}
            assert_eq!((list.first, list.places), (NONE, 0));
            assert_eq!(chunks.all.len(), 7);
        }
    }

    #[test]
    fn what_is_left_after_the_first_chunk_is_a_list_like_others() {
        let (mut chunks, mut list) = (Chunks::new(), List::EMPTY);
        let stands: Vec<u32> = (0..40).map(|timer| chunks.push(&mut list, timer)).collect();
        [3, 20, 21].iter().for_each(|timer| chunks.remove(&mut list, stands[*timer]));
        assert_eq!(chunks.shift(&mut list).unwrap().count(), 14);
        assert_eq!(
            all(&chunks, list),
            (15..40).filter(|timer| ![20, 21].contains(timer)).collect::<Vec<_>>()
        );
        chunks.remove(&mut list, stands[30]);
        assert_eq!(chunks.push(&mut list, 30), stands[30]);
        (100..110).for_each(|timer| assert!(chunks.push(&mut list, timer) != stands[20]));
        assert_eq!(list.len(), 33);
    }
}

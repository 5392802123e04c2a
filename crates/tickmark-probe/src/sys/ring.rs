//! Rings of pointers through a stretch of memory, and chains of loads along them.

use super::memory::Region;
use std::rc::Rc;

/// A pointer.
const WORD: usize = 8;

/// Memory in which every word is the address of a word of it: whatever was linked, and wherever a chain stands, the next load
/// lies inside. Nothing else is ever written there.
#[derive(Debug)]
pub struct Ring(Region);

impl Ring {
    /// Takes memory of our own; each word points to the first, which points to itself.
    ///
    /// # Panics
    /// Where it is not private, or not as long as a word.
    #[must_use]
    pub fn over(memory: Region) -> Rc<Self> {
        assert!(memory.is_private() && memory.len() >= WORD, "memory of our own, a word and more");
        let first = memory.start().expose_provenance() as u64;
        memory.fill(0, memory.len() / WORD * WORD, first);
        Rc::new(Self(memory))
    }

    /// Bytes of it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if it is empty; it never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Joins places into rings: `places` are offsets, each with that of the place after it.
    ///
    /// # Panics
    /// Where one lies outside, or not at a multiple of a word.
    pub fn link(&self, places: impl IntoIterator<Item = (usize, usize)>) {
        for (from, to) in places {
            let (from, to) = (self.place(from), self.place(to));
            // SAFETY: `place` is a word inside the mapping.
            unsafe { from.write(to.cast()) };
        }
    }

    /// Takes all of its lines out of the caches, where the processor has an instruction for that.
    pub fn flush(&self, line: usize) {
        self.0.flush(line);
    }

    /// Chains that stand at these offsets.
    ///
    /// # Panics
    /// Where one lies outside, or not at a multiple of a word.
    #[must_use]
    pub fn chains<const N: usize>(self: &Rc<Self>, offsets: [usize; N]) -> Chains<N> {
        Chains { _ring: Rc::clone(self), at: offsets.map(|offset| self.place(offset).cast()) }
    }

    /// A word that holds an address.
    fn place(&self, offset: usize) -> *mut *mut u8 {
        assert!(offset.is_multiple_of(WORD), "a place of a ring");
        self.0.place(offset, WORD).cast()
    }
}

/// Loads in each chain of one [`Chains::walk`].
pub const STEPS: u64 = 64;

/// Places in rings.
#[derive(Debug)]
pub struct Chains<const N: usize> {
    _ring: Rc<Ring>,
    at: [*mut u8; N],
}

impl<const N: usize> Chains<N> {
    /// Goes `STEPS` steps along each chain, side by side; each load waits for the one before it in its chain.
    #[inline]
    pub fn walk(&mut self) {
        for _ in 0..STEPS {
            for at in &mut self.at {
                // SAFETY: every word of a ring holds the address of another; the ring is held. Volatile: each load is made.
                *at = unsafe { at.cast::<*mut u8>().read_volatile() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::Pages;
    use super::*;

    fn refuses(what: impl FnOnce() + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(what).is_err()
    }

    #[test]
    fn a_chain_goes_round_and_stays_inside() {
        let ring = Ring::over(Region::private(4096, Pages::Small).unwrap());
        // Nothing is linked: it stays at the first word.
        let mut chains = ring.chains([8, 4088]);
        chains.walk();
        ring.link([(0, 64), (64, 4032), (4032, 0)]);
        let mut chain = ring.chains([0]);
        chain.walk();
        // 64 steps are 21 times round and one more.
        let start = ring.0.start().addr();
        assert_eq!(chain.at[0].addr() - start, 64);
        chains.walk();
        assert!(chains.at.iter().all(|at| (start..start + 4096).contains(&at.addr())));
    }

    #[test]
    fn what_lies_outside_is_refused_also_where_a_sum_would_wrap() {
        for offset in [4096, 4090, 4, usize::MAX, usize::MAX - 7, usize::MAX - 3] {
            let ring = || Ring::over(Region::private(4096, Pages::Small).unwrap());
            assert!(refuses(|| ring().link([(offset, 0)])), "{offset}");
            assert!(refuses(|| ring().link([(0, offset)])), "{offset}");
            assert!(refuses(|| drop(ring().chains([offset]))), "{offset}");
            let memory = || Region::private(4096, Pages::Small).unwrap();
            assert!(refuses(|| assert_eq!(memory().sum(offset, 8), 0)), "{offset}");
            assert!(refuses(|| assert_ne!(memory().sum(8, offset), 1)) || offset == 4, "{offset}");
            assert!(refuses(|| memory().fill(offset, 8, 1)), "{offset}");
            assert!(refuses(|| memory().copy(&memory(), offset, 8)) || offset == 4, "{offset}");
            assert!(refuses(|| memory().copy_by_hand(&memory(), offset, 8)), "{offset}");
            assert!(
                refuses(|| assert_eq!(memory().touch(offset), 1)) || offset == 4 || offset == 4090,
                "{offset}"
            );
        }
        assert!(refuses(|| {
            let memory = Region::private(4096, Pages::Small).unwrap();
            memory.copy(&memory, 0, 8);
        }));
        assert!(Region::private(usize::MAX - 4096, Pages::Small).is_err());
        assert!(Region::private(usize::MAX - 4096, Pages::Huge).is_err());
    }
}

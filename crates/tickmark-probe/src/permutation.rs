//! A random order of places that can be computed forwards and backwards, so that a ring through memory is linked
//! from its first byte to its last, without a table.

/// A bijection of 0..count, mixed by two odd factors and two shifts of a power of two, walked until it falls
/// below `count` (cycle walking: Black and Rogaway, Ciphers with arbitrary finite domains, 2002).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    factors: [u64; 2],
    inverses: [u64; 2],
}

impl Permutation {
    /// A permutation of 0..count; another for each seed.
    #[must_use]
    pub(crate) fn new(count: u64, seed: u64) -> Self {
        let bits = 64 - count.max(2).saturating_sub(1).leading_zeros();
        let mixed = |n: u64| (seed ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) | 5;
        let factors = [mixed(0x243f_6a88), mixed(0x85a3_08d3)];
        Self {
            count: count.max(1),
            mask: (1 << bits) - 1,
            shift: bits.div_ceil(2),
            factors,
            inverses: factors.map(inverse),
        }
    }

    /// The place at a position of the order.
    #[must_use]
    pub(crate) fn place(&self, position: u64) -> u64 {
        let mut place = position;
        loop {
            for factor in self.factors {
                place = place.wrapping_mul(factor) & self.mask;
                place ^= place >> self.shift;
            }
            if place < self.count {
                return place;
            }
        }
    }

    /// The position of a place in the order.
    #[must_use]
    pub(crate) fn position(&self, place: u64) -> u64 {
        let mut position = place;
        loop {
            for inverse in self.inverses.iter().rev() {
                position ^= position >> self.shift;
                position = position.wrapping_mul(*inverse) & self.mask;
            }
            if position < self.count {
                return position;
            }
        }
    }

    /// The place after another, in a ring through all of them.
    #[must_use]
    pub(crate) fn after(&self, place: u64) -> u64 {
        let next = self.position(place) + 1;
        self.place(if next == self.count { 0 } else { next })
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_goes_through_every_place_once() {
        for (count, seed) in [(1, 1), (2, 9), (3, 5), (64, 7), (96, 1), (1000, 3), (4096, 11), (100_000, 2)] {
            let order = Permutation::new(count, seed);
            let (mut observed, mut at) = (vec![false; count as usize], 0);
            for _ in 0..count {
                assert!(!std::mem::replace(&mut observed[at as usize], true), "{count}: {at} comes twice");
                assert_eq!(order.place(order.position(at)), at);
                at = order.after(at);
            }
            assert_eq!(at, 0, "{count}: closes");
        }
    }

    #[test]
    fn neighbours_are_far_apart_and_no_stride_returns() {
        let order = Permutation::new(1 << 16, 42);
        let mut strides: Vec<i64> =
            (0..1 << 16).map(|place| order.after(place) as i64 - place as i64).collect();
        let near = strides.iter().filter(|stride| stride.abs() < 64).count();
        assert!(near < 300, "of 65,536 random steps 128 are this short: {near}");
        strides.sort_unstable();
        strides.dedup();
        assert!(strides.len() > 20_000, "{} different strides", strides.len());
    }
}

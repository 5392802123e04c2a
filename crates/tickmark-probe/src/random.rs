//! Random numbers where chance has to be fair and nobody guards anything by it.

/// The next number from this state: splitmix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    /// The first numbers from 1234567, as the authors' code gives them (Vigna, splitmix64.c).
    #[test]
    fn numbers_are_those_of_the_authors() {
        let mut state = 1_234_567;
        let first: Vec<u64> = (0..3).map(|_| super::next(&mut state)).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }
}

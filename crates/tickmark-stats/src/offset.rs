//! The offset between two clocks, from readings passed to and fro.

/// Offset between the clocks of one pair of CPUs, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset {
    /// How far the other clock is ahead.
    pub ahead: f64,
    /// It lies within this of `ahead`: half the fastest round trip.
    pub within: f64,
    /// Readings that were earlier than one made before them.
    pub backwards: usize,
}

/// The offset from legs out (theirs less ours before) and back (ours after less theirs): the fastest of
/// each is least delayed, and half their difference is the offset. Cristian, Probabilistic clock
/// synchronization, 1989. None without an exchange.
#[must_use]
pub fn offset(out: &[f64], back: &[f64]) -> Option<Offset> {
    let least = |legs: &[f64]| legs.iter().copied().min_by(f64::total_cmp);
    let (there, home) = (least(out)?, least(back)?);
    let backwards = out.iter().chain(back).filter(|leg| **leg < 0.0).count();
    Some(Offset { ahead: (there - home) / 2.0, within: ((there + home) / 2.0).max(0.0), backwards })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_offset_comes_back() {
        let (out, back) = ([150.0, 90.0, 400.0], [-30.0, -10.0, 500.0]);
        assert_eq!(offset(&out, &back), Some(Offset { ahead: 60.0, within: 30.0, backwards: 2 }));
        assert_eq!(offset(&[], &[]), None);
    }
}

//! Whether values fall into two states with nothing between them: the same CPU or another, huge pages or not. A mean or a deviation of
//! such values describes neither.

mod compared;

pub use compared::{CONFIDENCE, ComparedStates, compare_states};

use crate::median;

/// Fewer values are none that states can be told of.
const FEWEST: usize = 5;
/// A state has at least so many values, and at least this share of them.
const MEMBERS: usize = 2;
const SHARE: f64 = 0.1;
/// States are so many times as far from each other as the values of either spread, and by this factor apart. Of five normal
/// values that vary by a tenth it holds for fewer than one set in a hundred.
const GAP: f64 = 4.0;
const FACTOR: f64 = 1.2;

/// Of so many values the gap alone is enough.
const MANY: usize = 20;

/// One of two states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// The median of its values.
    pub centre: f64,
    /// How many values are in it.
    pub count: usize,
}

/// Two states of positive values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoStates {
    /// The one of lower values.
    pub low: State,
    /// The one of higher values.
    pub high: State,
}

impl TwoStates {
    /// The share of the values that are in the lower state.
    #[must_use]
    pub fn low_share(&self) -> f64 {
        self.low.count as f64 / (self.low.count + self.high.count) as f64
    }
}

/// The two states of some values: both sides of the widest gap, relative to the values. None where values are too few, not above zero,
/// or have no such gap.
#[must_use]
pub fn two_states(values: &[f64]) -> Option<TwoStates> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    if count < FEWEST || !sorted.iter().all(|value| *value > 0.0 && value.is_finite()) {
        return None;
    }
    let least = MEMBERS.max((count as f64 * SHARE).ceil() as usize);
    let splits = least..=count - least;
    let wide = |at: &usize| sorted[*at] / sorted[*at - 1];
    let at = splits.max_by(|a, b| wide(a).total_cmp(&wide(b)))?;
    let (low, high) = sorted.split_at(at);
    let gap = wide(&at).ln();
    let state = |side: &[f64]| Some(State { centre: median(side.iter().copied())?, count: side.len() });
    let states = TwoStates { low: state(low)?, high: state(high)? };
    let is_apart = gap >= GAP * middle_range(low).max(middle_range(high));
    (is_apart && (count >= MANY || states.high.centre / states.low.centre >= FACTOR)).then_some(states)
}

/// How far the logarithms of sorted values spread: without a tenth of them at either end.
fn middle_range(sorted: &[f64]) -> f64 {
    let off = sorted.len() / 10;
    (sorted[sorted.len() - 1 - off] / sorted[off]).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn two_states_are_found_with_their_shares() {
        let found = two_states(&[64.0, 256.0, 64.0, 64.0, 256.0]).unwrap();
        assert_eq!(
            (found.low, found.high),
            (State { centre: 64.0, count: 3 }, State { centre: 256.0, count: 2 })
        );
        assert!((found.low_share() - 0.6).abs() < 1e-12);
        // Values of one state, one that is off, a spread without a gap, and the runs of a wake-up.
        for none in [
            &[5.0; 6][..],
            &[1.0, 1.0, 1.0, 9.0],
            &[1.0, 2.0, 3.0, 4.0, 5.0],
            &[2.14, 16.6, 2.11, 3.51, 10.3],
        ] {
            assert_eq!(two_states(none), None, "{none:?}");
        }
        assert_eq!((two_states(&[0.0, 0.0, 5.0, 5.0, 5.0]), two_states(&[1.0, 1.0, 2.0, 2.0])), (None, None));
    }

    #[test]
    fn states_are_rarely_seen_where_there_are_none() {
        let mut random = StdRng::seed_from_u64(3);
        for count in [5, 6, 10, 40] {
            let mut one = || {
                let mut normal = || (0..12).map(|_| random.random_range(-0.5..0.5)).sum::<f64>();
                two_states(&(0..count).map(|_| 1.0 + 0.1 * normal()).collect::<Vec<f64>>()).is_some()
            };
            let observed = (0..2000).filter(|_| one()).count();
            assert!(observed <= 20, "{observed} of 2000 sets of {count}");
        }
    }
}

//! How much earlier than its deadline a thread asks to be woken: a quantile of how late the kernel wakes it, learned from each wake-up.

/// Wake-up latencies are counted in steps of so many ns.
const STEP: f64 = 500.0;
const STEPS: usize = 256;
/// The longest margin, in ns: what comes later can be met by none, and is not learned.
pub(crate) const LONGEST: f64 = STEP * STEPS as f64;
/// By this factor each wake-up counts more than the one before: half of what is known is of the last 140, as a machine is loud in stretches.
const GROWTH: f64 = 1.005;
/// As long as fewer were seen, the margin is the longest: the first timer is no worse than the others.
const FEWEST: f64 = 32.0;

/// Recent wake-up latencies, the newest with most weight. An outlier moves no quantile, and a bad stretch is forgotten.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    counts: Box<[f64; STEPS]>,
    sum: f64,
    /// Weight of the next latency.
    weight: f64,
    count: u64,
    /// Later than the longest margin.
    outliers: u64,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self { counts: Box::new([0.0; STEPS]), sum: 0.0, weight: 1.0, count: 0, outliers: 0 }
    }

    /// Wake-ups that were learned from, outliers included.
    #[cfg(test)]
    pub(crate) fn wake_ups(&self) -> u64 {
        self.count + self.outliers
    }

    pub(crate) fn outliers(&self) -> u64 {
        self.outliers
    }

    /// Takes in one wake-up: so many ns after the time that was asked for.
    pub(crate) fn learn(&mut self, late: f64) {
        if late >= LONGEST {
            self.outliers += 1;
            return;
        }
        self.count += 1;
        self.counts[(late.max(0.0) / STEP) as usize] += self.weight;
        self.sum += self.weight;
        self.weight *= GROWTH;
        if self.weight > 1e12 {
            self.counts.iter_mut().for_each(|count| *count /= self.weight);
            (self.sum, self.weight) = (self.sum / self.weight, 1.0);
        }
    }

    /// The margin, in ns, that a share `quantile` of the wake-ups meets, or less: the longest that waits for the deadline no more than `wait`
    /// ns on average.
    pub(crate) fn margin(&self, quantile: f64, wait: f64) -> f64 {
        if (self.count as f64) < FEWEST {
            return LONGEST.min(wait.max(LONGEST / 2.0));
        }
        // Up from the shortest: of those that wake in time, how many and by how much all of them together wait.
        let (mut met, mut waited, mut margin) = (0.0, 0.0, 0.0);
        for count in self.counts.iter() {
            if met >= quantile * self.sum {
                break;
            }
            // The step's own wait half of it on average.
            let longer = waited + STEP * (met + count / 2.0);
            if longer > wait * self.sum {
                break;
            }
            (met, waited, margin) = (met + count, longer, margin + STEP);
        }
        margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learned(latencies: impl IntoIterator<Item = f64>) -> Latencies {
        let mut all = Latencies::new();
        latencies.into_iter().for_each(|late| all.learn(late));
        all
    }

    #[test]
    fn the_margin_is_the_quantile_of_the_latencies() {
        // 1 to 100 us, again and again.
        let all = learned((0..20_000).map(|number| f64::from(number % 100) * 1_000.0 + 700.0));
        let margin = all.margin(0.9, 1e9);
        assert!((margin - 90_500.0).abs() <= 1_500.0, "{margin}");
    }

    #[test]
    fn the_first_wake_up_has_a_long_margin() {
        assert_eq!(Latencies::new().margin(0.99, 1e9), LONGEST);
        assert!(Latencies::new().margin(0.99, 10_000.0) >= LONGEST / 2.0);
    }

    #[test]
    fn outliers_are_counted_and_not_learned() {
        let quiet = learned((0..1_000).map(|_| 12_300.0));
        let mut disturbed = quiet.clone();
        (0..500).for_each(|_| disturbed.learn(4e6));
        assert_eq!(disturbed.margin(0.99, 1e9), quiet.margin(0.99, 1e9));
        assert_eq!(disturbed.outliers(), 500);
    }

    #[test]
    fn after_a_bad_stretch_the_margin_comes_down_again() {
        let mut all = learned((0..1_000).map(|_| 12_300.0));
        let before = all.margin(0.99, 1e9);
        (0..2_000).for_each(|_| all.learn(80_000.0));
        let during = all.margin(0.99, 1e9);
        (0..8_000).for_each(|_| all.learn(12_300.0));
        let after = all.margin(0.99, 1e9);
        assert!(during > 80_000.0 && (after - before).abs() < 1.0, "{before} {during} {after}");
    }

    proptest! {
        /// Whatever was seen, a budget holds: nobody waits longer on average than it allows.
        #[test]
        fn the_wait_stays_within_its_budget(
            latencies in prop::collection::vec(0f64..300_000.0, 40..150),
            wait in 0f64..100_000.0,
        ) {
            let all = learned(latencies.iter().copied());
            prop_assume!(all.count as f64 >= FEWEST);
            let margin = all.margin(0.999, wait);
            let waits: f64 = latencies.iter().filter(|late| **late < LONGEST).map(|late| (margin - late).max(0.0)).sum();
            let met = latencies.iter().filter(|late| **late < LONGEST).count() as f64;
            // The newest weigh more: by 1.005 to the power of 150 at most.
            prop_assert!(waits / met.max(1.0) <= wait * 2.2 + STEP, "{margin}: {} of {wait}", waits / met);
            prop_assert!(margin <= LONGEST);
        }
    }
}

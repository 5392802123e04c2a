//! What simulated caches add to a setting's effect on an operation.

use super::Explanation;

/// An operation with all that interrupts it, in two settings.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheEffect {
    /// The operation.
    pub metric: String,
    /// Instructions of each.
    pub instructions: [f64; 2],
    /// Misses of each, in the caches of instructions and of data together.
    pub misses: [f64; 2],
    /// True if the metric's figure is this alone: it takes off and adds nothing.
    pub is_whole_figure: bool,
}

impl CacheEffect {
    /// None where no caches were simulated, or no operation was counted.
    #[must_use]
    pub fn new(before: &Explanation, after: &Explanation) -> Option<Self> {
        let both = [before, after];
        if both
            .iter()
            .any(|of| of.calls.refills.is_none() || of.operations == 0 || of.agreement.instructions == 0)
        {
            return None;
        }
        let each = |of: &Explanation, all: u64| all as f64 / of.operations as f64;
        let misses = |of: &Explanation| each(of, of.calls.nodes.iter().flat_map(|node| node.misses).sum());
        Some(Self {
            metric: after.metric.clone(),
            instructions: both.map(|of| each(of, of.agreement.instructions)),
            misses: both.map(misses),
            is_whole_figure: after.other_parts.is_empty(),
        })
    }

    /// Misses of a thousand instructions.
    #[must_use]
    pub fn misses_per_thousand(&self) -> [f64; 2] {
        [0, 1].map(|side| self.misses[side] / self.instructions[side] * 1000.0)
    }

    /// The second setting against the first, as a share, where an instruction takes a cycle and a miss so many more.
    #[must_use]
    pub fn change(&self, cycles: f64) -> f64 {
        let [before, after] = [0, 1].map(|side| self.instructions[side] + cycles * self.misses[side]);
        after / before - 1.0
    }

    /// Cycles of a miss with which the change is `change`; none where no number of them gives it.
    #[must_use]
    pub fn cycles_for(&self, change: f64) -> Option<f64> {
        let lacks = |of: [f64; 2]| of[0] * (1.0 + change) - of[1];
        let cycles = lacks(self.instructions) / -lacks(self.misses);
        (cycles.is_finite() && cycles >= 0.0).then_some(cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_has_the_cost_that_makes_a_change() {
        let effect = CacheEffect {
            metric: "syscall.null".to_owned(),
            instructions: [1000.0, 1040.0],
            misses: [10.0, 14.0],
            is_whole_figure: true,
        };
        assert!((effect.change(0.0) - 0.04).abs() < 1e-12);
        // 1100 and 1180 cycles.
        assert!((effect.change(10.0) - 80.0 / 1100.0).abs() < 1e-12);
        let cycles = effect.cycles_for(80.0 / 1100.0).unwrap();
        assert!((cycles - 10.0).abs() < 1e-9, "{cycles}");
        // Less than the instructions alone give, and more than the misses alone.
        assert_eq!([-0.01, 0.41].map(|change| effect.cycles_for(change)), [None, None]);
        let thousand = effect.misses_per_thousand();
        assert!((thousand[0] - 10.0).abs() < 1e-12 && (thousand[1] - 14_000.0 / 1040.0).abs() < 1e-12);
    }
}

//! One side of a comparison: its recordings, rows and replicates.

use tickmark_stats::median;
use tickmark_store::Recording;

/// A recording, or several replicates of one setting.
pub struct Side {
    /// In the order in which they were begun.
    pub recordings: Vec<Recording>,
}

/// The figure of a recording, of its runs with their rounds: their median, as `show` has it. One run that lost the CPU for longer than
/// all others measured says nothing of the recording.
pub(crate) fn of_runs(runs: &[(u32, f64)]) -> Option<f64> {
    median(runs.iter().map(|(_, value)| *value))
}

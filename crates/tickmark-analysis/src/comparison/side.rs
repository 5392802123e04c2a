//! What stands on one side of a comparison.

use tickmark_store::Recording;

/// A recording, or several replicates of one setting.
pub struct Side {
    /// In the order in which they were begun.
    pub recordings: Vec<Recording>,
}

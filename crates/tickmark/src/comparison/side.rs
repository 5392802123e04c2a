//! What stands on one side of a comparison.

use tickmark_store::Recording;

/// A recording, or several occasions of one setting.
pub(crate) struct Side {
    pub(crate) recordings: Vec<Recording>,
}

//! What stands on one side of a comparison.

use crate::store::Recording;

/// A recording, or several occasions of one setting.
pub(crate) struct Side {
    pub(crate) recordings: Vec<Recording>,
}

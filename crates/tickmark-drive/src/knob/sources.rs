//! Something done under each clock source that this machine has.

use super::Knob;
use super::file::Kernel;
use crate::Error;
use crate::journal::Journal;
use std::path::Path;

/// Switches to each clock source in turn, reads it back, and does something with it; then selects the one again that was. A journal in the
/// store's folder undoes it where this is killed.
///
/// # Errors
/// None can be selected, as by who is not root; an experiment has it; those of `does`.
pub fn with_each_clock_source<T>(
    store: &Path,
    does: impl Fn() -> Result<T, Error>,
) -> Result<Vec<(String, T)>, Error> {
    let knob = Kernel::clock_source()?;
    let journal = Journal::begin(store, &knob.targets(), || knob.undo())?;
    let one = |source: String| {
        knob.set(0, &source)?;
        match knob.current_setting(None)? {
            Some(current) if current == source => Ok((source, does()?)),
            current => Err(Error::Refused(format!(
                "clock source {source} was selected, and {} is in use",
                current.unwrap_or_default()
            ))),
        }
    };
    let all = knob.choices().and_then(|all| all.into_iter().map(one).collect());
    journal.restore().and(all)
}

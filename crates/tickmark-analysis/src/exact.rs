//! Recordings whose times are numbers of instructions.

use tickmark_store::Recording;
use tickmark_wire::shared::INSTRUCTION;

/// What an instruction takes in a guest that counts them, in ns.
#[must_use]
pub fn instruction(recording: &Recording) -> Option<f64> {
    recording.environment()?.get(INSTRUCTION)?.parse().ok()
}

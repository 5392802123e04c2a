//! Recordings whose times are numbers of instructions.

use tickmark_store::Recording;
use tickmark_wire::shared::INSTRUCTION;

/// Time of one instruction in a guest that counts instructions, ns.
#[must_use]
pub fn instruction(recording: &Recording) -> Option<f64> {
    recording.environment()?.get(INSTRUCTION)?.parse().ok()
}

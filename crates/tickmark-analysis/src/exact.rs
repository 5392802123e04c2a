//! Recordings whose times are numbers of instructions.

use tickmark_store::Recording;

/// The fact that says so; its value is what an instruction takes in ns.
pub const FACT: &str = "guest.instruction_ns";

/// What an instruction takes in a guest that counts them, in ns.
#[must_use]
pub fn instruction(recording: &Recording) -> Option<f64> {
    recording.environment()?.get(FACT)?.parse().ok()
}

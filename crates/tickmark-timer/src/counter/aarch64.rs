//! The virtual count of the generic timer (Arm Architecture Reference Manual, CNTVCT_EL0): one rate, on all
//! processors alike, which Linux lets every program read.

use std::arch::asm;

/// The kernel's name for it as a clock source.
pub const CLOCKSOURCE: &str = "arch_sys_counter";

/// True if there is a counter that a program can read.
#[must_use]
pub fn has_counter() -> bool {
    true
}

/// True if it runs at one rate in every power state, as the architecture wants it.
#[must_use]
pub fn counter_is_invariant() -> bool {
    true
}

/// MRS of CNTVCT_EL0; the processor may move it among its neighbours.
#[must_use]
#[inline(always)]
pub fn counter() -> u64 {
    let count;
    // SAFETY: reads a register that Linux leaves open to programs (where it does not, it emulates the instruction).
    unsafe { asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags)) };
    count
}

/// ISB and MRS: everything before it has been executed.
#[must_use]
#[inline(always)]
pub fn fenced_counter() -> u64 {
    let count;
    // SAFETY: as above. Without `nomem` nothing that touches memory is moved over it.
    unsafe { asm!("isb", "mrs {}, cntvct_el0", out(reg) count, options(nostack, preserves_flags)) };
    count
}

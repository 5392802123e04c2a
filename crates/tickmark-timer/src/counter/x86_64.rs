//! The time stamp counter (Intel SDM volume 3, "Time-Stamp Counter"; AMD APM volume 3, RDTSC).

use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};

/// The kernel's name for it as a clock source.
pub const CLOCKSOURCE: &str = "tsc";

/// True if there is a counter that a program can read.
#[must_use]
pub fn has_counter() -> bool {
    __cpuid(1).edx & (1 << 4) != 0
}

/// True if the processor says that its counter runs at one rate in every power state (CPUID 8000_0007h, EDX bit 8; Intel SDM volume 3,
/// "Invariant TSC").
#[must_use]
pub fn counter_is_invariant() -> bool {
    has_counter() && __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

/// True if there is RDTSCP (CPUID 8000_0001h, EDX bit 27).
#[must_use]
pub fn has_rdtscp() -> bool {
    has_counter() && __cpuid(0x8000_0000).eax >= 0x8000_0001 && __cpuid(0x8000_0001).edx & (1 << 27) != 0
}

/// RDTSC; the processor may move it among its neighbours.
#[must_use]
#[inline(always)]
pub fn counter() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC.
    unsafe { _rdtsc() }
}

/// LFENCE and RDTSC: everything before it has been executed.
#[must_use]
#[inline(always)]
pub fn fenced_counter() -> u64 {
    // SAFETY: every x86-64 processor has LFENCE and RDTSC.
    unsafe {
        _mm_lfence();
        _rdtsc()
    }
}

/// RDTSCP: waits for everything before it, and reads the CPU's number along.
///
/// # Safety
/// The processor has it: [`has_rdtscp`].
#[must_use]
#[inline(always)]
pub unsafe fn rdtscp() -> u64 {
    let mut aux = 0;
    // SAFETY: the caller has checked; `aux` is valid to write to.
    unsafe { __rdtscp(&raw mut aux) }
}

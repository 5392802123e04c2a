//! The instructions and calls that read a clock.

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
#[inline]
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to. CLOCK_MONOTONIC cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};

    /// Whether there is a time stamp counter.
    #[must_use]
    pub fn has_tsc() -> bool {
        __cpuid(1).edx & (1 << 4) != 0
    }

    /// Whether the processor says that its counter runs at one rate in every power state (CPUID
    /// 8000_0007h, EDX bit 8; Intel SDM volume 3, "Invariant TSC").
    #[must_use]
    pub fn tsc_is_invariant() -> bool {
        has_tsc() && __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }

    /// Whether there is RDTSCP (CPUID 8000_0001h, EDX bit 27).
    #[must_use]
    pub fn has_rdtscp() -> bool {
        has_tsc() && __cpuid(0x8000_0000).eax >= 0x8000_0001 && __cpuid(0x8000_0001).edx & (1 << 27) != 0
    }

    /// RDTSC; the processor may move it among its neighbours.
    #[must_use]
    #[inline(always)]
    pub fn tsc() -> u64 {
        // SAFETY: every x86-64 processor has RDTSC.
        unsafe { _rdtsc() }
    }

    /// LFENCE and RDTSC: everything before it has been executed.
    #[must_use]
    #[inline(always)]
    pub fn fenced_tsc() -> u64 {
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
}

#[cfg(not(target_arch = "x86_64"))]
mod arch {
    /// No counter that this crate reads on this architecture.
    #[must_use]
    pub fn has_tsc() -> bool {
        false
    }
    /// See [`has_tsc`].
    #[must_use]
    pub fn has_rdtscp() -> bool {
        false
    }
    /// See [`has_tsc`].
    #[must_use]
    pub fn tsc_is_invariant() -> bool {
        false
    }
    /// CLOCK_MONOTONIC in its stead.
    #[must_use]
    pub fn tsc() -> u64 {
        super::monotonic_ns()
    }
    /// CLOCK_MONOTONIC in its stead.
    #[must_use]
    pub fn fenced_tsc() -> u64 {
        super::monotonic_ns()
    }
    /// CLOCK_MONOTONIC in its stead.
    ///
    /// # Safety
    /// None is needed here.
    #[must_use]
    pub unsafe fn rdtscp() -> u64 {
        super::monotonic_ns()
    }
}

pub use arch::{fenced_tsc, has_rdtscp, has_tsc, rdtscp, tsc, tsc_is_invariant};

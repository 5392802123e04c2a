//! Instructions that do nothing, for whoever counts those that are executed (`tickmark lab explain`): where a stream of batches is
//! prepared, where what is timed begins, and where it ends. No compiler makes them.

#[cfg(target_arch = "x86_64")]
macro_rules! mark {
    ($(#[$doc:meta] $name:ident $number:literal)*) => { $(
        #[$doc]
        #[inline(always)]
        pub fn $name() {
            // SAFETY: a long nop: it reads nothing from the address that it names.
            unsafe { std::arch::asm!("nop dword ptr [rax + 0x746d6b00 + {}]", const $number, options(nostack, preserves_flags)) }
        }
    )* };
}

#[cfg(target_arch = "aarch64")]
macro_rules! mark {
    ($(#[$doc:meta] $name:ident $number:literal)*) => { $(
        #[$doc]
        #[inline(always)]
        pub fn $name() {
            // SAFETY: its result goes to the register that is always zero, and it changes no flag.
            unsafe { std::arch::asm!("orr xzr, xzr, x{}", const 20 + $number, options(nostack, preserves_flags)) }
        }
    )* };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
macro_rules! mark {
    ($(#[$doc:meta] $name:ident $number:literal)*) => { $(
        #[$doc]
        #[inline(always)]
        pub fn $name() {}
    )* };
}

mark! {
    /// What is timed begins.
    begin 1
    /// It has ended.
    end 2
    /// A stream is prepared: what is timed from here on belongs together.
    stream 3
}

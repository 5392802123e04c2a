//! The counter that a program can read without the kernel: one file an architecture, each with the same functions.

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "none.rs")]
mod arch;

pub use arch::*;

//! Values that the compiler cannot see through, kept in registers, so that a chain of operations is
//! carried out one after the other exactly as written.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::arch::asm;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! opaque {
    ($name:ident, $kind:ty, $class:ident, $text:literal) => {
        /// The same value; what it is, the compiler no longer knows. Costs no instruction.
        #[must_use]
        #[inline(always)]
        pub fn $name(mut value: $kind) -> $kind {
            // SAFETY: an empty instruction that claims to change one register. It is not marked as pure:
            // also where the value is not used, it is made.
            unsafe {
                asm!($text, inout($class) value, options(nomem, nostack, preserves_flags));
            };
            value
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod class {
    use super::asm;
    opaque!(opaque, u64, reg, "/* {0:r} */");
    opaque!(opaque_u32, u32, reg, "/* {0:e} */");
    opaque!(opaque_f32, f32, xmm_reg, "/* {0} */");
    opaque!(opaque_f64, f64, xmm_reg, "/* {0} */");
}

#[cfg(target_arch = "aarch64")]
mod class {
    use super::asm;
    opaque!(opaque, u64, reg, "/* {0:x} */");
    opaque!(opaque_u32, u32, reg, "/* {0:w} */");
    opaque!(opaque_f32, f32, vreg, "/* {0:s} */");
    opaque!(opaque_f64, f64, vreg, "/* {0:d} */");
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod class {
    macro_rules! boxed {
        ($($name:ident $kind:ty)*) => { $(
            /// The same value; what it is, the compiler no longer knows.
            #[must_use]
            #[inline(always)]
            pub fn $name(value: $kind) -> $kind {
                std::hint::black_box(value)
            }
        )* };
    }
    boxed!(opaque u64 opaque_u32 u32 opaque_f32 f32 opaque_f64 f64);
}

pub use class::{opaque, opaque_f32, opaque_f64, opaque_u32};

/// A chain of `count` links that take three cycles each: a 64-bit multiplication on x86-64 (Agner Fog's instruction tables);
/// elsewhere, where multiplications take three to five, three additions.
#[must_use]
pub fn three_cycles(value: u64, count: u64) -> u64 {
    let link = |carried: u64| {
        if cfg!(target_arch = "x86_64") {
            return opaque(carried.wrapping_mul(carried));
        }
        (0..3).fold(carried, |carried, _| opaque(carried.wrapping_add(carried)))
    };
    let mut carried = value | 1;
    for _ in 0..count / 8 {
        for _ in 0..8 {
            carried = link(carried);
        }
    }
    carried
}

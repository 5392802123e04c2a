//! Replacements for functions of the C library that would bring far more code into a static program than is used, each as small as its
//! callers need. The linker takes these before those of the library.

use std::ffi::{c_char, c_int, c_void};

/// The translation of a message: none. The library's own reads catalogues, converts character sets and loads shared libraries for that.
#[unsafe(no_mangle)]
extern "C" fn __dcgettext(_domain: *const c_char, text: *const c_char, _category: c_int) -> *const c_char {
    text
}

/// Where a thread's stack lies: not known. The library's own reads /proc/self/maps with scanf(3); the one who asks is Rust's handler of stack overflows,
/// which then says nothing beside the signal.
#[unsafe(no_mangle)]
extern "C" fn pthread_getattr_np(_thread: libc::pthread_t, _attributes: *mut c_void) -> c_int {
    libc::ENOSYS
}

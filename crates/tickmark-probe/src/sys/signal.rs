//! Signals and the fault that a protected page raises.

use super::{CallError, check};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static HANDLED: AtomicUsize = AtomicUsize::new(0);
/// The address whose fault is ours.
static PAGE: AtomicUsize = AtomicUsize::new(0);

static TERMINATION_REQUESTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_termination(_signal: i32) {
    TERMINATION_REQUESTED.store(true, Ordering::Relaxed);
}

/// Installs a handler by which SIGTERM ends what looks at [`termination_requested`], and no longer this process.
///
/// # Errors
/// Those of sigaction(2).
pub fn handle_termination() -> Result<(), CallError> {
    action(libc::SIGTERM, note_termination as *const () as usize, libc::SA_RESTART)
}

/// True once SIGTERM has come.
#[must_use]
pub fn termination_requested() -> bool {
    TERMINATION_REQUESTED.load(Ordering::Relaxed)
}

extern "C" fn count(_signal: i32) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// How many signals the counting handlers have handled.
#[must_use]
pub fn handled() -> u64 {
    HANDLED.load(Ordering::Relaxed) as u64
}

pub(super) fn action(signal: i32, handler: usize, flags: i32) -> Result<(), CallError> {
    // SAFETY: a sigaction of zeros is the default action with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    // SAFETY: `action` is valid to read; the old one is not asked for. The handlers installed here
    // only touch an atomic and the saved context.
    check("rt_sigaction", unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })
        .map(drop)
}

/// Installs a handler that counts SIGUSR1.
///
/// # Errors
/// Those of sigaction(2).
#[inline(always)]
pub fn install_counter() -> Result<(), CallError> {
    action(libc::SIGUSR1, count as *const () as usize, 0)
}

extern "C" fn count_with_info(_signal: i32, _info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
}

/// The same with a handler that is told more (SA_SIGINFO), which the kernel has to write first.
///
/// # Errors
/// Those of sigaction(2).
pub fn install_counter_with_info() -> Result<(), CallError> {
    action(libc::SIGUSR1, count_with_info as *const () as usize, libc::SA_SIGINFO)
}

/// Sends a signal to this process; 0 only checks that it could.
///
/// # Errors
/// Those of kill(2).
#[inline(always)]
pub fn kill_self(pid: u32, signal: i32) -> Result<(), CallError> {
    // SAFETY: no pointers.
    check("kill", unsafe { libc::kill(pid as libc::pid_t, signal) }).map(drop)
}

/// SIGUSR1.
pub const USR1: i32 = libc::SIGUSR1;

/// A page that must not be written, and a handler that steps over the store which tries to.
pub struct ProtectedPage {
    page: NonNull<u8>,
}

/// The store that faults, and how a handler steps over it; none where it is not written for the architecture.
#[cfg(target_arch = "x86_64")]
mod store {
    pub(super) const IS_KNOWN: bool = true;

    /// # Safety
    /// The page must not be writable, and a handler of SIGSEGV must step over the store.
    #[inline(always)]
    pub(super) unsafe fn touch(page: *mut u8) {
        // SAFETY: nothing is written, says the caller. C6 00 00: three bytes.
        unsafe { std::arch::asm!("mov byte ptr [rax], 0", in("rax") page, options(nostack)) };
    }

    pub(super) fn step_over(context: &mut libc::ucontext_t) {
        context.uc_mcontext.gregs[libc::REG_RIP as usize] += 3;
    }
}

#[cfg(target_arch = "aarch64")]
mod store {
    pub(super) const IS_KNOWN: bool = true;

    /// # Safety
    /// The page must not be writable, and a handler of SIGSEGV must step over the store.
    #[inline(always)]
    pub(super) unsafe fn touch(page: *mut u8) {
        // SAFETY: nothing is written, says the caller.
        unsafe { std::arch::asm!("strb wzr, [{}]", in(reg) page, options(nostack)) };
    }

    pub(super) fn step_over(context: &mut libc::ucontext_t) {
        context.uc_mcontext.pc += 4;
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod store {
    pub(super) const IS_KNOWN: bool = false;
    pub(super) unsafe fn touch(_page: *mut u8) {}
    pub(super) fn step_over(_context: &mut libc::ucontext_t) {}
}

extern "C" fn step_over(_signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a siginfo_t to handlers that ask for it with SA_SIGINFO.
    let at = unsafe { (*info).si_addr() }.addr();
    if at != PAGE.load(Ordering::Relaxed) {
        // Another fault than ours: it happens again without a handler, and ends the process.
        let _ = action(libc::SIGSEGV, libc::SIG_DFL, 0);
        return;
    }
    HANDLED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the kernel passes a ucontext_t to handlers that ask for it with SA_SIGINFO, and goes on
    // from it when the handler returns.
    store::step_over(unsafe { &mut *context.cast::<libc::ucontext_t>() });
}

impl ProtectedPage {
    /// Maps a page without the right to write and installs the handler of SIGSEGV.
    ///
    /// # Errors
    /// Those of mmap(2) and sigaction(2); ENOSYS on an architecture whose store is not known.
    pub fn new() -> Result<Self, CallError> {
        if !store::IS_KNOWN {
            return Err(CallError { call: "rt_sigreturn", errno: libc::ENOSYS });
        }
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping where the kernel likes.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, kind, -1, 0) };
        let page = NonNull::new(page.cast::<u8>()).filter(|p| p.as_ptr().addr() != usize::MAX);
        let page = page.ok_or_else(|| CallError::last("mmap"))?;
        PAGE.store(page.as_ptr().addr(), Ordering::Relaxed);
        action(libc::SIGSEGV, step_over as *const () as usize, libc::SA_SIGINFO)?;
        Ok(Self { page })
    }

    /// Tries to write to the page; the fault's handler steps over the store.
    #[inline(always)]
    pub fn touch(&self) {
        // SAFETY: the page is read-only, and the handler steps over the store: nothing is written.
        unsafe { store::touch(self.page.as_ptr()) };
    }
}

impl Drop for ProtectedPage {
    fn drop(&mut self) {
        let _ = action(libc::SIGSEGV, libc::SIG_DFL, 0);
        // SAFETY: the page that `new` mapped; nobody holds a reference to it.
        unsafe { libc::munmap(self.page.as_ptr().cast(), 4096) };
    }
}

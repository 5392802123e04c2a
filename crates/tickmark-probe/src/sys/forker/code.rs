//! The machine code of the minimal process: it stands alone and depends on no address, so that it can be copied to a page
//! of its own. One block of assembly an architecture.
//!
//! `entry(slots, count, argv, environment, deadline, how)` forks the minimal process and returns its id, or an error below 0.
//! That process makes children in the way that `how` names, one at least, until the slots are full or the counter has passed
//! the deadline. A child ends with 0, or executes the first of argv where there is an environment, and ends with 127 where it cannot.

use super::Call;

/// The function that the code is.
pub(super) type Entry =
    unsafe extern "C" fn(*mut u8, usize, *const *const u8, *const *const u8, u64, u64) -> i64;

/// The code in a section of its own, with what both architectures name alike.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! minimal_process {
    ($($line:literal,)* $($name:ident = const $value:expr,)*) => {
        std::arch::global_asm!(
            ".pushsection .text.tickmark_forker, \"ax\", @progbits",
            // Another unit of this crate's code refers to them.
            ".globl tickmark_forker, tickmark_forker_end",
            ".hidden tickmark_forker, tickmark_forker_end",
            "tickmark_forker:",
            $($line,)*
            "tickmark_forker_end:",
            ".popsection",
            $($name = const $value,)*
            pdeathsig = const libc::PR_SET_PDEATHSIG,
            sigkill = const libc::SIGKILL,
            prctl = const libc::SYS_prctl,
            wait4 = const libc::SYS_wait4,
            thread = const libc::RUSAGE_THREAD,
            getrusage = const libc::SYS_getrusage,
            slot = const super::SLOT,
            exit_group = const libc::SYS_exit_group,
            execve = const libc::SYS_execve,
        );
    };
}

// The slot: stamps at 0 and 8, status of the child at 16, error at 20, getrusage at 24. Its first word is written before the
// stamp, so that its page is there.
#[cfg(target_arch = "x86_64")]
minimal_process! {
    "mov r10, rcx",
    "mov eax, {fork}",
    "syscall",
    "test eax, eax",
    "jz 2f",
    "ret",
    // The minimal process, which ends with its parent.
    "2: mov r12, rdi",
    "mov r13, rsi",
    "mov r14, rdx",
    "mov rbx, r10",
    "mov r15, r8",
    "mov rbp, r9",
    "mov edi, {pdeathsig}",
    "mov esi, {sigkill}",
    "mov eax, {prctl}",
    "syscall",
    "3: mov qword ptr [r12], 0",
    "lfence",
    "rdtsc",
    "shl rdx, 32",
    "or rax, rdx",
    "mov [r12], rax",
    "mov eax, ebp",
    "syscall",
    "test eax, eax",
    "jz 6f",
    "js 5f",
    "mov edi, eax",
    "lea rsi, [r12 + 16]",
    "xor edx, edx",
    "xor r10d, r10d",
    "mov eax, {wait4}",
    "syscall",
    "test eax, eax",
    "js 5f",
    "lfence",
    "rdtsc",
    "shl rdx, 32",
    "or rax, rdx",
    "mov [r12 + 8], rax",
    "mov edi, {thread}",
    "lea rsi, [r12 + 24]",
    "mov eax, {getrusage}",
    "syscall",
    // At the end: however late it starts, one child is made.
    "cmp [r12 + 8], r15",
    "jae 4f",
    "add r12, {slot}",
    "dec r13",
    "jnz 3b",
    "4: xor edi, edi",
    "7: mov eax, {exit_group}",
    "syscall",
    "ud2",
    "5: mov [r12 + 20], eax",
    "mov edi, 1",
    "jmp 7b",
    "6: xor edi, edi",
    "test rbx, rbx",
    "jz 7b",
    "mov rdi, [r14]",
    "mov rsi, r14",
    "mov rdx, rbx",
    "mov eax, {execve}",
    "syscall",
    "mov edi, 127",
    "jmp 7b",
    fork = const libc::SYS_fork,
}

// The same with the calls of arm64, which has clone alone.
#[cfg(target_arch = "aarch64")]
minimal_process! {
    "mov x9, x0",
    "mov x10, x1",
    "mov x11, x2",
    "mov x12, x3",
    "mov x13, x4",
    "mov x14, x5",
    "mov x0, {sigchld}",
    "mov x1, xzr",
    "mov x2, xzr",
    "mov x3, xzr",
    "mov x4, xzr",
    "mov x8, {clone}",
    "svc 0",
    "cbz x0, 2f",
    "ret",
    "2: mov x0, {pdeathsig}",
    "mov x1, {sigkill}",
    "mov x8, {prctl}",
    "svc 0",
    "3: str xzr, [x9]",
    "isb",
    "mrs x15, cntvct_el0",
    "str x15, [x9]",
    "mov x0, x14",
    "mov x1, xzr",
    "mov x2, xzr",
    "mov x3, xzr",
    "mov x4, xzr",
    "mov x8, {clone}",
    "svc 0",
    "cbz x0, 6f",
    "tbnz x0, 63, 5f",
    "add x1, x9, 16",
    "mov x2, xzr",
    "mov x3, xzr",
    "mov x8, {wait4}",
    "svc 0",
    "tbnz x0, 63, 5f",
    "isb",
    "mrs x15, cntvct_el0",
    "str x15, [x9, 8]",
    "mov x0, {thread}",
    "add x1, x9, 24",
    "mov x8, {getrusage}",
    "svc 0",
    "cmp x15, x13",
    "b.hs 4f",
    "add x9, x9, {slot}",
    "subs x10, x10, 1",
    "b.ne 3b",
    "4: mov x0, xzr",
    "7: mov x8, {exit_group}",
    "svc 0",
    "udf 0",
    "5: str w0, [x9, 20]",
    "mov x0, 1",
    "b 7b",
    "6: mov x0, xzr",
    "cbz x12, 7b",
    "ldr x0, [x11]",
    "mov x1, x11",
    "mov x2, x12",
    "mov x8, {execve}",
    "svc 0",
    "mov x0, 127",
    "b 7b",
    sigchld = const libc::SIGCHLD,
    clone = const libc::SYS_clone,
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
unsafe extern "C" {
    static tickmark_forker: u8;
    static tickmark_forker_end: u8;
}

/// The code's bytes; none where it is not written for the architecture.
pub(super) fn bytes() -> &'static [u8] {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: both stand in one section, the end behind the begin, and are there as long as the program.
    unsafe {
        let begin = &raw const tickmark_forker;
        let length = (&raw const tickmark_forker_end).addr() - begin.addr();
        std::slice::from_raw_parts(begin, length)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    &[]
}

/// How the code names a way to make a child: the number of the call, or the flags of clone(2).
pub(super) fn how(call: Call) -> u64 {
    #[cfg(target_arch = "x86_64")]
    let [fork, vfork] = [libc::SYS_fork as u64, libc::SYS_vfork as u64];
    #[cfg(not(target_arch = "x86_64"))]
    let [fork, vfork] = [libc::SIGCHLD, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD].map(|f| f as u64);
    match call {
        Call::Fork => fork,
        Call::Vfork => vfork,
    }
}

//! Filters that refuse system calls, to find out what becomes of a probe without them.

use super::{CallError, check};

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// The number is the first word of what a filter is given.
const LOAD: libc::sock_filter = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0);
const ALLOW: libc::sock_filter = instruction(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0);

const fn refuse(errno: i32) -> libc::sock_filter {
    let how = libc::SECCOMP_RET_ERRNO | (errno as u32 & libc::SECCOMP_RET_DATA);
    instruction(libc::BPF_RET | libc::BPF_K, how, 0, 0)
}

/// If it is this one, `yes` instructions are left out, else `no`.
const fn is(number: i64, yes: u8, no: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number as u32, yes, no)
}

/// From here on the kernel refuses system call `number` to this process and its children, with `errno`.
///
/// # Errors
/// Those of prctl(2): EINVAL in a kernel without filters.
pub fn deny(number: i64, errno: i32) -> Result<(), CallError> {
    install(&mut [LOAD, is(number, 0, 1), refuse(errno), ALLOW])
}

/// From here on the kernel refuses all but these system calls, at most 250, to this process and its children, with
/// ENOSYS.
///
/// # Errors
/// Those of prctl(2); E2BIG for more.
pub fn allow_only(numbers: &[i64]) -> Result<(), CallError> {
    let left = |at: usize| u8::try_from(numbers.len() - at).ok().filter(|left| *left <= 250);
    let mut program = vec![LOAD];
    for (at, number) in numbers.iter().enumerate() {
        // Over the rest of them and the refusal.
        let over = left(at).ok_or(CallError { call: "prctl", errno: libc::E2BIG })?;
        program.push(is(*number, over, 0));
    }
    program.extend([refuse(libc::ENOSYS), ALLOW]);
    install(&mut program)
}

fn install(program: &mut [libc::sock_filter]) -> Result<(), CallError> {
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: no pointers.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: `filter` and its program are valid to read.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    check("prctl", set).map(drop)
}

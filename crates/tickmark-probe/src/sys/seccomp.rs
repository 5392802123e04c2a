//! A filter that refuses one system call, to find out what becomes of a probe without it.

use super::{CallError, check};

const fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// From here on the kernel refuses system call `number` to this process and its children, with `errno`.
///
/// # Errors
/// Those of prctl(2): EINVAL in a kernel without filters.
pub fn deny(number: i64, errno: i32) -> Result<(), CallError> {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let say = libc::BPF_RET | libc::BPF_K;
    let refuse = libc::SECCOMP_RET_ERRNO | (errno as u32 & libc::SECCOMP_RET_DATA);
    // The number is the first word of what a filter is given.
    let mut program = [
        instruction(load, 0, 0, 0),
        instruction(equal, number as u32, 0, 1),
        instruction(say, refuse, 0, 0),
        instruction(say, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: no pointers.
    check("prctl", unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    // SAFETY: `filter` and its program are valid to read.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    check("prctl", set).map(drop)
}

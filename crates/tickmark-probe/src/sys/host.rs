//! Facts from the kernel and the C library about themselves.

use super::{CallError, check, named};
use std::ffi::{CStr, OsString};
use std::os::unix::ffi::OsStringExt;

/// The kernel's name for itself: release, version, machine, node.
#[must_use]
pub fn uname() -> [String; 4] {
    // rustix takes it for a call that cannot be refused.
    // SAFETY: utsname is character arrays, for which zero is a value.
    let mut name: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is valid to write to.
    unsafe { libc::uname(&raw mut name) };
    [&name.release, &name.version, &name.machine, &name.nodename].map(|field| {
        // SAFETY: the kernel ends each field with a zero.
        unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned()
    })
}

/// Flags of open(2) for a file that another may have put there: through no link, and without waiting.
pub const OPEN_CAREFULLY: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;

/// The effective user id of this process.
#[must_use]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// True if the kernel gave this process a vDSO (AT_SYSINFO_EHDR).
#[must_use]
pub fn has_vdso() -> bool {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) != 0 }
}

/// The path by which this program was executed (AT_EXECFN), for systems without /proc.
#[must_use]
pub fn executed_as() -> Option<OsString> {
    // SAFETY: reads the auxiliary vector.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) };
    let path = std::ptr::with_exposed_provenance::<libc::c_char>(path as usize);
    // SAFETY: the kernel put a text that ends in a zero there; it lives as long as the process.
    (!path.is_null()).then(|| OsString::from_vec(unsafe { CStr::from_ptr(path) }.to_bytes().to_vec()))
}

/// Version of the C library that this program runs with.
#[must_use]
pub fn libc_version() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: gives a static text.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        let kind = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
        format!("glibc {} ({kind})", version.to_string_lossy())
    }
    #[cfg(not(target_env = "gnu"))]
    {
        "not glibc".to_owned()
    }
}

/// State of the kernel's clock discipline, as adjtimex(2) gives it.
#[derive(Debug, Clone, Copy)]
pub struct ClockDiscipline {
    /// TIME_OK (0) to TIME_ERROR (5: not synchronised).
    pub state: i32,
    /// STA_ flags.
    pub flags: i32,
    /// Frequency correction in units of 2^-16 ppm.
    pub frequency: i64,
    /// Microseconds a tick of USER_HZ.
    pub tick: i64,
}

/// Reads the clock discipline without changing it.
///
/// # Errors
/// Those of adjtimex(2).
pub fn clock_discipline() -> Result<ClockDiscipline, CallError> {
    // SAFETY: timex is plain numbers; modes = 0 changes nothing.
    let mut timex: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: `timex` is valid to read and write.
    let state = check("adjtimex", unsafe { libc::adjtimex(&raw mut timex) })?;
    Ok(ClockDiscipline { state, flags: timex.status, frequency: timex.freq, tick: timex.tick })
}

/// The number of a file system's kind, as statfs(2) gives it (ext4 0xef53, tmpfs 0x1021994).
///
/// # Errors
/// Those of statfs(2).
pub fn file_system(path: &std::path::Path) -> Result<i64, CallError> {
    rustix::fs::statfs(path).map(|status| status.f_type).map_err(named("statfs"))
}

/// Bytes that may still be written to the file system of a path.
///
/// # Errors
/// Those of statvfs(3).
pub fn free_bytes(path: &std::path::Path) -> Result<u64, CallError> {
    let status = rustix::fs::statvfs(path).map_err(named("statfs"))?;
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}

/// Memory that is free or holds buffers, by sysinfo(2), where /proc does not say.
#[must_use]
pub fn free_memory() -> Option<u64> {
    // rustix takes it for a call that cannot be refused.
    // SAFETY: sysinfo is plain numbers, for which zero is a value.
    let mut info: libc::sysinfo = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is valid to write to.
    let done = unsafe { libc::sysinfo(&raw mut info) };
    let unit = u64::from(info.mem_unit.max(1));
    (done == 0).then(|| (info.freeram + info.bufferram).saturating_mul(unit))
}

/// Timer slack of this thread, ns.
#[must_use]
pub fn slack() -> i32 {
    rustix::thread::current_timer_slack().map_or(-1, |slack| slack as i32)
}

/// The NUMA policy of this thread: MPOL_DEFAULT 0, PREFERRED 1, BIND 2, INTERLEAVE 3, LOCAL 4.
///
/// # Errors
/// ENOSYS on kernels without NUMA.
pub fn numa_policy() -> Result<i32, CallError> {
    let mut mode = 0i32;
    let none = std::ptr::null_mut::<libc::c_ulong>();
    // SAFETY: `mode` is valid to write to; no mask is asked for.
    let result =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, none, 0usize, 0usize, 0usize) };
    super::check_long("get_mempolicy", result)?;
    Ok(mode)
}

/// Whether the hardware counts cycles for this thread.
///
/// # Errors
/// ENOENT where there is no counter, EACCES or EPERM where it is not allowed.
pub fn cycle_counter() -> Result<(), CallError> {
    // perf_event_attr, the first 64 bytes (PERF_ATTR_SIZE_VER0): type 0, size 64, config 0 (cycles), and
    // exclude_kernel | exclude_hv among the flags at byte 40.
    let mut attributes = [0u64; 8];
    attributes[0] = 64 << 32;
    attributes[5] = 1 << 5 | 1 << 6;
    // SAFETY: the attributes are valid to read and say their size; this thread, any CPU, no group.
    let fd = unsafe { libc::syscall(libc::SYS_perf_event_open, attributes.as_ptr(), 0, -1, -1, 8) };
    let fd = super::check_long("perf_event_open", fd)?;
    // SAFETY: the descriptor that was just given.
    unsafe { libc::close(fd as i32) };
    Ok(())
}

/// The hypervisor's name for itself, from CPUID leaf 4000_0000h; none on bare metal.
#[must_use]
pub fn hypervisor() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        if __cpuid(1).ecx & (1 << 31) == 0 {
            return None;
        }
        let leaf = __cpuid(0x4000_0000);
        let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
        Some(String::from_utf8_lossy(&bytes).trim_matches('\0').trim().to_owned())
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        None
    }
}

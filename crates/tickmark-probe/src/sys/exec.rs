//! Programs and threads to start.

use super::{CallError, forker};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The exit status of [`tiny_program`], by which its run is proved.
pub const TINY_STATUS: i32 = 7;

/// The machine of an ELF program of this architecture, and the code that ends it: exit_group([`TINY_STATUS`]).
#[cfg(target_arch = "x86_64")]
const TINY: (u16, [u8; 12]) = (62, [0xbf, TINY_STATUS as u8, 0, 0, 0, 0xb8, 231, 0, 0, 0, 0x0f, 0x05]);
/// mov x0, 7; mov x8, 94; svc 0
#[cfg(target_arch = "aarch64")]
const TINY: (u16, [u8; 12]) = (183, [0xe0, 0, 0x80, 0xd2, 0xc8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4]);
/// A program of no machine, which nothing executes.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TINY: (u16, [u8; 12]) = (0, [0; 12]);

/// A fixed static program of 188 bytes that does nothing but end with [`TINY_STATUS`]: its size is the
/// same for every version of tickmark and for every C library.
#[must_use]
pub fn tiny_program() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 2 * 56;
    let (machine, code) = TINY;
    let mut elf = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |elf: &mut Vec<u8>, value: u16| elf.extend(value.to_le_bytes());
    let word = |elf: &mut Vec<u8>, value: u32| elf.extend(value.to_le_bytes());
    let long = |elf: &mut Vec<u8>, value: u64| elf.extend(value.to_le_bytes());
    half(&mut elf, 2); // ET_EXEC
    half(&mut elf, machine);
    word(&mut elf, 1);
    long(&mut elf, BASE + HEADERS); // entry
    long(&mut elf, 64); // program headers
    long(&mut elf, 0); // no section headers
    word(&mut elf, 0);
    for value in [64, 56, 2, 64, 0, 0] {
        half(&mut elf, value);
    }
    let size = HEADERS + code.len() as u64;
    for (kind, flags, at, bytes) in [(1, 5, BASE, size), (0x6474_e551, 6, 0, 0)] {
        word(&mut elf, kind); // PT_LOAD, PT_GNU_STACK
        word(&mut elf, flags);
        for value in [0, at, at, bytes, bytes, 4096] {
            long(&mut elf, value);
        }
    }
    elf.extend(code);
    elf
}

/// Where the tiny program stands in a run's working directory: a path of three components, the same on
/// every machine.
pub const TINY_PATH: &CStr = c"a/b/tiny";

/// Puts the tiny program into a directory, at [`TINY_PATH`].
///
/// # Errors
/// Those of writing a file; EEXIST where it is there already.
pub fn install_tiny_program(directory: &Path) -> Result<(), CallError> {
    let folder = directory.join("a/b");
    std::fs::create_dir_all(&folder).map_err(|e| CallError::from_io("mkdir", &e))?;
    let path = folder.join("tiny");
    let failed = |e: std::io::Error| CallError::from_io("openat", &e);
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o755).open(&path).map_err(failed)?;
    std::io::Write::write_all(&mut &file, &tiny_program()).map_err(|e| CallError::from_io("write", &e))
}

/// True if the tiny program in a directory can be executed: the file system may forbid it.
#[must_use]
pub fn tiny_program_runs(directory: &Path) -> bool {
    let path = directory.join("a/b/tiny");
    let path = CString::new(path.as_os_str().as_bytes());
    path.is_ok_and(|path| spawn_and_wait(&[&path]) == Ok(TINY_STATUS))
}

/// posix_spawn of a program with its arguments and no environment, and wait; its status.
///
/// # Errors
/// Those of posix_spawn(3), such as ENOENT and EACCES of execve(2), and of wait4(2).
#[inline]
pub fn spawn_and_wait<const N: usize>(command: &[&CStr; N]) -> Result<i32, CallError> {
    let mut pid = 0;
    let mut argv = [std::ptr::null_mut(); 8];
    for (slot, argument) in argv.iter_mut().zip(command.iter().take(7)) {
        *slot = argument.as_ptr().cast_mut();
    }
    let environment = [std::ptr::null_mut()];
    // SAFETY: path, arguments and environment end as C wants them (the last of the eight stays null); no
    // actions, no attributes.
    let errno = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            argv[0],
            std::ptr::null(),
            std::ptr::null(),
            argv.as_ptr(),
            environment.as_ptr(),
        )
    };
    if errno != 0 {
        return Err(CallError { call: "posix_spawn (mmap, clone3 or execve)", errno });
    }
    forker::wait(pid)
}

extern "C" fn nothing(argument: *mut libc::c_void) -> *mut libc::c_void {
    argument
}

/// pthread_create of a thread that does nothing, and pthread_join.
///
/// # Errors
/// EAGAIN where the process may have no more threads.
#[inline]
pub fn thread_and_join() -> Result<(), CallError> {
    let mut thread = std::mem::MaybeUninit::uninit();
    let none = std::ptr::null_mut();
    // SAFETY: `thread` is valid to write to, the function takes and gives a pointer that nobody uses.
    let errno = unsafe { libc::pthread_create(thread.as_mut_ptr(), std::ptr::null(), nothing, none) };
    if errno != 0 {
        return Err(CallError { call: "pthread_create (mmap, mprotect or clone3)", errno });
    }
    // SAFETY: a thread that was created and not yet joined.
    let errno = unsafe { libc::pthread_join(thread.assume_init(), std::ptr::null_mut()) };
    if errno == 0 { Ok(()) } else { Err(CallError { call: "futex", errno }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tiny_program_runs_and_is_188_bytes() {
        let _alone = crate::sys::ALONE.lock();
        let directory = std::env::temp_dir().join(format!("tickmark-exec-{}", std::process::id()));
        install_tiny_program(&directory).unwrap();
        assert!(tiny_program_runs(&directory));
        assert!(install_tiny_program(&directory).is_err(), "what is there is not overwritten");
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(tiny_program().len(), 188);
    }
}

//! Files and descriptors, as thin as the C library has them.

use super::{CallError, check, check_long, named};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

/// getppid as a system call.
///
/// # Errors
/// None in an ordinary kernel; a filter may refuse it.
#[inline(always)]
pub fn getppid() -> Result<i64, CallError> {
    // SAFETY: no arguments.
    check_long("getppid", unsafe { libc::syscall(libc::SYS_getppid) })
}

/// Reads one byte.
///
/// # Errors
/// Those of read(2); EPIPE at the end of the file.
#[inline(always)]
pub fn read_byte(fd: BorrowedFd<'_>) -> Result<(), CallError> {
    let mut byte = 0u8;
    // SAFETY: one byte is valid to write to.
    let count = unsafe { libc::read(fd.as_raw_fd(), (&raw mut byte).cast(), 1) };
    if count == 1 { Ok(()) } else { Err(short("read", count)) }
}

/// Writes one byte.
///
/// # Errors
/// Those of write(2).
#[inline(always)]
pub fn write_byte(fd: BorrowedFd<'_>) -> Result<(), CallError> {
    let byte = 1u8;
    // SAFETY: one byte is valid to read.
    let count = unsafe { libc::write(fd.as_raw_fd(), (&raw const byte).cast(), 1) };
    if count == 1 { Ok(()) } else { Err(short("write", count)) }
}

#[cold]
fn short(call: &'static str, count: isize) -> CallError {
    if count == 0 { CallError { call, errno: libc::EPIPE } } else { CallError::last(call) }
}

/// Opens a file.
///
/// # Errors
/// Those of openat(2).
#[inline(always)]
pub fn open(path: &CStr, flags: i32) -> Result<OwnedFd, CallError> {
    // SAFETY: `path` ends in a zero byte.
    let fd = check("openat", unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a new file, to be read and written.
///
/// # Errors
/// Those of openat(2); EEXIST where there is one.
#[inline(always)]
pub fn create(path: &CStr) -> Result<OwnedFd, CallError> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    // SAFETY: `path` ends in a zero byte.
    let fd = check("openat", unsafe { libc::open(path.as_ptr(), flags, 0o600) })?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Closes a descriptor and says whether that was done.
///
/// # Errors
/// Those of close(2).
#[inline(always)]
pub fn close(fd: OwnedFd) -> Result<(), CallError> {
    // SAFETY: our own descriptor, of which no copy is left.
    check("close", unsafe { libc::close(fd.into_raw_fd()) }).map(drop)
}

/// Removes an empty directory.
///
/// # Errors
/// Those of rmdir(2).
pub fn remove_directory(path: &CStr) -> Result<(), CallError> {
    rustix::fs::rmdir(path).map_err(named("rmdir"))
}

/// Removes a file.
///
/// # Errors
/// Those of unlink(2).
#[inline(always)]
pub fn unlink(path: &CStr) -> Result<(), CallError> {
    // SAFETY: `path` ends in a zero byte.
    check("unlink", unsafe { libc::unlink(path.as_ptr()) }).map(drop)
}

/// Writes all bytes.
///
/// # Errors
/// Those of write(2); ENOSPC also where less was written than given.
#[inline(always)]
pub fn write_all(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), CallError> {
    while !bytes.is_empty() {
        // SAFETY: `bytes` is valid to read for its length.
        match unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) } {
            -1 => return Err(CallError::last("write")),
            0 => return Err(CallError { call: "write", errno: libc::ENOSPC }),
            count => bytes = &bytes[count as usize..],
        }
    }
    Ok(())
}

/// Writes all bytes with writev, so that it is done also where write is refused.
///
/// # Errors
/// Those of writev(2).
pub fn write_vectored(fd: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), CallError> {
    while !bytes.is_empty() {
        let piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: one piece, valid to read for its length.
        match unsafe { libc::writev(fd.as_raw_fd(), &raw const piece, 1) } {
            -1 => return Err(CallError::last("writev")),
            // Nothing was taken of what is not empty: it would never be.
            0 => return Err(CallError { call: "writev", errno: libc::EIO }),
            count => bytes = &bytes[count as usize..],
        }
    }
    Ok(())
}

/// Reads until the buffer is full.
///
/// # Errors
/// Those of read(2); EPIPE at the end of the file.
#[inline(always)]
pub fn read_all(fd: BorrowedFd<'_>, mut buffer: &mut [u8]) -> Result<(), CallError> {
    while !buffer.is_empty() {
        let count = read(fd, buffer)?;
        if count == 0 {
            return Err(CallError { call: "read", errno: libc::EPIPE });
        }
        buffer = &mut buffer[count..];
    }
    Ok(())
}

/// Reads what is there, up to the buffer's length; 0 at the end.
///
/// # Errors
/// Those of read(2).
#[inline(always)]
pub fn read(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, CallError> {
    // SAFETY: `buffer` is valid to write for its length.
    let count = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    if count < 0 { Err(CallError::last("read")) } else { Ok(count as usize) }
}

/// Goes back to the start of a file.
///
/// # Errors
/// Those of lseek(2).
#[inline(always)]
pub fn rewind(fd: BorrowedFd<'_>) -> Result<(), CallError> {
    // SAFETY: no pointers.
    check_long("lseek", unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_SET) }).map(drop)
}

/// Gives a file a length without writing it.
///
/// # Errors
/// Those of ftruncate(2).
pub fn set_length(fd: BorrowedFd<'_>, length: u64) -> Result<(), CallError> {
    rustix::fs::ftruncate(fd, length).map_err(named("ftruncate"))
}

/// stat of a path; the size of the file.
///
/// # Errors
/// Those of stat(2).
#[inline(always)]
pub fn stat(path: &CStr) -> Result<i64, CallError> {
    let mut status = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `path` ends in a zero byte, `status` is valid to write to.
    check("newfstatat", unsafe { libc::stat(path.as_ptr(), status.as_mut_ptr()) })?;
    // SAFETY: the call has filled it.
    Ok(unsafe { status.assume_init() }.st_size)
}

/// Duplicates a descriptor.
///
/// # Errors
/// EMFILE where the process may have no more.
pub fn duplicate(fd: BorrowedFd<'_>) -> Result<OwnedFd, CallError> {
    rustix::io::fcntl_dupfd_cloexec(fd, 0).map_err(named("fcntl"))
}

/// A pipe: the end to read, the end to write.
///
/// # Errors
/// EMFILE where the process may have no more descriptors.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), CallError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(named("pipe2"))
}

/// A set of descriptors for select(2).
pub struct SelectSet {
    set: libc::fd_set,
    highest: i32,
}

impl SelectSet {
    /// The set of these descriptors.
    ///
    /// # Errors
    /// EBADF for a descriptor of 1024 or more, which select cannot take.
    pub fn new<'a>(fds: impl IntoIterator<Item = BorrowedFd<'a>>) -> Result<Self, CallError> {
        // SAFETY: a descriptor set is a bit mask, for which zero is a value.
        let mut set: libc::fd_set = unsafe { std::mem::zeroed() };
        let mut highest = -1;
        for fd in fds {
            let fd = fd.as_raw_fd();
            if fd as usize >= libc::FD_SETSIZE {
                return Err(CallError { call: "select", errno: libc::EBADF });
            }
            // SAFETY: the index lies in the set.
            unsafe { libc::FD_SET(fd, &raw mut set) };
            highest = highest.max(fd);
        }
        Ok(Self { set, highest })
    }

    /// Asks which can be read, without waiting; how many.
    ///
    /// # Errors
    /// Those of select(2).
    #[inline(always)]
    pub fn poll(&self) -> Result<i32, CallError> {
        let mut set = self.set;
        let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let none = std::ptr::null_mut();
        // SAFETY: `set` and `now` are valid to read and write; the other sets are not asked for.
        check("pselect6", unsafe { libc::select(self.highest + 1, &raw mut set, none, none, &raw mut now) })
    }
}

/// A file without a name, of zeros, that keeps its length and has all its memory.
///
/// # Errors
/// Those of memfd_create(2), fallocate(2) and F_ADD_SEALS (fcntl(2)).
pub fn sealed(length: u64) -> Result<OwnedFd, CallError> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("tickmark", flags).map_err(named("memfd_create"))?;
    rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, length).map_err(named("fallocate"))?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW).map_err(named("fcntl"))?;
    Ok(file)
}

/// True if a file is one that keeps its length.
#[must_use]
pub fn is_sealed(file: BorrowedFd<'_>) -> bool {
    rustix::fs::fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK))
}

//! What process 1 of a guest has to do by itself: mount, raise the loopback interface, restart the machine.

use super::{CallError, check};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Mounts a file system that needs no device.
///
/// # Errors
/// Those of mount(2).
pub fn mount(kind: &CStr, at: &CStr) -> Result<(), CallError> {
    // SAFETY: three texts that end in zeros; no data.
    check("mount", unsafe { libc::mount(c"none".as_ptr(), at.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) })
        .map(drop)
}

/// Raises the interface `lo`.
///
/// # Errors
/// Those of socket(2) and ioctl(2).
pub fn raise_loopback() -> Result<(), CallError> {
    // SAFETY: no pointers.
    let socket = check("socket", unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0) })?;
    // SAFETY: a request of zeros is a value: an empty name, no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: `request` is valid to read.
    let raised = check("ioctl", unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request) });
    // SAFETY: the descriptor is ours and not used again.
    unsafe { libc::close(socket) };
    raised.map(drop)
}

/// Waits until a terminal has sent everything; does nothing with anything else.
pub fn drain(fd: BorrowedFd<'_>) {
    // SAFETY: no pointers; an error means that it is no terminal.
    unsafe { libc::tcdrain(fd.as_raw_fd()) };
}

/// Writes everything to disks and restarts the machine: the end of an emulated one that does not restart.
pub fn restart() -> ! {
    // SAFETY: no pointers; only process 1 of a guest gets here.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_AUTOBOOT);
    }
    loop {
        std::thread::park();
    }
}

//! Duties of process 1 in a guest: mount, raise the loopback interface, restart the machine.

use super::{CallError, check, named};
use rustix::mount::MountFlags;
use rustix::net::{AddressFamily, SocketType};
use rustix::system::RebootCommand;
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Mounts a file system that needs no device.
///
/// # Errors
/// Those of mount(2).
pub fn mount(kind: &CStr, at: &CStr) -> Result<(), CallError> {
    rustix::mount::mount(c"none", at, kind, MountFlags::empty(), None).map_err(named("mount"))
}

/// Loads a kernel module from its bytes, with its parameters as they stand on a command line.
///
/// # Errors
/// Those of init_module(2).
pub fn load_module(bytes: &[u8], parameters: &str) -> Result<(), CallError> {
    let parameters = std::ffi::CString::new(parameters).unwrap_or_default();
    rustix::system::init_module(bytes, &parameters).map_err(named("init_module"))
}

/// Raises the interface `lo`.
///
/// # Errors
/// Those of socket(2) and ioctl(2).
pub fn raise_loopback() -> Result<(), CallError> {
    let socket =
        rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(named("socket"))?;
    // SAFETY: a request of zeros is a value: an empty name, no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: `request` is valid to read.
    let raised = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    check("ioctl", raised).map(drop)
}

/// Waits until a terminal has sent everything; does nothing with anything else.
pub fn drain(fd: BorrowedFd<'_>) {
    // An error means that it is no terminal.
    let _ = rustix::termios::tcdrain(fd);
}

/// Writes everything to disks and restarts the machine: the end of an emulated one that does not restart.
pub fn restart() -> ! {
    rustix::fs::sync();
    // Only process 1 of a guest gets here.
    let _ = rustix::system::reboot(RebootCommand::Restart);
    loop {
        std::thread::park();
    }
}

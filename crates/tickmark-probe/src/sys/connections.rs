//! Many TCP connections of one thread, none of which it waits for alone: epoll(7).

use super::{CallError, check, check_long, named};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A poll over connections.
#[derive(Debug)]
pub struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    /// For so many events at once.
    ///
    /// # Errors
    /// Those of epoll_create1(2).
    pub fn new(events: usize) -> Result<Self, CallError> {
        // SAFETY: no pointers.
        let fd = check("epoll_create1", unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the kernel has just given us this descriptor.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; events.max(1)] })
    }

    /// Tells of a socket from now on, once whenever it becomes ready to read or to write; until it is closed.
    ///
    /// # Errors
    /// Those of epoll_ctl(2).
    #[inline]
    pub fn add(&self, socket: &OwnedFd, number: usize) -> Result<(), CallError> {
        let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: number as u64 };
        let at = (self.epoll.as_raw_fd(), socket.as_raw_fd());
        // SAFETY: `event` is valid to read.
        check("epoll_ctl", unsafe { libc::epoll_ctl(at.0, libc::EPOLL_CTL_ADD, at.1, &raw mut event) })
            .map(drop)
    }

    /// Waits for so many ns at most; how many there are.
    ///
    /// # Errors
    /// Those of epoll_pwait2(2): ENOSYS before Linux 5.11.
    #[inline]
    pub fn wait(&mut self, nanos: u64) -> Result<usize, CallError> {
        let timeout = libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as _,
        };
        let (at, most) = (self.events.as_mut_ptr(), self.events.len() as i32);
        let (fd, none) = (self.epoll.as_raw_fd(), std::ptr::null::<libc::sigset_t>());
        // SAFETY: `events` is valid to write `most` of, and `timeout` to read; without a signal mask.
        let count =
            unsafe { libc::syscall(libc::SYS_epoll_pwait2, fd, at, most, &raw const timeout, none, 0) };
        match check_long("epoll_pwait2", count) {
            Err(CallError { errno: libc::EINTR, .. }) => Ok(0),
            count => count.map(|count| count as usize),
        }
    }

    /// The socket of one of them.
    #[must_use]
    #[inline]
    pub fn number(&self, event: usize) -> usize {
        self.events[event].u64 as usize
    }
}

/// Begins a connection; it is there when the socket can be written.
///
/// # Errors
/// Those of socket(2) and connect(2).
#[inline]
pub fn begin(to: SocketAddr) -> Result<OwnedFd, CallError> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(family, SocketType::STREAM, flags, None).map_err(named("socket"))?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket),
        Err(errno) => Err(named("connect")(errno)),
    }
}

/// Sends what goes without waiting.
///
/// # Errors
/// Those of send(2): EAGAIN where nothing does, or the connection is not there yet.
#[inline]
pub fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, CallError> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: `bytes` is valid to read for its length.
    let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    if sent < 0 { Err(CallError::last("send")) } else { Ok(sent as usize) }
}

/// Receives what is there without waiting; 0 at the end.
///
/// # Errors
/// Those of recv(2): EAGAIN where nothing is there.
#[inline]
pub fn receive(socket: &OwnedFd, bytes: &mut [u8], wait: bool) -> Result<usize, CallError> {
    let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
    // SAFETY: `bytes` is valid to write for its length.
    let got = unsafe { libc::recv(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), flags) };
    if got < 0 { Err(CallError::last("recv")) } else { Ok(got as usize) }
}

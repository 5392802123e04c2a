//! Sockets of the loopback interface.

use super::{CallError, check, file, named};
use rustix::net::SocketFlags;
use rustix::net::sockopt::{self, Timeout};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

static RETRANSMITS: AtomicI64 = AtomicI64::new(0);

/// Segments that TCP sent again, of the connections that [`connect`] made.
#[must_use]
pub fn retransmits() -> i64 {
    RETRANSMITS.load(Ordering::Relaxed)
}

/// Two connected stream sockets of the UNIX domain.
///
/// # Errors
/// Those of socketpair(2).
pub fn unix_pair() -> Result<(OwnedFd, OwnedFd), CallError> {
    let (ours, theirs) = UnixStream::pair().map_err(|e| CallError::from_io("socketpair", &e))?;
    Ok((ours.into(), theirs.into()))
}

/// Two connected datagram sockets of the UNIX domain. A datagram that does not come ends the wait after a second.
///
/// # Errors
/// Those of socketpair(2) and setsockopt(2).
pub fn unix_datagrams() -> Result<(OwnedFd, OwnedFd), CallError> {
    let (ours, theirs) =
        std::os::unix::net::UnixDatagram::pair().map_err(|e| CallError::from_io("socketpair", &e))?;
    let pair: (OwnedFd, OwnedFd) = (ours.into(), theirs.into());
    wait_a_second(&pair.0)?;
    Ok(pair)
}

/// Two UDP sockets, each connected to the other. A datagram that is lost ends the wait after a second.
///
/// # Errors
/// Those of socket(2), bind(2), getsockname(2), connect(2) and setsockopt(2).
pub fn udp_pair() -> Result<(OwnedFd, OwnedFd), CallError> {
    let ((ours, here), (theirs, there)) = (udp_at(Ipv4Addr::LOCALHOST)?, udp_at(Ipv4Addr::LOCALHOST)?);
    connect_to(&ours, there)?;
    connect_to(&theirs, here)?;
    wait_a_second(&ours)?;
    Ok((ours, theirs))
}

/// A UDP socket at this address, and its own with the port.
///
/// # Errors
/// Those of socket(2), bind(2) and getsockname(2).
pub(super) fn udp_at(at: Ipv4Addr) -> Result<(OwnedFd, SocketAddrV4), CallError> {
    let socket = socket(libc::SOCK_DGRAM)?;
    bind(&socket, at)?;
    let address = address(&socket)?;
    Ok((socket, address))
}

/// Connects a UDP socket.
///
/// # Errors
/// Those of connect(2).
pub(super) fn udp_connect(socket: &OwnedFd, to: SocketAddrV4) -> Result<(), CallError> {
    connect_to(socket, to)
}

/// Ends the wait for what does not come after a second.
///
/// # Errors
/// Those of setsockopt(2).
pub(super) fn wait_a_second(socket: &OwnedFd) -> Result<(), CallError> {
    let patience = Some(Duration::from_secs(1));
    sockopt::set_socket_timeout(socket, Timeout::Recv, patience).map_err(named("setsockopt"))
}

/// A listening TCP socket.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    address: SocketAddrV4,
}

impl Listener {
    /// Listens at an address of the loopback network; its buffers and those of the connections that it accepts
    /// hold `bytes` where that is said.
    ///
    /// # Errors
    /// Those of socket(2), setsockopt(2), bind(2), listen(2) and getsockname(2).
    pub fn at(address: Ipv4Addr, bytes: Option<usize>) -> Result<Self, CallError> {
        let listening = socket(libc::SOCK_STREAM)?;
        bytes.map_or(Ok(()), |bytes| hold(&listening, bytes))?;
        Self::bound(listening, SocketAddrV4::new(address, 0))
    }

    /// Listens at an address and a port of the caller's choice; port 0 is any.
    ///
    /// # Errors
    /// Those of socket(2), setsockopt(2), bind(2), listen(2) and getsockname(2).
    #[cfg(feature = "whole")]
    pub fn on(address: Ipv4Addr, port: u16) -> Result<Self, CallError> {
        let listening = socket(libc::SOCK_STREAM)?;
        // A server that has just ended left connections in TIME_WAIT.
        sockopt::set_socket_reuseaddr(&listening, true).map_err(named("setsockopt"))?;
        Self::bound(listening, SocketAddrV4::new(address, port))
    }

    /// Ends each wait on it, and on the connections that it accepts from now on, after this time: for those whose clients nobody knows.
    ///
    /// # Errors
    /// Those of setsockopt(2).
    #[cfg(feature = "whole")]
    pub fn wait_at_most(&self, time: Duration) -> Result<(), CallError> {
        for which in [Timeout::Recv, Timeout::Send] {
            sockopt::set_socket_timeout(&self.socket, which, Some(time)).map_err(named("setsockopt"))?;
        }
        Ok(())
    }

    fn bound(listening: OwnedFd, to: SocketAddrV4) -> Result<Self, CallError> {
        rustix::net::bind(&listening, &to).map_err(named("bind"))?;
        rustix::net::listen(&listening, 128).map_err(named("listen"))?;
        let address = address(&listening)?;
        Ok(Self { socket: listening, address })
    }

    /// Has so many connections wait to be taken, where the kernel allows that many (net.core.somaxconn).
    ///
    /// # Errors
    /// Those of listen(2).
    pub fn queue(&self, connections: i32) -> Result<(), CallError> {
        rustix::net::listen(&self.socket, connections).map_err(named("listen"))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// Takes a connection, waiting for it where `wait` says so; none where there is none.
    ///
    /// # Errors
    /// Those of poll(2) and accept4(2).
    pub fn accept(&self, wait: bool) -> Result<Option<OwnedFd>, CallError> {
        if !wait && !readable(&self.socket)? {
            return Ok(None);
        }
        let taken = rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC);
        taken.map(Some).map_err(named("accept4"))
    }
}

fn readable(socket: &OwnedFd) -> Result<bool, CallError> {
    // rustix would call ppoll, which no probe says that it needs.
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `polled` is valid to read and write.
    check("poll", unsafe { libc::poll(&raw mut polled, 1, 0) }).map(|ready| ready > 0)
}

/// Two connected TCP sockets that send small messages at once.
///
/// # Errors
/// Those of socket(2), bind(2), listen(2), connect(2), accept4(2) and setsockopt(2).
pub fn tcp_pair() -> Result<(OwnedFd, OwnedFd), CallError> {
    tcp_pair_to(&Listener::at(Ipv4Addr::LOCALHOST, None)?)
}

/// The same with who listens.
///
/// # Errors
/// Those of [`tcp_pair`].
pub(super) fn tcp_pair_to(listener: &Listener) -> Result<(OwnedFd, OwnedFd), CallError> {
    let (ours, theirs) = connection(listener, None)?;
    for end in [&ours, &theirs] {
        sockopt::set_tcp_nodelay(end, true).map_err(named("setsockopt"))?;
    }
    Ok((ours, theirs))
}

/// Two connected TCP sockets whose buffers hold `bytes` in each direction, from before they are connected: what a
/// connection agrees on depends on it.
///
/// # Errors
/// Those of [`tcp_pair`].
pub fn tcp_pair_of(bytes: usize) -> Result<(OwnedFd, OwnedFd), CallError> {
    connection(&Listener::at(Ipv4Addr::LOCALHOST, Some(bytes))?, Some(bytes))
}

/// A connection to a listener of this process: both ends.
///
/// # Errors
/// Those of socket(2), setsockopt(2), connect(2) and accept4(2).
pub fn connection(listener: &Listener, bytes: Option<usize>) -> Result<(OwnedFd, OwnedFd), CallError> {
    let ours = socket(libc::SOCK_STREAM)?;
    bytes.map_or(Ok(()), |bytes| hold(&ours, bytes))?;
    connect_to(&ours, listener.address())?;
    let lost = CallError { call: "accept4", errno: libc::EAGAIN };
    Ok((ours, listener.accept(true)?.ok_or(lost)?))
}

/// Fixes how much a socket's buffers hold, in both directions.
fn hold(socket: &OwnedFd, bytes: usize) -> Result<(), CallError> {
    let sends = sockopt::set_socket_send_buffer_size(socket, bytes);
    sends.and_then(|()| sockopt::set_socket_recv_buffer_size(socket, bytes)).map_err(named("setsockopt"))
}

fn bind(socket: &OwnedFd, to: Ipv4Addr) -> Result<(), CallError> {
    rustix::net::bind(socket, &SocketAddrV4::new(to, 0)).map_err(named("bind"))
}

/// Where a socket is bound.
fn address(socket: &OwnedFd) -> Result<SocketAddrV4, CallError> {
    let address = rustix::net::getsockname(socket).and_then(SocketAddrV4::try_from);
    address.map_err(named("getsockname"))
}

fn raw(address: SocketAddrV4) -> (libc::sockaddr_in, libc::socklen_t) {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
        sin_zero: [0; 8],
    };
    (address, size_of::<libc::sockaddr_in>() as libc::socklen_t)
}

/// An address of the loopback network that this process alone uses, as far as chance can say: the ports
/// that closed connections hold for a minute are counted by address.
#[must_use]
pub fn own_address() -> Ipv4Addr {
    let mixed = (tickmark_timer::monotonic_ns() ^ u64::from(std::process::id()) << 32)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let [a, b, c, ..] = mixed.to_be_bytes();
    Ipv4Addr::new(127, a, b, c.clamp(2, 253))
}

/// Opens a TCP connection and closes it. A connect of more than 0.1 s is asked how many segments
/// it had to send again.
///
/// # Errors
/// Those of socket(2), connect(2) and close(2).
#[inline]
pub fn connect(to: SocketAddrV4) -> Result<(), CallError> {
    let socket = socket(libc::SOCK_STREAM)?;
    let before = tickmark_timer::monotonic_ns();
    connect_to(&socket, to)?;
    if tickmark_timer::monotonic_ns() - before > 100_000_000 {
        RETRANSMITS.fetch_add(sent_again(socket.as_fd()), Ordering::Relaxed);
    }
    file::close(socket)
}

#[inline]
fn socket(kind: i32) -> Result<OwnedFd, CallError> {
    // SAFETY: no pointers.
    let fd = check("socket", unsafe { libc::socket(libc::AF_INET, kind | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[inline]
fn connect_to(socket: &OwnedFd, to: SocketAddrV4) -> Result<(), CallError> {
    let (address, length) = raw(to);
    // SAFETY: `address` is valid to read for its length.
    let done = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    check("connect", done).map(drop)
}

/// How many segments of a connection were sent again so far (tcp(7), TCP_INFO).
#[cold]
#[must_use]
pub fn sent_again(socket: BorrowedFd<'_>) -> i64 {
    // SAFETY: tcp_info is plain numbers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: `info` is valid to write `length` bytes to.
    let result = unsafe {
        let to = (&raw mut info).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, to, &raw mut length)
    };
    if result == 0 { i64::from(info.tcpi_total_retrans) } else { 0 }
}

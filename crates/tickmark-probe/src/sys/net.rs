//! Sockets of the loopback interface.

use super::{CallError, check};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

static RETRANSMITS: AtomicI64 = AtomicI64::new(0);

/// Segments that TCP sent again, of the connections that [`connect`] made.
#[must_use]
pub fn retransmits() -> i64 {
    RETRANSMITS.load(Ordering::Relaxed)
}

/// How long a reader waits for a message that should be there at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// Two connected stream sockets of the UNIX domain.
///
/// # Errors
/// Those of socketpair(2).
pub fn unix_pair() -> Result<(OwnedFd, OwnedFd), CallError> {
    let (ours, theirs) = UnixStream::pair().map_err(|e| CallError::of("socketpair", &e))?;
    Ok((ours.into(), theirs.into()))
}

/// Two UDP sockets, each connected to the other. A datagram that is lost ends the wait after a second.
///
/// # Errors
/// Those of socket(2), bind(2) and connect(2).
pub fn udp_pair() -> Result<(OwnedFd, OwnedFd), CallError> {
    let bound = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let open = |error: std::io::Error| CallError::of(opening(&error), &error);
    let (ours, theirs) = (bound().map_err(open)?, bound().map_err(open)?);
    let join = |from: &UdpSocket, to: &UdpSocket| from.connect(to.local_addr()?);
    join(&ours, &theirs).and_then(|()| join(&theirs, &ours)).map_err(|e| CallError::of("connect", &e))?;
    let patient = ours.set_read_timeout(Some(PATIENCE));
    patient.map_err(|e| CallError::of("setsockopt", &e))?;
    Ok((ours.into(), theirs.into()))
}

/// Which call a library function that opens and binds has failed in.
fn opening(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EADDRINUSE | libc::EADDRNOTAVAIL | libc::EACCES) => "bind",
        _ => "socket",
    }
}

/// A listening socket at an address of its own, 127.x.y.z.
///
/// # Errors
/// Those of socket(2), bind(2) and listen(2).
pub fn listener(address: Ipv4Addr) -> Result<TcpListener, CallError> {
    TcpListener::bind((address, 0)).map_err(|e| CallError::of(opening(&e), &e))
}

/// Two connected TCP sockets that send small messages at once.
///
/// # Errors
/// Those of socket(2), bind(2), connect(2), accept4(2) and setsockopt(2).
pub fn tcp_pair() -> Result<(OwnedFd, OwnedFd), CallError> {
    connection(&listener(Ipv4Addr::LOCALHOST)?)
}

/// A connection to a listener of this process: both ends, which send small messages at once.
///
/// # Errors
/// Those of socket(2), connect(2), accept4(2) and setsockopt(2).
pub fn connection(listener: &TcpListener) -> Result<(OwnedFd, OwnedFd), CallError> {
    let address = listener.local_addr().map_err(|e| CallError::of("getsockname", &e))?;
    let ours = TcpStream::connect(address).map_err(|e| CallError::of("connect", &e))?;
    let (theirs, _) = listener.accept().map_err(|e| CallError::of("accept4", &e))?;
    for end in [&ours, &theirs] {
        end.set_nodelay(true).map_err(|e| CallError::of("setsockopt", &e))?;
    }
    Ok((ours.into(), theirs.into()))
}

/// Fixes how much a socket's buffers hold, in both directions.
///
/// # Errors
/// Those of setsockopt(2).
pub fn hold(socket: &OwnedFd, bytes: i32) -> Result<(), CallError> {
    let length = size_of::<i32>() as libc::socklen_t;
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        let value = (&raw const bytes).cast();
        // SAFETY: `bytes` is valid to read.
        let set = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, value, length) };
        check("setsockopt", set)?;
    }
    Ok(())
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
/// Those of socket(2) and connect(2).
#[inline]
pub fn connect(to: SocketAddrV4) -> Result<(), CallError> {
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    let fd = check("socket", fd)?;
    // SAFETY: the kernel has just given us this descriptor.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
        sin_zero: [0; 8],
    };
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let before = tickmark_timer::monotonic_ns();
    // SAFETY: `address` is valid to read for its length.
    check("connect", unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    if tickmark_timer::monotonic_ns() - before > 100_000_000 {
        RETRANSMITS.fetch_add(sent_again(&socket), Ordering::Relaxed);
    }
    Ok(())
}

#[cold]
fn sent_again(socket: &OwnedFd) -> i64 {
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

//! Sockets between two hosts. The first bytes of each say to which session it belongs.

use super::{CallError, named};
use rustix::net::sockopt;
use std::io::{Error, ErrorKind, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tickmark_wire::Nanos;

/// A host that says nothing at all, not even that it is there, is gone after this time and three as long as the next.
const SILENT: Duration = Duration::from_secs(4);
const ASKED: Duration = Duration::from_secs(2);
/// How long it may take to find each other.
const PATIENCE: Duration = Duration::from_secs(5);
/// Datagrams may be lost: who waits longer for one than this gives up. Who answers waits for the next size, too.
const LOST: Duration = Duration::from_secs(1);
const NEXT: Duration = Duration::from_secs(15);
/// How long what was sent twice may take to come.
const STRAY: Duration = Duration::from_millis(50);
/// From here on datagrams are messages.
const BEGIN: &[u8] = b"begin";
/// How often the first datagram is sent.
const TRIES: usize = 5;

/// Waits until somebody connects.
///
/// # Errors
/// Nobody does in this time.
pub fn somebody_within(listener: &TcpListener, time: Duration) -> std::io::Result<()> {
    let fd = listener.as_fd();
    let ready = super::limits::wait_readable([fd, fd], Nanos::from(time)).map_err(|error| error.io())?;
    if ready[0] { Ok(()) } else { Err(ErrorKind::TimedOut.into()) }
}

/// The addresses of IPv4 by which others may reach this machine: none of its own loopback, and none of a single link (getifaddrs(3)).
#[must_use]
pub fn addresses() -> Vec<Ipv4Addr> {
    let mut all = Vec::new();
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: `first` is valid to write to.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return all;
    }
    let mut next = first;
    // SAFETY: the list is valid until it is freed; its end is null.
    while let Some(one) = unsafe { next.as_ref() } {
        next = one.ifa_next;
        // SAFETY: an address, where there is one, is as long as its family says.
        let found = unsafe {
            let family = one.ifa_addr.as_ref().map(|address| i32::from(address.sa_family));
            family
                .filter(|family| *family == libc::AF_INET)
                .map(|_| one.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned().sin_addr.s_addr)
        };
        let found = found.map(|address| Ipv4Addr::from(u32::from_be(address)));
        let is_up = one.ifa_flags & libc::IFF_UP as u32 != 0;
        all.extend(found.filter(|address| is_up && !address.is_loopback() && !address.is_link_local()));
    }
    // SAFETY: getifaddrs gave it, and nothing of it is kept.
    unsafe { libc::freeifaddrs(first) };
    all
}

/// Sends small messages at once, and ends when the other host is gone: the kernel asks it whether it is there while nothing is sent.
fn prepared(stream: TcpStream) -> std::io::Result<OwnedFd> {
    stream.set_nodelay(true)?;
    keep_alive(&stream)?;
    Ok(stream.into())
}

/// Has the kernel ask the other host whether it is there while nothing is sent.
///
/// # Errors
/// Those of setsockopt(2).
pub fn keep_alive(stream: &TcpStream) -> std::io::Result<()> {
    let set = || {
        sockopt::set_socket_keepalive(stream, true)?;
        sockopt::set_tcp_keepidle(stream, SILENT)?;
        sockopt::set_tcp_keepintvl(stream, ASKED)?;
        sockopt::set_tcp_keepcnt(stream, 3)?;
        sockopt::set_tcp_user_timeout(stream, (SILENT + 3 * ASKED).as_millis() as u32)
    };
    set().map_err(named("setsockopt")).map_err(|error: CallError| error.io())
}

/// A connection to who listens there, of the session with this key.
///
/// # Errors
/// Those of connect(2) and setsockopt(2).
pub fn tcp_ask(there: SocketAddr, key: &[u8]) -> std::io::Result<OwnedFd> {
    let mut stream = TcpStream::connect_timeout(&there, PATIENCE)?;
    stream.write_all(key)?;
    prepared(stream)
}

/// One that was accepted.
///
/// # Errors
/// Those of setsockopt(2).
pub fn tcp_answer(stream: TcpStream) -> std::io::Result<OwnedFd> {
    prepared(stream)
}

/// A UDP socket that is connected to who waits there for the session with this key.
///
/// # Errors
/// Nobody answers; those of the calls that make it.
pub fn udp_ask(there: SocketAddr, key: &[u8]) -> std::io::Result<OwnedFd> {
    let any: SocketAddr = match there {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(there)?;
    socket.set_read_timeout(Some(LOST))?;
    let mut answer = [0; 64];
    for _ in 0..TRIES {
        // Until the other side is there, the kernel may say that nobody is.
        let _ = socket.send(key);
        match socket.recv(&mut answer) {
            Ok(length) if answer[..length] == *key => {
                // Answers to what was sent twice may still come: they are none of a message.
                while socket.set_read_timeout(Some(STRAY)).is_ok() && socket.recv(&mut answer).is_ok() {}
                socket.set_read_timeout(Some(LOST))?;
                socket.send(BEGIN)?;
                return Ok(socket.into());
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                std::thread::sleep(Duration::from_millis(200));
            }
            _ => {}
        }
    }
    Err(Error::new(ErrorKind::TimedOut, "no datagram came back"))
}

/// A UDP socket at this address that is connected to who sends this key.
///
/// # Errors
/// Nobody does within five seconds; those of the calls that make it.
pub fn udp_answer(at: SocketAddr, key: &[u8]) -> std::io::Result<OwnedFd> {
    let socket = UdpSocket::bind(at)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let mut first = [0; 64];
    let until = std::time::Instant::now() + PATIENCE;
    let wait = || {
        // Whoever goes on sending something else is as late as who sends nothing.
        let left = until.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return Err(Error::from(ErrorKind::TimedOut));
        }
        socket.set_read_timeout(Some(left))
    };
    let from = loop {
        wait()?;
        let (length, from) = socket.recv_from(&mut first)?;
        if first[..length] == *key {
            break from;
        }
    };
    socket.connect(from)?;
    // Each is answered, as an answer may be lost, until the other side begins.
    loop {
        wait()?;
        socket.send(key)?;
        let length = socket.recv(&mut first)?;
        if first[..length] == *BEGIN {
            break;
        }
    }
    socket.set_read_timeout(Some(NEXT))?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::file;

    #[test]
    fn two_hosts_find_each_other_by_their_key() {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let answers = std::thread::spawn(move || {
            let socket = udp_answer(free, &[7; 32]).unwrap();
            let mut got = [0; 3];
            file::read_all(socket.as_fd(), &mut got).unwrap();
            got
        });
        // Somebody else's datagram is none of the session's.
        UdpSocket::bind("127.0.0.1:0").unwrap().send_to(&[1; 32], free).unwrap();
        let socket = udp_ask(free, &[7; 32]).unwrap();
        file::write_all(socket.as_fd(), &[1, 2, 3]).unwrap();
        assert_eq!(answers.join().unwrap(), [1, 2, 3]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let late = somebody_within(&listener, Duration::from_millis(10)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        let _ours = tcp_ask(listener.local_addr().unwrap(), &[7; 32]).unwrap();
        somebody_within(&listener, PATIENCE).unwrap();
        tcp_answer(listener.accept().unwrap().0).unwrap();
    }
}

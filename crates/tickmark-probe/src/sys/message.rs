//! Ends between which whole messages go: pipes, sockets, shared memory.

use super::memory::{Shared, Words};
use super::namespace::Namespaces;
use super::{CallError, check, file, named, net, wake};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A message of this length goes out without the other side reading, through whatever there is: longer ones that both sides send at the same
/// time are sent and received in turns.
const HELD: usize = 4 << 10;
/// Largest UDP datagram on IPv4, bytes.
pub const MOST_UDP: usize = 65_507;
/// Largest datagram of the UNIX domain with the default buffers, bytes.
pub const MOST_UNIX: usize = 96 << 10;

/// One end.
#[derive(Debug)]
pub enum End {
    /// A pipe each way: to read, to write.
    Pipes(OwnedFd, OwnedFd),
    /// A stream.
    Stream(OwnedFd),
    /// A message is a datagram.
    Datagrams(OwnedFd),
    /// A stretch of memory and a word each way.
    Memory(Memory),
}

/// Memory that both sides have.
#[derive(Debug)]
pub struct Memory {
    both: Arc<([Shared; 2], Words)>,
    /// Which of the two is written here, and how often each was.
    own: usize,
    turns: [u32; 2],
}

/// Behind the two words that count what was written: how much of it was taken, and whether its writer waits for that.
const TAKEN: usize = 2;
const WAITS: usize = 4;

/// Two connected ends for messages of at most so many bytes.
///
/// # Errors
/// Those of the calls that make them; EPROTONOSUPPORT for a name that is none.
pub fn pair(over: &str, most: usize) -> Result<(End, End), CallError> {
    let streams = |(ours, theirs)| (End::Stream(ours), End::Stream(theirs));
    let datagrams = |(ours, theirs)| (End::Datagrams(ours), End::Datagrams(theirs));
    Ok(match over {
        "pipe" => {
            let (there, to_peer) = file::pipe()?;
            let (from_peer, back) = file::pipe()?;
            (End::Pipes(from_peer, to_peer), End::Pipes(there, back))
        }
        "unix" => streams(net::unix_pair()?),
        "unix-dgram" => datagrams(net::unix_datagrams()?),
        "tcp" => streams(net::tcp_pair()?),
        "udp" => datagrams(net::udp_pair()?),
        "vsock" => streams(vsock_pair()?),
        "memory" => {
            let both = Arc::new(([Shared::new(most)?, Shared::new(most)?], Words::shared(6)?));
            let end = |own| End::Memory(Memory { both: Arc::clone(&both), own, turns: [0; 2] });
            (end(0), end(1))
        }
        _ => return Err(CallError { call: "socket", errno: libc::EPROTONOSUPPORT }),
    })
}

impl End {
    /// Sends a message.
    ///
    /// # Errors
    /// Those of write(2) and futex(2); EMSGSIZE where it is no datagram's.
    pub fn send(&mut self, message: &[u8]) -> Result<(), CallError> {
        match self {
            Self::Pipes(_, to) | Self::Stream(to) => file::write_all(to.as_fd(), message),
            Self::Datagrams(to) => file::write_all(to.as_fd(), message),
            Self::Memory(memory) => memory.send(message),
        }
    }

    /// Waits for a message of this length.
    ///
    /// # Errors
    /// Those of read(2) and futex(2); EPIPE where the other end is gone, EMSGSIZE for a datagram of another length.
    pub fn receive(&mut self, message: &mut [u8]) -> Result<(), CallError> {
        match self {
            Self::Pipes(from, _) | Self::Stream(from) => file::read_all(from.as_fd(), message),
            Self::Datagrams(from) => match file::read(from.as_fd(), message)? {
                count if count == message.len() => Ok(()),
                0 => Err(CallError { call: "read", errno: libc::EPIPE }),
                _ => Err(CallError { call: "read", errno: libc::EMSGSIZE }),
            },
            Self::Memory(memory) => memory.receive(message),
        }
    }

    /// Sends a message while one of the same length is received, as the other side does.
    ///
    /// # Errors
    /// Those of [`End::send`], [`End::receive`] and poll(2).
    pub fn exchange(&mut self, out: &[u8], into: &mut [u8]) -> Result<(), CallError> {
        match self {
            Self::Pipes(from, to) if out.len() > HELD => both_ways(from.as_fd(), to.as_fd(), out, into),
            Self::Stream(both) if out.len() > HELD => both_ways(both.as_fd(), both.as_fd(), out, into),
            _ => {
                self.send(out)?;
                self.receive(into)
            }
        }
    }

    /// Before messages of a length that both sides send at the same time, and after them with 0.
    ///
    /// # Errors
    /// Those of fcntl(2).
    pub fn expects(&self, length: usize) -> Result<(), CallError> {
        let waits = length <= HELD;
        match self {
            Self::Pipes(from, to) => [from, to].into_iter().try_for_each(|end| set_waits(end, waits)),
            Self::Stream(both) => set_waits(both, waits),
            Self::Datagrams(_) | Self::Memory(_) => Ok(()),
        }
    }

    /// The socket of a stream, a descriptor of its own.
    ///
    /// # Errors
    /// Those of dup(2); ENOTSOCK for what is none.
    pub fn stream(&self) -> Result<OwnedFd, CallError> {
        match self {
            Self::Stream(both) => both.try_clone().map_err(|e| CallError::from_io("dup", &e)),
            _ => Err(CallError { call: "dup", errno: libc::ENOTSOCK }),
        }
    }

    /// In a child: closes its copy of the other side's descriptors.
    pub fn close_copies(&self) {
        let all: &[&OwnedFd] = match self {
            Self::Pipes(from, to) => &[from, to],
            Self::Stream(both) | Self::Datagrams(both) => &[both],
            Self::Memory(_) => &[],
        };
        super::peer::Peer::close(all.iter().copied());
    }
}

fn set_waits(end: &OwnedFd, waits: bool) -> Result<(), CallError> {
    let flags = rustix::fs::fcntl_getfl(end).map_err(named("fcntl"))?;
    let new = if waits { flags - rustix::fs::OFlags::NONBLOCK } else { flags | rustix::fs::OFlags::NONBLOCK };
    rustix::fs::fcntl_setfl(end, new).map_err(named("fcntl"))
}

/// Bytes done by a read or a write that does not wait.
fn checked_count(count: isize, call: &'static str) -> Result<usize, CallError> {
    match count {
        -1 => match CallError::last(call) {
            CallError { errno: libc::EAGAIN, .. } => Ok(0),
            error => Err(error),
        },
        0 => Err(CallError { call, errno: libc::EPIPE }),
        count => Ok(count as usize),
    }
}

/// Sends and receives in turns, and waits where neither goes on.
fn both_ways(from: BorrowedFd<'_>, to: BorrowedFd<'_>, out: &[u8], into: &mut [u8]) -> Result<(), CallError> {
    let (mut sent, mut got) = (0, 0);
    while sent < out.len() || got < into.len() {
        let before = sent + got;
        if sent < out.len() {
            let rest = &out[sent..];
            // SAFETY: `rest` is valid to read for its length.
            let count = unsafe { libc::write(to.as_raw_fd(), rest.as_ptr().cast(), rest.len()) };
            sent += checked_count(count, "write")?;
        }
        if got < into.len() {
            let rest = &mut into[got..];
            // SAFETY: `rest` is valid to write for its length.
            let count = unsafe { libc::read(from.as_raw_fd(), rest.as_mut_ptr().cast(), rest.len()) };
            got += checked_count(count, "read")?;
        }
        if sent + got == before {
            let wants = |fd: BorrowedFd<'_>, is: bool, events| libc::pollfd {
                fd: if is { fd.as_raw_fd() } else { -1 },
                events,
                revents: 0,
            };
            let mut polled =
                [wants(to, sent < out.len(), libc::POLLOUT), wants(from, got < into.len(), libc::POLLIN)];
            // SAFETY: both are valid to read and write.
            check("poll", unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) })?;
        }
    }
    Ok(())
}

impl Memory {
    #[inline]
    fn send(&mut self, message: &[u8]) -> Result<(), CallError> {
        let (stretches, words) = &*self.both;
        // The one before has been taken, as a rule.
        let taken = words.word(TAKEN + self.own);
        while taken.load(Ordering::Acquire) != self.turns[self.own] {
            words.word(WAITS + self.own).store(1, Ordering::SeqCst);
            let observed = taken.load(Ordering::SeqCst);
            if observed != self.turns[self.own] {
                wake::futex_wait(taken, observed)?;
            }
        }
        stretches[self.own].put(message);
        self.turns[self.own] = self.turns[self.own].wrapping_add(1);
        wake::futex_wake(words.word(self.own), self.turns[self.own])
    }

    #[inline]
    fn receive(&mut self, message: &mut [u8]) -> Result<(), CallError> {
        let other = 1 - self.own;
        let (stretches, words) = &*self.both;
        wake::futex_wait(words.word(other), self.turns[other])?;
        self.turns[other] = words.word(other).load(Ordering::Acquire);
        stretches[other].get(message);
        let taken = words.word(TAKEN + other);
        taken.store(self.turns[other], Ordering::SeqCst);
        match words.word(WAITS + other).swap(0, Ordering::SeqCst) {
            0 => Ok(()),
            _ => wake::futex_wake(taken, self.turns[other]),
        }
    }
}

/// Two connected ends in two network namespaces.
///
/// # Errors
/// Those of [`Namespaces`]; EPROTONOSUPPORT for what is no network's.
pub fn pair_between(both: &Namespaces, over: &str) -> Result<(End, End), CallError> {
    let streams = |(ours, theirs)| (End::Stream(ours), End::Stream(theirs));
    let datagrams = |(ours, theirs)| (End::Datagrams(ours), End::Datagrams(theirs));
    match over {
        "tcp" => both.tcp_pair().map(streams),
        "udp" => both.udp_pair().map(datagrams),
        _ => Err(CallError { call: "socket", errno: libc::EPROTONOSUPPORT }),
    }
}

/// Two connected stream sockets of AF_VSOCK in this machine (VMADDR_CID_LOCAL).
fn vsock_pair() -> Result<(OwnedFd, OwnedFd), CallError> {
    // SAFETY: sockaddr_vm is plain numbers, for which zero is a value.
    let mut address: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
    address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
    address.svm_cid = libc::VMADDR_CID_LOCAL;
    address.svm_port = libc::VMADDR_PORT_ANY;
    let mut length = size_of::<libc::sockaddr_vm>() as libc::socklen_t;
    let socket = || {
        // SAFETY: no pointers.
        let fd = check("socket", unsafe {
            libc::socket(libc::AF_VSOCK, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0)
        })?;
        // SAFETY: the kernel has just given us this descriptor.
        Ok::<_, CallError>(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    let (listening, ours) = (socket()?, socket()?);
    let at = listening.as_raw_fd();
    // SAFETY: `address` is valid to read and write for its length in each of these calls.
    unsafe {
        check("bind", libc::bind(at, (&raw const address).cast(), length))?;
        check("listen", libc::listen(at, 1))?;
        check("getsockname", libc::getsockname(at, (&raw mut address).cast(), &raw mut length))?;
        check("connect", libc::connect(ours.as_raw_fd(), (&raw const address).cast(), length))?;
    }
    // SAFETY: who connected is not asked for.
    let accepted =
        unsafe { libc::accept4(at, std::ptr::null_mut(), std::ptr::null_mut(), libc::SOCK_CLOEXEC) };
    let accepted = check("accept4", accepted)?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok((ours, unsafe { OwnedFd::from_raw_fd(accepted) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVER: [&str; 6] = ["pipe", "unix", "unix-dgram", "tcp", "udp", "memory"];

    #[test]
    fn messages_arrive_whole_and_both_may_send_at_the_same_time() {
        for over in OVER {
            let most = if over == "udp" {
                MOST_UDP
            } else if over == "unix-dgram" {
                MOST_UNIX
            } else {
                2 << 20
            };
            let (mut ours, mut theirs) = pair(over, most).unwrap();
            let other = std::thread::spawn(move || {
                for length in [1, 1000, most] {
                    let mut message = vec![0; length];
                    theirs.receive(&mut message).unwrap();
                    theirs.send(&message).unwrap();
                    theirs.expects(length).unwrap();
                    theirs.exchange(&vec![7; length], &mut message).unwrap();
                    assert!(message.iter().all(|byte| *byte == 9));
                    theirs.expects(0).unwrap();
                }
                theirs.receive(&mut [0; 8])
            });
            for length in [1, 1000, most] {
                let out: Vec<u8> = (0..length).map(|at| at as u8).collect();
                let mut into = vec![0; length];
                ours.send(&out).unwrap();
                ours.receive(&mut into).unwrap();
                assert!(out == into, "{over}: {length} bytes came back otherwise");
                ours.expects(length).unwrap();
                ours.exchange(&vec![9; length], &mut into).unwrap();
                assert!(into.iter().all(|byte| *byte == 7), "{over}");
                ours.expects(0).unwrap();
            }
            // Datagrams have no end, and memory none that can be seen: a message ends the wait.
            ours.send(&[1; 8]).unwrap();
            other.join().unwrap().unwrap();
        }
        assert_eq!(pair("pigeon", 1).unwrap_err().errno, libc::EPROTONOSUPPORT);
    }

    #[test]
    fn an_end_that_is_gone_ends_the_other() {
        for over in ["pipe", "unix", "tcp"] {
            let (mut ours, theirs) = pair(over, 1).unwrap();
            drop(theirs);
            assert!(ours.receive(&mut [0]).is_err(), "{over}");
        }
    }
}

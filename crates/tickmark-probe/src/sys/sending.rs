//! Ways in which a stream sends what does not change: write(2), send(2) without a copy (Documentation/networking/msg_zerocopy.rst), io_uring(7).

use super::{CallError, check, file};
use io_uring::{IoUring, opcode, types::Fd};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use tickmark_wire::Sending;

/// One of them, with its socket.
pub struct Sender {
    socket: OwnedFd,
    way: SendMethod,
}

enum SendMethod {
    Write,
    /// Sends that the kernel has not told the end of.
    Zerocopy(u32),
    Ring(Box<IoUring>),
}

/// Sends after which those that ended are taken from the queue of errors.
const OUTSTANDING: u32 = 16;

impl Sender {
    /// Prepares a connected socket.
    ///
    /// # Errors
    /// Those of setsockopt(2) and io_uring_setup(2); EPROTONOSUPPORT for a way that this version does not know.
    pub fn new(socket: OwnedFd, sending: Sending) -> Result<Self, CallError> {
        let way = match sending {
            Sending::Write => SendMethod::Write,
            Sending::Zerocopy => {
                let (on, length) = (1i32, size_of::<i32>() as libc::socklen_t);
                let at = (&raw const on).cast();
                // SAFETY: `on` is valid to read for `length`.
                let set = unsafe {
                    libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ZEROCOPY, at, length)
                };
                check("setsockopt (SO_ZEROCOPY)", set)?;
                SendMethod::Zerocopy(0)
            }
            Sending::Uring => SendMethod::Ring(Box::new(
                IoUring::new(8).map_err(|e| CallError::from_io("io_uring_setup or mmap", &e))?,
            )),
            Sending::Other(_) => return Err(CallError { call: "send", errno: libc::EPROTONOSUPPORT }),
        };
        Ok(Self { socket, way })
    }

    /// Sends all of it, which nobody changes later.
    ///
    /// # Errors
    /// Those of write(2), send(2) and io_uring_enter(2).
    pub fn send(&mut self, piece: &'static [u8]) -> Result<(), CallError> {
        let mut rest = piece;
        while !rest.is_empty() {
            let sent = match &mut self.way {
                SendMethod::Write => return file::write_all(self.socket.as_fd(), rest),
                SendMethod::Zerocopy(outstanding) => zerocopy(&self.socket, rest, outstanding)?,
                SendMethod::Ring(ring) => through(ring, &self.socket, rest)?,
            };
            rest = &rest[sent..];
        }
        Ok(())
    }
}

fn zerocopy(socket: &OwnedFd, rest: &[u8], outstanding: &mut u32) -> Result<usize, CallError> {
    let at = socket.as_raw_fd();
    // SAFETY: `rest` is valid to read for its length, and stays so.
    let sent =
        unsafe { libc::send(at, rest.as_ptr().cast(), rest.len(), libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL) };
    match sent {
        -1 => match CallError::last("send (MSG_ZEROCOPY)") {
            // What waits to be told of takes the memory that is allowed for it (net.core.optmem_max).
            CallError { errno: libc::ENOBUFS, .. } => {
                wait_told(socket)?;
                *outstanding = 0;
                Ok(0)
            }
            error => Err(error),
        },
        sent => {
            *outstanding += 1;
            if *outstanding >= OUTSTANDING {
                while take_completion(socket) {}
                *outstanding = 0;
            }
            Ok(sent as usize)
        }
    }
}

/// Takes one message from the queue of errors, which tells of a range of sends that ended.
fn take_completion(socket: &OwnedFd) -> bool {
    let mut control = [0u64; 16];
    // SAFETY: msghdr is plain numbers and pointers, for which zero is a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `message` and what it refers to are valid to write.
    let got = unsafe {
        libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT)
    };
    got >= 0
}

/// Waits until there is one, and takes all.
fn wait_told(socket: &OwnedFd) -> Result<(), CallError> {
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: it is valid to read and write. POLLERR is always looked for.
    check("poll", unsafe { libc::poll(&raw mut polled, 1, 1000) })?;
    while take_completion(socket) {}
    Ok(())
}

fn through(ring: &mut IoUring, socket: &OwnedFd, rest: &'static [u8]) -> Result<usize, CallError> {
    let call = "io_uring_enter (send)";
    let lost = CallError { call, errno: libc::EIO };
    let entry = opcode::Send::new(Fd(socket.as_raw_fd()), rest.as_ptr(), rest.len() as u32).build();
    // SAFETY: `rest` stays valid to read, and the socket open, until the completion below; after an error, for ever and until both end.
    unsafe { ring.submission().push(&entry) }.map_err(|_| lost)?;
    ring.submit_and_wait(1).map_err(|e| CallError::from_io(call, &e))?;
    match ring.completion().next().map(|entry| entry.result()) {
        Some(sent) if sent > 0 => Ok(sent as usize),
        Some(error) if error < 0 => Err(CallError { call, errno: -error }),
        _ => Err(lost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::net;

    #[test]
    fn what_is_sent_arrives_whichever_way() {
        // More than socket buffers hold, so that sends are parts of it.
        let piece: &'static [u8] = (0..1 << 20).map(|at| (at % 251) as u8).collect::<Vec<u8>>().leak();
        for way in Sending::ALL {
            let (ours, theirs) = net::tcp_pair().unwrap();
            let reads = std::thread::spawn(move || {
                let mut got = vec![0; piece.len()];
                for _ in 0..20 {
                    file::read_all(theirs.as_fd(), &mut got).unwrap();
                    assert!(got == piece);
                }
            });
            let mut sender = Sender::new(ours, way).unwrap();
            for _ in 0..20 {
                sender.send(piece).unwrap();
            }
            reads.join().unwrap();
        }
    }
}

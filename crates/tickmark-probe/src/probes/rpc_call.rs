//! A null call of ONC RPC to a server of ours: no rpcbind, no library.

use super::round_trip;
use crate::batch::{self, Shape};
use crate::sys::peer::Peer;
use crate::sys::{CallError, file, net};
use crate::{Probe, Spec, rpc};
use std::os::fd::{AsFd, BorrowedFd};

const SOURCE: &str = "RFC 5531; McVoy and Staelin, USENIX 1996 (lat_rpc, there through a library)";
const BAD: CallError = CallError { call: "read", errno: libc::EBADMSG };

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            source: SOURCE,
            needs: round_trip::UDP,
            ..round_trip::spec(
                "ipc.rpc_udp.round_trip",
                "ONC RPC over UDP, null call",
                "a null call of ONC RPC (40 bytes) over UDP of the loopback interface, its reply (24 bytes) checked; \
                 the server is a process of ours on the same CPU",
            )
        },
        prepare: |spec, _| {
            let (ours, theirs) = net::udp_pair()?;
            let peer = Peer::serve(&[&ours], theirs, |theirs| {
                let mut message = [0; 512];
                let length = file::read(theirs.as_fd(), &mut message)?;
                let reply = rpc::answer(&message[..length]).ok_or(BAD)?;
                file::write_all(theirs.as_fd(), &reply)
            })?;
            let (pid, mut xid) = (peer.pid(), 0u32);
            let call = move || {
                let _ = &peer;
                xid = xid.wrapping_add(1);
                file::write_all(ours.as_fd(), &rpc::call(xid))?;
                let mut reply = [0; 64];
                let length = file::read(ours.as_fd(), &mut reply)?;
                expect(&reply[..length], xid)
            };
            Ok(batch::fallible(Shape::from_spec(spec), call).with_peers(&[pid]).boxed())
        },
    },
    Probe {
        spec: Spec {
            source: SOURCE,
            needs: round_trip::TCP,
            ..round_trip::spec(
                "ipc.rpc_tcp.round_trip",
                "ONC RPC over TCP, null call",
                "the same over a TCP connection, with record marks",
            )
        },
        prepare: |spec, _| {
            let (ours, theirs) = net::tcp_pair()?;
            let peer = Peer::serve(&[&ours], theirs, |theirs| {
                let mut message = [0; 512];
                let length = record(theirs.as_fd(), &mut message)?;
                let reply = rpc::answer(&message[..length]).ok_or(BAD)?;
                send(theirs.as_fd(), &reply)
            })?;
            let (pid, mut xid) = (peer.pid(), 0u32);
            let call = move || {
                let _ = &peer;
                xid = xid.wrapping_add(1);
                send(ours.as_fd(), &rpc::call(xid))?;
                let mut reply = [0; 512];
                let length = record(ours.as_fd(), &mut reply)?;
                expect(&reply[..length], xid)
            };
            Ok(batch::fallible(Shape::from_spec(spec), call).with_peers(&[pid]).boxed())
        },
    },
];

#[inline]
fn expect(reply: &[u8], xid: u32) -> Result<(), CallError> {
    if rpc::succeeded(reply, xid) { Ok(()) } else { Err(BAD) }
}

/// Mark and record in one write: in two they would be two segments.
fn send(fd: BorrowedFd<'_>, record: &[u8]) -> Result<(), CallError> {
    let mut message = [0; 64];
    let end = 4 + record.len();
    message[..4].copy_from_slice(&rpc::mark(record.len()));
    message[4..end].copy_from_slice(record);
    file::write_all(fd, &message[..end])
}

/// Reads the mark and its record, of which the buffer may take more than there is: one read for both, as they
/// come together.
fn record(fd: BorrowedFd<'_>, buffer: &mut [u8; 512]) -> Result<usize, CallError> {
    let mut have = 0;
    loop {
        let count = file::read(fd, &mut buffer[have..])?;
        if count == 0 {
            return Err(CallError { call: "read", errno: libc::EPIPE });
        }
        have += count;
        if let Some(mark) = buffer.first_chunk::<4>().filter(|_| have >= 4) {
            let length = rpc::marked(*mark).ok_or(BAD)?;
            if have >= 4 + length {
                buffer.copy_within(4..4 + length, 0);
                return Ok(length);
            }
        }
    }
}

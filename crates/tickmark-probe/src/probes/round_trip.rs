//! Round trip of one byte between two processes: pipes, sockets.

use crate::batch::{self, Shape};
use crate::sys::peer::Peer;
use crate::sys::{CallError, file, net};
use crate::{Expected, Probe, Routine, Spec, Syscall, Unavailable};
use std::os::fd::{AsFd, OwnedFd};
use tickmark_wire::{Group, Picos};

const SOURCE: &str = "McVoy and Staelin, USENIX 1996 (lat_pipe, lat_unix, lat_udp, lat_tcp)";

pub(super) const fn spec(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec {
        timed,
        source: SOURCE,
        physical_floor: Picos::new(100_000),
        expected: Expected { switches: Some(1), faults: Some(0) },
        ..Spec::cost(Group::Communication, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: &[
                Syscall::Pipe2,
                Syscall::RtSigaction,
                Syscall::Clone,
                Syscall::Prctl,
                Syscall::Read,
                Syscall::Write,
            ],
            ..spec(
                "ipc.pipe.round_trip",
                "pipe, round trip",
                "write one byte, the peer on the same CPU reads it and writes it back, read it",
            )
        },
        prepare: |spec, _| {
            let (peer, to, from) = Peer::echo()?;
            let pid = peer.pid();
            let trip = move || {
                let _ = &peer;
                file::write_byte(to.as_fd())?;
                file::read_byte(from.as_fd())
            };
            Ok(batch::fallible(Shape::from_spec(spec), trip).with_peers(&[pid]).boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[
                Syscall::Socketpair,
                Syscall::RtSigaction,
                Syscall::Clone,
                Syscall::Prctl,
                Syscall::Read,
                Syscall::Write,
            ],
            // Waking the peer may switch to it at once, or when this process sleeps.
            expected: Expected { switches: None, faults: Some(0) },
            ..spec(
                "ipc.unix.round_trip",
                "AF_UNIX stream, round trip",
                "one byte there and back through a pair of stream sockets of the UNIX domain, the peer on the same CPU",
            )
        },
        prepare: |spec, _| round_trip(spec, net::unix_pair),
    },
    Probe {
        spec: Spec {
            needs: UDP,
            ..spec(
                "ipc.udp.round_trip",
                "UDP, round trip",
                "a datagram of one byte there and back between connected sockets of the loopback interface, the peer \
                 on the same CPU",
            )
        },
        prepare: |spec, _| round_trip(spec, net::udp_pair),
    },
    Probe {
        spec: Spec {
            needs: TCP,
            ..spec(
                "ipc.tcp.round_trip",
                "TCP, round trip",
                "one byte there and back over a TCP connection of the loopback interface (TCP_NODELAY), the peer on \
                 the same CPU",
            )
        },
        prepare: |spec, _| round_trip(spec, net::tcp_pair),
    },
];

/// System calls of a pair of UDP sockets with a peer process.
pub(super) const UDP: &[Syscall] = &[
    Syscall::Socket,
    Syscall::Bind,
    Syscall::Getsockname,
    Syscall::Connect,
    Syscall::Setsockopt,
    Syscall::RtSigaction,
    Syscall::Clone,
    Syscall::Prctl,
    Syscall::Read,
    Syscall::Write,
];

/// System calls of a TCP connection with a peer process.
pub(super) const TCP: &[Syscall] = &[
    Syscall::Socket,
    Syscall::Bind,
    Syscall::Listen,
    Syscall::Getsockname,
    Syscall::Connect,
    Syscall::Accept,
    Syscall::Setsockopt,
    Syscall::RtSigaction,
    Syscall::Clone,
    Syscall::Prctl,
    Syscall::Read,
    Syscall::Write,
];

type Pair = fn() -> Result<(OwnedFd, OwnedFd), CallError>;

fn round_trip(spec: &Spec, pair: Pair) -> Result<Box<dyn Routine>, Unavailable> {
    let (ours, theirs) = pair()?;
    let peer = Peer::serve(&[&ours], theirs, |theirs| {
        file::read_byte(theirs.as_fd())?;
        file::write_byte(theirs.as_fd())
    })?;
    let pid = peer.pid();
    let trip = move || {
        let _ = &peer;
        file::write_byte(ours.as_fd())?;
        file::read_byte(ours.as_fd())
    };
    Ok(batch::fallible(Shape::from_spec(spec), trip).with_peers(&[pid]).boxed())
}

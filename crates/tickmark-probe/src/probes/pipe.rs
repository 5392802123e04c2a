//! Round trip of one byte through a pair of pipes between two processes.

use crate::batch::{self, Shape};
use crate::sys::file;
use crate::sys::peer::Peer;
use crate::{Expected, Probe, Spec, Syscall};
use std::os::fd::AsFd;
use tickmark_wire::{Group, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "write one byte, the peer on the same CPU reads it and writes it back, read it",
        needs: &[Syscall::Pipe2, Syscall::Fork, Syscall::Read, Syscall::Write],
        source: "McVoy and Staelin, USENIX 1996 (lat_pipe)",
        physical_floor: Picos::new(100_000),
        expected: Expected { switches: 1, faults: Some(0) },
        ..Spec::cost(Group::Communication, "ipc.pipe.round_trip", "pipe, round trip")
    },
    prepare: |spec, _| {
        let (peer, to, from) = Peer::echo()?;
        let pid = peer.pid();
        let trip = move || {
            let _ = &peer;
            file::write_byte(to.as_fd())?;
            file::read_byte(from.as_fd())
        };
        Ok(batch::fallible(Shape::of(spec), trip).with_peers(&[pid]).boxed())
    },
}];

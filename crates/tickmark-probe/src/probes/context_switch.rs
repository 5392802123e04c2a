//! A switch between two processes on one CPU.

use crate::batch::{self, Shape};
use crate::sys::file;
use crate::sys::peer::Peer;
use crate::{Expected, Probe, Spec, Syscall};
use std::os::fd::AsFd;
use tickmark_wire::{Group, Part, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "a token goes round a ring of two processes joined by pipes, per switch, less one write \
                to a pipe and one read from it in a single process",
        needs: &[Syscall::Pipe2, Syscall::Fork, Syscall::Read, Syscall::Write],
        source: "McVoy and Staelin, USENIX 1996 (lat_ctx 2p/0K)",
        physical_floor: Picos::new(50_000),
        expected: Expected { switches: 1, faults: Some(0) },
        weight: 20,
        ..Spec::cost(Group::Communication, "switch.2p.0k", "context switch, 2 processes of 0 KB")
    },
    prepare: |spec, _| {
        let (peer, to, from) = Peer::echo()?;
        let (inward, outward) = file::pipe()?;
        let pid = peer.pid();
        let ring = move || {
            let _ = &peer;
            file::write_byte(to.as_fd())?;
            file::read_byte(from.as_fd())
        };
        let alone = move || {
            file::write_byte(outward.as_fd())?;
            file::read_byte(inward.as_fd())
        };
        // A trip is two switches, one of them of this process.
        Ok(batch::fallible(Shape::of(spec).times(2), ring)
            .part(Part::Less, Shape::plain(spec), alone)
            .with_peers(&[pid])
            .boxed())
    },
}];

//! Opening a TCP connection and closing it.

use crate::batch::{self, Shape};
use crate::sys::net::{self, Listener};
use crate::{Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "socket, connect to a listener of this process on the loopback interface, close; the listener accepts \
                and closes between batches, so that its queue never fills",
        needs: &[
            Syscall::Socket,
            Syscall::Bind,
            Syscall::Listen,
            Syscall::Connect,
            Syscall::Accept,
            Syscall::Close,
        ],
        source: "McVoy and Staelin, USENIX 1996 (lat_connect)",
        physical_floor: Picos::new(500_000),
        ..Spec::cost(Group::Communication, "ipc.tcp.connect", "TCP, connect and close")
    },
    prepare: |spec, _| {
        let listener = Listener::at(net::own_address(), None)?;
        let address = listener.address();
        // Once before it is timed: what is refused is found here.
        net::connect(address)?;
        listener.accept(true)?;
        let accept_all = move || {
            while listener.accept(false)?.is_some() {}
            Ok(())
        };
        // The queue of a listener takes 128 at least.
        let shape = Shape::of(spec).at_most(64);
        Ok(batch::fallible(shape, move || net::connect(address)).between(accept_all).boxed())
    },
}];

//! Opening a TCP connection and closing it.

use crate::batch::{self, Shape};
use crate::sys::net::{self, Listener};
use crate::{Probe, Spec, Syscall};
use std::cell::Cell;
use std::rc::Rc;
use tickmark_wire::{Group, Picos};

/// Connections to one address; it has some 28,000 ports.
const CONNECTIONS: usize = 8_000;

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "socket, connect to a listener of this process on the loopback interface (and two readings of the clock, \
                to tell a SYN that was sent again), close; the listener accepts and closes between batches",
        needs: &[
            Syscall::Socket,
            Syscall::Bind,
            Syscall::Listen,
            Syscall::Getsockname,
            Syscall::Connect,
            Syscall::Accept,
            Syscall::Poll,
            Syscall::Close,
        ],
        source: "McVoy and Staelin, USENIX 1996 (lat_connect)",
        physical_floor: Picos::new(500_000),
        ..Spec::cost(Group::Communication, "ipc.tcp.connect", "TCP, connect and close")
    },
    prepare: |spec, _| {
        let listener = Listener::at(net::own_address(), None)?;
        // Once before it is timed: what is refused is found here.
        net::connect(listener.address())?;
        listener.accept(true)?;
        let to = Rc::new(Cell::new(listener.address()));
        let (mut listener, mut made, address) = (listener, 0, Rc::clone(&to));
        let accept_all = move || {
            while listener.accept(false)?.is_some() {
                made += 1;
            }
            // A closed connection holds its port for a minute: another address has ports of its own.
            if made > CONNECTIONS {
                listener = Listener::at(net::own_address(), None)?;
                address.set(listener.address());
                made = 0;
            }
            Ok(())
        };
        // The queue of a listener takes 128 at least.
        let shape = Shape::from_spec(spec).at_most(64);
        Ok(batch::fallible(shape, move || net::connect(to.get())).between(accept_all).boxed())
    },
}];

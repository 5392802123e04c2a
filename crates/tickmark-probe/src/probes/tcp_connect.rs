//! Opening a TCP connection and closing it.

use crate::batch::{self, Shape};
use crate::sys::{CallError, net};
use crate::{Probe, Spec, Syscall, Unavailable};
use std::net::SocketAddr;
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
        let listener = net::listener(net::own_address())?;
        let failed = |call| move |error: std::io::Error| CallError::of(call, &error);
        let SocketAddr::V4(address) = listener.local_addr().map_err(failed("getsockname"))? else {
            return Err(Unavailable::Missing("no IPv4 address".to_owned()));
        };
        listener.set_nonblocking(true).map_err(failed("ioctl"))?;
        let accept_all = move || loop {
            match listener.accept() {
                Ok(connection) => drop(connection),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(CallError::of("accept4", &error)),
            }
        };
        // The queue of a listener takes 128 at least.
        let shape = Shape::of(spec).at_most(64);
        Ok(batch::fallible(shape, move || net::connect(address)).between(accept_all).boxed())
    },
}];

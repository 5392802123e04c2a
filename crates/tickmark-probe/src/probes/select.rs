//! select on exactly 100 descriptors.

use crate::batch::{self, Shape};
use crate::sys::CallError;
use crate::sys::file::{self, SelectSet};
use crate::sys::net::{self, Listener};
use crate::{Probe, Spec, Syscall};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use tickmark_wire::{Group, Picos};

pub(super) const DESCRIPTORS: usize = 100;

const fn spec(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec {
        timed,
        source: "McVoy and Staelin, USENIX 1996 (lat_select, on exactly 100)",
        physical_floor: Picos::new(50_000),
        ..Spec::cost(Group::SystemCall, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: &[Syscall::Openat, Syscall::Fcntl, Syscall::Pselect],
            ..spec(
                "syscall.select.files",
                "select on 100 files",
                "select without waiting on 100 descriptors of a regular file, all of them ready",
            )
        },
        prepare: |spec, params| {
            let file = file::open(params.tiny()?, libc::O_RDONLY)?;
            let copies = (0..DESCRIPTORS).map(|_| file::duplicate(file.as_fd()));
            let files = copies.collect::<Result<Vec<_>, _>>()?;
            let set = SelectSet::new(files.iter().map(AsFd::as_fd))?;
            Ok(batch::fallible(Shape::from_spec(spec), move || {
                let _ = &files;
                ready(set.poll()?, DESCRIPTORS)
            })
            .boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[
                Syscall::Socket,
                Syscall::Bind,
                Syscall::Listen,
                Syscall::Getsockname,
                Syscall::Connect,
                Syscall::Accept,
                Syscall::Pselect,
            ],
            ..spec(
                "syscall.select.tcp",
                "select on 100 TCP sockets",
                "select without waiting on 100 connected TCP sockets of the loopback interface, none ready",
            )
        },
        prepare: |spec, _| {
            let sockets = connected()?;
            let set = SelectSet::new(sockets.iter().map(|(ours, _)| ours.as_fd()))?;
            Ok(batch::fallible(Shape::from_spec(spec), move || {
                let _ = &sockets;
                ready(set.poll()?, 0)
            })
            .boxed())
        },
    },
];

/// Pairs of connected sockets, as many as there are descriptors.
pub(super) fn connected() -> Result<Vec<(OwnedFd, OwnedFd)>, CallError> {
    let listener = Listener::at(Ipv4Addr::LOCALHOST, None)?;
    (0..DESCRIPTORS).map(|_| net::connection(&listener, None)).collect()
}

#[inline(always)]
fn ready(observed: i32, expected: usize) -> Result<(), CallError> {
    if observed as usize == expected {
        Ok(())
    } else {
        Err(CallError { call: "pselect6", errno: libc::EBUSY })
    }
}

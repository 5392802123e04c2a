//! select on exactly 100 descriptors.

use crate::batch::{self, Shape};
use crate::sys::CallError;
use crate::sys::file::{self, SelectSet};
use crate::{Probe, Spec, Syscall};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use tickmark_wire::{Group, Picos};

const DESCRIPTORS: usize = 100;

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
            needs: &[Syscall::Openat, Syscall::Dup, Syscall::Select],
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
            Ok(batch::fallible(Shape::of(spec), move || {
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
                Syscall::Connect,
                Syscall::Accept,
                Syscall::Select,
            ],
            ..spec(
                "syscall.select.tcp",
                "select on 100 TCP sockets",
                "select without waiting on 100 connected TCP sockets of the loopback interface, none ready",
            )
        },
        prepare: |spec, _| {
            let sockets = connected().map_err(|e| CallError::of("connect", &e))?;
            let set = SelectSet::new(sockets.iter().map(|(ours, _)| ours.as_fd()))?;
            Ok(batch::fallible(Shape::of(spec), move || {
                let _ = &sockets;
                ready(set.poll()?, 0)
            })
            .boxed())
        },
    },
];

fn connected() -> std::io::Result<Vec<(TcpStream, TcpStream)>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let pair = |_| Ok((TcpStream::connect(address)?, listener.accept()?.0));
    (0..DESCRIPTORS).map(pair).collect()
}

#[inline(always)]
fn ready(seen: i32, expected: usize) -> Result<(), CallError> {
    if seen as usize == expected { Ok(()) } else { Err(CallError { call: "select", errno: libc::EBUSY }) }
}

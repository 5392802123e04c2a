//! Queries of ready descriptors by epoll; an operation of io_uring that does nothing; the number of the CPU.

use super::select::{DESCRIPTORS, connected};
use crate::batch::{self, Shape};
use crate::sys::uring::Ring;
use crate::sys::wake::{self, Epoll};
use crate::sys::{CallError, file};
use crate::{Probe, Spec, Syscall};
use std::os::fd::AsFd;
use tickmark_wire::{Group, Picos};

const fn spec(name: &'static str, title: &'static str, timed: &'static str, source: &'static str) -> Spec {
    Spec { timed, source, physical_floor: Picos::new(1_000), ..Spec::cost(Group::SystemCall, name, title) }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: &[
                Syscall::Socket,
                Syscall::Bind,
                Syscall::Listen,
                Syscall::Getsockname,
                Syscall::Connect,
                Syscall::Accept,
                Syscall::Write,
                Syscall::EpollCreate,
                Syscall::EpollCtl,
                Syscall::EpollWait,
            ],
            ..spec(
                "syscall.epoll.tcp",
                "epoll on 100 TCP sockets",
                "epoll_wait without waiting on 100 connected TCP sockets of the loopback interface, one of them ready",
                "epoll(7)",
            )
        },
        prepare: |spec, _| {
            let sockets = connected()?;
            if let Some((_, theirs)) = sockets.first() {
                file::write_byte(theirs.as_fd())?;
            }
            debug_assert_eq!(sockets.len(), DESCRIPTORS);
            let epoll = Epoll::new(sockets.iter().map(|(ours, _)| ours.as_fd()))?;
            Ok(batch::fallible(Shape::from_spec(spec), move || {
                let _ = &sockets;
                match epoll.ready()? {
                    1 => Ok(()),
                    _ => Err(CallError { call: "epoll_wait", errno: libc::EBUSY }),
                }
            })
            .boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::IoUringSetup, Syscall::Mmap, Syscall::IoUringEnter],
            ..spec(
                "syscall.io_uring.nop",
                "io_uring, no-op",
                "submit an operation that does nothing, wait for its completion in the same call, take it",
                "io_uring_enter(2)",
            )
        },
        prepare: |spec, _| {
            let mut ring = Ring::new()?;
            ring.nop()?;
            Ok(batch::fallible(Shape::from_spec(spec), move || ring.nop()).boxed())
        },
    },
    Probe {
        spec: spec(
            "syscall.getcpu.vdso",
            "getcpu",
            "getcpu of the C library, which the vDSO serves where there is one",
            "getcpu(2), vdso(7)",
        ),
        prepare: |spec, _| {
            wake::cpu()?;
            Ok(batch::fallible(Shape::from_spec(spec), || wake::cpu().map(drop)).boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Getcpu],
            physical_floor: Picos::new(10_000),
            ..spec("syscall.getcpu.call", "getcpu, syscall", "getcpu as a system call", "getcpu(2)")
        },
        prepare: |spec, _| {
            wake::cpu_by_call()?;
            Ok(batch::fallible(Shape::from_spec(spec), || wake::cpu_by_call().map(drop)).boxed())
        },
    },
];

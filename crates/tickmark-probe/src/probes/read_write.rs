//! One byte from /dev/zero, one byte to /dev/null.

use crate::batch::{self, Shape};
use crate::sys::file;
use crate::{Probe, Spec, Syscall};
use std::os::fd::AsFd;
use tickmark_wire::{Group, Picos};

const fn spec(name: &'static str, title: &'static str, timed: &'static str) -> Spec {
    Spec {
        timed,
        source: "McVoy and Staelin, USENIX 1996 (lat_syscall read, write)",
        physical_floor: Picos::new(10_000),
        ..Spec::cost(Group::SystemCall, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: &[Syscall::Openat, Syscall::Read],
            ..spec("syscall.read", "read", "read one byte of /dev/zero")
        },
        prepare: |spec, _| {
            let zero = file::open(c"/dev/zero", libc::O_RDONLY)?;
            Ok(batch::fallible(Shape::from_spec(spec), move || file::read_byte(zero.as_fd())).boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Openat, Syscall::Write],
            ..spec("syscall.write", "write", "write one byte to /dev/null")
        },
        prepare: |spec, _| {
            let null = file::open(c"/dev/null", libc::O_WRONLY)?;
            Ok(batch::fallible(Shape::from_spec(spec), move || file::write_byte(null.as_fd())).boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Openat, Syscall::Read, Syscall::Write],
            ..spec(
                "syscall.null_io",
                "null I/O",
                "read one byte of /dev/zero, write one to /dev/null; the mean of the two",
            )
        },
        prepare: |spec, _| {
            let zero = file::open(c"/dev/zero", libc::O_RDONLY)?;
            let null = file::open(c"/dev/null", libc::O_WRONLY)?;
            let both = move || {
                file::read_byte(zero.as_fd())?;
                file::write_byte(null.as_fd())
            };
            Ok(batch::fallible(Shape::from_spec(spec).times(2), both).boxed())
        },
    },
];

//! Opening a file and closing it again.

use crate::batch::{self, Shape};
use crate::sys::file;
use crate::{Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "open for reading and close of a file by a relative path of three components",
        needs: &[Syscall::Openat, Syscall::Close],
        source: "McVoy and Staelin, USENIX 1996 (lat_syscall open)",
        physical_floor: Picos::new(20_000),
        ..Spec::cost(Group::SystemCall, "syscall.open_close", "open and close")
    },
    prepare: |spec, params| {
        let path = params.tiny()?;
        let open = move || file::open(path, libc::O_RDONLY).and_then(file::close);
        open()?;
        Ok(batch::fallible(Shape::from_spec(spec), open).boxed())
    },
}];

//! The cost of entering the kernel and leaving it.

use crate::batch::{self, Shape};
use crate::sys::file;
use crate::{Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "getppid as a system call",
        needs: &[Syscall::Getppid],
        source: "McVoy and Staelin, USENIX 1996 (lat_syscall null)",
        physical_floor: Picos::new(10_000),
        ..Spec::cost(Group::SystemCall, "syscall.null", "null call (getppid)")
    },
    prepare: |spec, _| {
        file::getppid()?;
        Ok(batch::fallible(Shape::from_spec(spec), || file::getppid().map(drop)).boxed())
    },
}];

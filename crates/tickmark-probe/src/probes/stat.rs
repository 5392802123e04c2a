//! The attributes of a file by its path.

use crate::batch::{self, Shape};
use crate::sys::file;
use crate::{Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "stat of a relative path of three components, in the kernel's cache",
        needs: &[Syscall::Stat],
        source: "McVoy and Staelin, USENIX 1996 (lat_syscall stat)",
        physical_floor: Picos::new(20_000),
        ..Spec::cost(Group::SystemCall, "syscall.stat", "stat")
    },
    prepare: |spec, params| {
        let path = params.tiny()?;
        file::stat(path)?;
        Ok(batch::fallible(Shape::from_spec(spec), move || file::stat(path).map(drop)).boxed())
    },
}];

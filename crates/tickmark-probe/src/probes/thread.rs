//! Making a thread.

use crate::batch::{self, Shape};
use crate::sys::exec;
use crate::{Expected, Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "pthread_create of a thread that ends at once, pthread_join",
        needs: &[Syscall::Clone3, Syscall::Mmap, Syscall::Mprotect, Syscall::Futex],
        source: "POSIX.1-2024 pthread_create",
        physical_floor: Picos::new(500_000),
        expected: Expected { switches: Some(1), faults: None },
        ..Spec::cost(Group::Process, "process.thread", "thread, create and join")
    },
    prepare: |spec, _| {
        exec::thread_and_join()?;
        Ok(batch::fallible(Shape::from_spec(spec), exec::thread_and_join).boxed())
    },
}];

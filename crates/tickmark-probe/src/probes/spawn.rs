//! Starting a program without copying the process.

use crate::batch::{self, Shape};
use crate::sys::{CallError, exec};
use crate::{Expected, Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "posix_spawn of a static program of 188 bytes, its exit, wait",
        needs: &[Syscall::Clone3, Syscall::Execve, Syscall::ExitGroup, Syscall::Wait4],
        source: "POSIX.1-2024 posix_spawn",
        physical_floor: Picos::new(1_000_000),
        // Sleeps twice: until the child has executed, and until it has ended.
        expected: Expected { switches: Some(2), faults: None },
        weight: 20,
        ..Spec::cost(Group::Process, "process.posix_spawn", "posix_spawn")
    },
    prepare: |spec, params| {
        let tiny = params.tiny()?;
        let spawn = move || match exec::spawn_and_wait(&[tiny])? {
            exec::TINY_STATUS => Ok(()),
            // It could not end as it does.
            _ => Err(CallError { call: "exit_group", errno: libc::EINTR }),
        };
        spawn()?;
        Ok(batch::fallible(Shape::from_spec(spec), spawn).boxed())
    },
}];

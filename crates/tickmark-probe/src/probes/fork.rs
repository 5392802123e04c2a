//! Making a process: fork, fork and execute a program, the same through a shell, vfork.
//!
//! The process that forks is cut down to a fixed size first (sys/stub.rs), and the program that is
//! executed is 188 bytes of ours, so that neither this program nor its samples weigh in.

use crate::batch::{self, Shape};
use crate::routine::{Budget, Routine, Sink};
use crate::sys::stub::{Call, Child, Stub};
use crate::sys::{CallError, exec};
use crate::{Expected, Probe, ProbeError, Spec, Syscall, Unavailable};
use std::ffi::CStr;
use tickmark_wire::{Group, Picos};

const NEEDS: &[Syscall] = &[
    Syscall::Mmap,
    Syscall::Mprotect,
    Syscall::Madvise,
    Syscall::Fork,
    Syscall::Execve,
    Syscall::ExitGroup,
    Syscall::Wait4,
];

const fn spec(name: &'static str, title: &'static str, timed: &'static str, weight: u32) -> Spec {
    Spec {
        timed,
        needs: NEEDS,
        source: "McVoy and Staelin, USENIX 1996 (lat_proc)",
        physical_floor: Picos::new(1_000_000),
        // The parent sleeps once for the child. How many pages it must copy back is the kernel's to say.
        expected: Expected { switches: 1, faults: None },
        weight,
        ..Spec::cost(Group::Process, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: spec(
            "process.fork",
            "fork",
            "fork of a process cut down to 32 private pages in 16 mappings and a stack, exit of the child, wait",
            10,
        ),
        prepare: |spec, _| prepare(spec, Call::Fork, Child::Exit, 0, &[]),
    },
    Probe {
        spec: spec(
            "process.exec",
            "fork and exec",
            "fork as above, execve of a static program of 188 bytes, its exit, wait",
            20,
        ),
        prepare: |spec, params| {
            let program = [params.tiny()?];
            exec::spawn_and_wait(&program)?;
            prepare(spec, Call::Fork, Child::Exec, exec::TINY_STATUS, &program)
        },
    },
    Probe {
        spec: spec(
            "process.sh",
            "fork and sh -c",
            "fork as above, execve of /bin/sh -c of that program, its exit, wait",
            20,
        ),
        prepare: |spec, params| {
            let program = [c"/bin/sh", c"-c", params.tiny()?];
            exec::spawn_and_wait(&program)?;
            prepare(spec, Call::Fork, Child::Exec, exec::TINY_STATUS, &program)
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Vfork, Syscall::ExitGroup, Syscall::Wait4],
            // The parent sleeps until the child has let go of its memory, and until it has ended.
            expected: Expected { switches: 2, faults: None },
            ..spec("process.vfork", "vfork", "vfork, exit of the child, wait", 10)
        },
        prepare: |spec, _| prepare(spec, Call::Vfork, Child::Exit, 0, &[]),
    },
];

fn prepare(
    spec: &Spec,
    call: Call,
    child: Child,
    status: i32,
    program: &[&CStr],
) -> Result<Box<dyn Routine>, Unavailable> {
    if !std::path::Path::new("/proc/self/maps").exists() && call == Call::Fork {
        let why = "without /proc/self/maps the size of this program would weigh in";
        return Err(Unavailable::Missing(why.to_owned()));
    }
    let mut stub = Stub::new(call, child, program)?;
    let shape = Shape::of(spec);
    Ok(Box::new(OnASmallStack(Some(move || {
        batch::fallible(shape, move || match stub.run()? {
            seen if seen == status => Ok(()),
            _ => Err(CallError { call: "execve", errno: libc::ENOEXEC }),
        })
        .boxed()
    }))))
}

/// Measures on a thread of its own: the main thread's stack is as deep as the program made it.
struct OnASmallStack<F>(Option<F>);

impl<F: FnOnce() -> Box<dyn Routine> + Send> Routine for OnASmallStack<F> {
    fn measure(&mut self, budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError> {
        let Some(make) = self.0.take() else {
            return Err(ProbeError::Other("measured twice".to_owned()));
        };
        std::thread::scope(|scope| {
            let work = || make().measure(budget, sink);
            let thread = std::thread::Builder::new().stack_size(128 << 10).spawn_scoped(scope, work);
            let thread = thread.map_err(|e| CallError::of("clone3", &e))?;
            thread.join().unwrap_or_else(|_| Err(ProbeError::Other("the measuring thread died".to_owned())))
        })
    }
}

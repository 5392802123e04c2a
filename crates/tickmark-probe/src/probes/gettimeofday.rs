//! The older calls for the time of day.

use crate::batch::{self, Shape};
use crate::sys::{chain, clock};
use crate::{Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

const fn spec(name: &'static str, title: &'static str, timed: &'static str, picos: u64) -> Spec {
    Spec {
        timed,
        source: "gettimeofday(2), time(2), vdso(7)",
        physical_floor: Picos::new(picos),
        ..Spec::cost(Group::Clock, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: &[Syscall::Gettimeofday],
            ..spec("clock.gettimeofday.read", "gettimeofday()", "gettimeofday of the C library", 300)
        },
        prepare: |spec, _| {
            Ok(batch::fallible(Shape::from_spec(spec), || clock::gettimeofday().map(drop)).boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Gettimeofday],
            ..spec(
                "clock.gettimeofday.syscall",
                "gettimeofday(), syscall",
                "gettimeofday as a system call, past the vDSO",
                10_000,
            )
        },
        prepare: |spec, _| {
            clock::gettimeofday_by_syscall()?;
            Ok(batch::fallible(Shape::from_spec(spec), || clock::gettimeofday_by_syscall().map(drop)).boxed())
        },
    },
    Probe {
        spec: spec("clock.time.read", "time()", "time of the C library", 150),
        prepare: |spec, _| {
            Ok(batch::routine(Shape::from_spec(spec), || {
                let _ = chain::opaque(clock::time() as u64);
            })
            .boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Time],
            ..spec("clock.time.syscall", "time(), syscall", "time as a system call, past the vDSO", 10_000)
        },
        prepare: |spec, _| {
            clock::time_by_syscall()?;
            Ok(batch::fallible(Shape::from_spec(spec), || clock::time_by_syscall().map(drop)).boxed())
        },
    },
];

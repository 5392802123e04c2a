//! Cost of reading each clock, by the C library (vDSO where it can) and by system call.

use crate::batch::{self, Shape};
use crate::sys::clock;
use crate::{Probe, Spec, Syscall};
use tickmark_wire::{Group, Picos};

const fn read<const ID: i32>(name: &'static str, title: &'static str) -> Probe {
    let spec = Spec {
        timed: "clock_gettime of the C library, which asks the vDSO where it can",
        needs: &[Syscall::ClockGettime],
        source: "POSIX.1-2024 clock_gettime; vdso(7)",
        physical_floor: Picos::new(300),
        ..Spec::cost(Group::Clock, name, title)
    };
    Probe {
        spec,
        prepare: |spec, _| {
            clock::read(ID)?;
            Ok(batch::fallible(Shape::from_spec(spec), || clock::read(ID).map(drop)).boxed())
        },
    }
}

const fn syscall<const ID: i32>(name: &'static str, title: &'static str) -> Probe {
    let spec = Spec {
        timed: "clock_gettime as a system call, past the vDSO",
        needs: &[Syscall::ClockGettime],
        source: "clock_gettime(2)",
        physical_floor: Picos::new(10_000),
        ..Spec::cost(Group::Clock, name, title)
    };
    Probe {
        spec,
        prepare: |spec, _| {
            clock::read_by_syscall(ID)?;
            Ok(batch::fallible(Shape::from_spec(spec), || clock::read_by_syscall(ID).map(drop)).boxed())
        },
    }
}

pub(super) static PROBES: &[Probe] = &[
    read::<0>("clock.realtime.read", "clock_gettime(REALTIME)"),
    syscall::<0>("clock.realtime.syscall", "clock_gettime(REALTIME), syscall"),
    read::<1>("clock.monotonic.read", "clock_gettime(MONOTONIC)"),
    syscall::<1>("clock.monotonic.syscall", "clock_gettime(MONOTONIC), syscall"),
    read::<4>("clock.monotonic_raw.read", "clock_gettime(MONOTONIC_RAW)"),
    syscall::<4>("clock.monotonic_raw.syscall", "clock_gettime(MONOTONIC_RAW), syscall"),
    read::<7>("clock.boottime.read", "clock_gettime(BOOTTIME)"),
    syscall::<7>("clock.boottime.syscall", "clock_gettime(BOOTTIME), syscall"),
    read::<11>("clock.tai.read", "clock_gettime(TAI)"),
    syscall::<11>("clock.tai.syscall", "clock_gettime(TAI), syscall"),
    read::<5>("clock.realtime_coarse.read", "clock_gettime(REALTIME_COARSE)"),
    syscall::<5>("clock.realtime_coarse.syscall", "clock_gettime(REALTIME_COARSE), syscall"),
    read::<6>("clock.monotonic_coarse.read", "clock_gettime(MONOTONIC_COARSE)"),
    syscall::<6>("clock.monotonic_coarse.syscall", "clock_gettime(MONOTONIC_COARSE), syscall"),
    read::<2>("clock.process_cpu.read", "clock_gettime(PROCESS_CPUTIME_ID)"),
    syscall::<2>("clock.process_cpu.syscall", "clock_gettime(PROCESS_CPUTIME_ID), syscall"),
    read::<3>("clock.thread_cpu.read", "clock_gettime(THREAD_CPUTIME_ID)"),
    syscall::<3>("clock.thread_cpu.syscall", "clock_gettime(THREAD_CPUTIME_ID), syscall"),
    read::<8>("clock.realtime_alarm.read", "clock_gettime(REALTIME_ALARM)"),
    syscall::<8>("clock.realtime_alarm.syscall", "clock_gettime(REALTIME_ALARM), syscall"),
    read::<9>("clock.boottime_alarm.read", "clock_gettime(BOOTTIME_ALARM)"),
    syscall::<9>("clock.boottime_alarm.syscall", "clock_gettime(BOOTTIME_ALARM), syscall"),
];

//! Installing a signal handler, and being interrupted by a signal.

use crate::batch::{self, Shape};
use crate::sys::signal;
use crate::{Probe, Spec, Syscall};
use tickmark_wire::{Group, Part, Picos};

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            timed: "sigaction of a handler for SIGUSR1",
            needs: &[Syscall::RtSigaction],
            source: "McVoy and Staelin, USENIX 1996 (lat_sig install)",
            physical_floor: Picos::new(10_000),
            ..Spec::cost(Group::SystemCall, "syscall.signal.install", "signal, install a handler")
        },
        prepare: |spec, _| {
            signal::install_counter()?;
            Ok(batch::fallible(Shape::from_spec(spec), signal::install_counter).boxed())
        },
    },
    Probe {
        spec: Spec {
            timed: "kill of the own process with SIGUSR1, which a handler counts, minus kill with signal 0",
            needs: &[Syscall::RtSigaction, Syscall::Kill, Syscall::RtSigreturn],
            source: "McVoy and Staelin, USENIX 1996 (lat_sig catch)",
            physical_floor: Picos::new(10_000),
            weight: 20,
            parts: &[Part::Whole, Part::Less],
            ..Spec::cost(Group::SystemCall, "syscall.signal.handle", "signal, handle it")
        },
        prepare: |spec, _| {
            let pid = std::process::id();
            signal::install_counter()?;
            let before = signal::handled();
            signal::kill_self(pid, signal::USR1)?;
            super::selftest::happened(signal::handled() - before, "the signal's handler")?;
            Ok(batch::fallible(Shape::from_spec(spec), move || signal::kill_self(pid, signal::USR1))
                .part(Part::Less, Shape::plain(spec), move || signal::kill_self(pid, 0))
                .boxed())
        },
    },
];

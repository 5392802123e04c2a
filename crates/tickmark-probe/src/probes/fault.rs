//! A store to a page that must not be written.

use crate::batch::{self, Shape};
use crate::sys::signal::{self, ProtectedPage};
use crate::{Expected, Probe, Spec, Syscall};
use tickmark_wire::{Group, Part, Picos};

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "a store to a read-only page, whose SIGSEGV handler steps over it, minus handling a \
                signal (kill of the own process with SIGUSR1 to a handler of that kind, minus kill with signal 0)",
        needs: &[Syscall::Mmap, Syscall::RtSigaction, Syscall::Kill, Syscall::RtSigreturn],
        source: "McVoy and Staelin, USENIX 1996 (lat_sig prot)",
        // The whole, before signal handling is taken off, is far above; the difference may be small.
        physical_floor: Picos::new(10_000),
        // The kernel sends the signal before it would count a fault.
        expected: Expected { switches: Some(0), faults: None },
        weight: 30,
        parts: &[Part::Whole, Part::Less, Part::Plus],
        ..Spec::cost(Group::SystemCall, "syscall.fault.protection", "protection fault")
    },
    prepare: |spec, _| {
        let pid = std::process::id();
        signal::install_counter_with_info()?;
        let page = ProtectedPage::new()?;
        let before = signal::handled();
        page.touch();
        super::selftest::happened(signal::handled() - before, "the fault's handler")?;
        Ok(batch::routine(Shape::from_spec(spec), move || page.touch())
            .part(Part::Less, Shape::plain(spec), move || signal::kill_self(pid, signal::USR1))
            .part(Part::Plus, Shape::plain(spec), move || signal::kill_self(pid, 0))
            .boxed())
    },
}];

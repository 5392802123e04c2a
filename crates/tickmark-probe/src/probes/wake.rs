//! Waking another process and being woken: futex, eventfd.

use super::round_trip::spec;
use crate::batch::{self, Shape};
use crate::sys::memory::Words;
use crate::sys::peer::Peer;
use crate::sys::wake;
use crate::{Probe, Spec, Syscall};
use std::os::fd::AsFd;

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: &[Syscall::Mmap, Syscall::RtSigaction, Syscall::Clone, Syscall::Prctl, Syscall::Futex],
            source: "futex(2)",
            ..spec(
                "ipc.futex.round_trip",
                "futex, round trip",
                "set a word of shared memory and wake the peer on the same CPU, which waits for it and does the same; \
                 two words, one each way",
            )
        },
        prepare: |spec, _| {
            let shared = Words::shared(2)?;
            let mut turn = 0u32;
            let peer = Peer::serve(&[], (), |()| {
                wake::futex_wait(shared.word(0), turn)?;
                turn = turn.wrapping_add(1);
                wake::futex_wake(shared.word(1), turn)
            })?;
            let (pid, mut turn) = (peer.pid(), 0u32);
            let trip = move || {
                let _ = &peer;
                let before = turn;
                turn = turn.wrapping_add(1);
                wake::futex_wake(shared.word(0), turn)?;
                wake::futex_wait(shared.word(1), before)
            };
            Ok(batch::fallible(Shape::from_spec(spec), trip).with_peers(&[pid]).boxed())
        },
    },
    Probe {
        spec: Spec {
            needs: &[
                Syscall::Eventfd,
                Syscall::RtSigaction,
                Syscall::Clone,
                Syscall::Prctl,
                Syscall::Read,
                Syscall::Write,
            ],
            source: "eventfd(2)",
            ..spec(
                "ipc.eventfd.round_trip",
                "eventfd, round trip",
                "add to an eventfd, the peer on the same CPU takes it and adds to another, take that",
            )
        },
        prepare: |spec, _| {
            let (there, back) = (wake::eventfd()?, wake::eventfd()?);
            let peer = Peer::serve(&[], (), |()| {
                wake::eventfd_take(there.as_fd())?;
                wake::eventfd_add(back.as_fd())
            })?;
            let pid = peer.pid();
            let trip = move || {
                let _ = &peer;
                wake::eventfd_add(there.as_fd())?;
                wake::eventfd_take(back.as_fd())
            };
            Ok(batch::fallible(Shape::from_spec(spec), trip).with_peers(&[pid]).boxed())
        },
    },
];

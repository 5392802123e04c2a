//! Cost of reading the time stamp counter.

use crate::batch::{self, Shape};
use crate::sys::chain;
use crate::sys::clock::Rdtscp;
use crate::{Probe, Spec, Unavailable};
use tickmark_wire::{Group, Picos};

macro_rules! tsc {
    ($name:literal, $title:literal, $timed:literal, $has:expr, |$proof:ident| $read:expr) => {
        Probe {
            spec: Spec {
                timed: $timed,
                source: "Intel SDM volume 2, RDTSC and RDTSCP",
                physical_floor: Picos::new(1_000),
                ..Spec::cost(Group::Clock, $name, $title)
            },
            prepare: |spec, _| {
                let missing =
                    || Unavailable::Missing(concat!("no ", $timed, " on this processor").to_owned());
                let $proof = $has.ok_or_else(missing)?;
                Ok(batch::routine(Shape::from_spec(spec), move || {
                    let _ = chain::opaque($read);
                })
                .boxed())
            },
        }
    };
}

fn tsc() -> Option<()> {
    (cfg!(target_arch = "x86_64") && tickmark_timer::has_counter()).then_some(())
}

pub(super) static PROBES: &[Probe] = &[
    tsc!("clock.tsc.plain", "TSC, rdtsc", "rdtsc", tsc(), |_proof| tickmark_timer::counter()),
    tsc!("clock.tsc.fenced", "TSC, lfence and rdtsc", "lfence; rdtsc", tsc(), |_proof| {
        tickmark_timer::fenced_counter()
    }),
    tsc!("clock.tsc.rdtscp", "TSC, rdtscp", "rdtscp", Rdtscp::get(), |proof| proof.read()),
];

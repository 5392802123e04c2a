//! What a reading of the time stamp counter costs.

use crate::batch::{self, Shape};
use crate::sys::chain;
use crate::{Probe, Spec, Unavailable};
use tickmark_wire::{Group, Picos};

macro_rules! tsc {
    ($name:literal, $title:literal, $timed:literal, $read:path) => {
        Probe {
            spec: Spec {
                timed: $timed,
                source: "Intel SDM volume 2, RDTSC and RDTSCP",
                physical_floor: Picos::new(1_000),
                ..Spec::cost(Group::Clock, $name, $title)
            },
            prepare: |spec, _| {
                if !tickmark_timer::has_tsc() {
                    return Err(Unavailable::Missing("no time stamp counter".to_owned()));
                }
                Ok(batch::routine(Shape::of(spec), || {
                    let _ = chain::opaque($read());
                })
                .boxed())
            },
        }
    };
}

pub(super) static PROBES: &[Probe] = &[
    tsc!("clock.tsc.plain", "TSC, rdtsc", "rdtsc", tickmark_timer::tsc),
    tsc!("clock.tsc.fenced", "TSC, lfence and rdtsc", "lfence; rdtsc", tickmark_timer::fenced_tsc),
    tsc!("clock.tsc.rdtscp", "TSC, rdtscp", "rdtscp", tickmark_timer::rdtscp),
];

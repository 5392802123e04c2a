//! A loop that does nothing: its mean is above its floor by whatever made its turns longer.

use crate::batch::{self, Shape};
use crate::sys::chain::opaque;
use crate::{Probe, Spec};
use tickmark_wire::{Group, Picos, names};

/// Turns in one call.
const TURNS: u64 = 64;

pub(super) static PROBES: &[Probe] = &[Probe {
    spec: Spec {
        timed: "a turn of a loop of two instructions (count down, jump), and the share by which the mean is above the floor: \
                interrupts, other tasks, and a floor that differs from the usual turn; in a guest that counts instructions, \
                the tick alone",
        source: "Denk, Comparing Performance 100 Hz versus 1000 Hz Clock Tick (2005): the tick's share of the processor",
        physical_floor: Picos::new(100),
        weight: 60,
        ..Spec::cost(Group::Tick, names::SPIN, "spinning loop, one iteration")
    },
    prepare: |spec, _| {
        let turns = || {
            let mut left = TURNS;
            while left > 0 {
                left = opaque(left - 1);
            }
        };
        Ok(batch::routine(Shape::from_spec(spec).times(TURNS), turns).boxed())
    },
}];

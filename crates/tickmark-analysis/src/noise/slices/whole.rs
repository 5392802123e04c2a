//! Who had a CPU for the whole of a time, in which no loop had it.

use super::{Occurrence, Slice, Slices, Walk};
use crate::noise::cause::Cause;
use tickmark_wire::KernelEvents;

impl<'a> Walk<'a> {
    /// Who had the CPU for so many ns, in which no loop had it; events from before it say who had it when it began.
    pub(in crate::noise) fn whole(events: &'a KernelEvents, own_cpu: u32, span: f64) -> Vec<Occurrence> {
        let Slices { mut occurrences, gaps } = Self::without_loop(events, own_cpu, span);
        for one in &mut occurrences {
            // What was recorded before is none of it.
            if one.start < 0.0 {
                (one.events, one.entries) = (0, 0);
            }
            one.own = 0.0;
        }
        for slice in gaps.into_iter().flatten() {
            occurrences[slice.occurrence].own += slice.length + slice.start.min(0.0).max(-slice.length);
        }
        occurrences.retain(|one| one.own > 0.0 || one.start >= 0.0);
        occurrences
    }

    /// The same as parts in the order of time: cause, from when, how long in ns.
    pub(in crate::noise) fn parts(
        events: &'a KernelEvents,
        own_cpu: u32,
        span: f64,
    ) -> Vec<(Cause, f64, f64)> {
        let Slices { occurrences, gaps } = Self::without_loop(events, own_cpu, span);
        let part = |slice: Slice| (occurrences[slice.occurrence].cause.clone(), slice.start, slice.length);
        gaps.into_iter().flatten().map(part).collect()
    }

    fn without_loop(events: &'a KernelEvents, own_cpu: u32, span: f64) -> Slices {
        let mut walk = Self { has_loop: false, ..Self::new(events, own_cpu) };
        walk.gap(0, walk.time(0).min(0.0), span);
        walk.out
    }
}

//! Time before the first event of a gap and after its last one: the way into the kernel and out of it, which always takes about as long.
//! What is far longer was outside of this kernel: the hypervisor held the CPU back, and what was pending came when it went on.

use super::{Occurrence, Slice, Slices};
use crate::noise::cause::Cause;
use std::collections::BTreeMap;
use tickmark_stats::median;

/// Longer than so many medians, and so much more in ns, is no way in or out.
const FAR: f64 = 3.0;
const MORE: f64 = 5_000.0;
/// Of fewer gaps with the same first or last event no median is known: all together are taken.
const FEWEST: usize = 10;

/// Time at one end of a gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) gap: usize,
    /// The event next to it, as an index of the tracepoints.
    pub(super) tracepoint: u32,
    pub(super) length: f64,
}

/// Cuts off what is too long at the beginnings and at the ends.
pub(super) fn cut(slices: &mut Slices, first: &[Edge], last: &[Edge]) {
    for (edge, excess) in excesses(first) {
        let (gap, outside) = (edge.gap, slices.occurrences.len());
        let Some(begin) = slices.gaps[gap].first_mut() else { continue };
        let (start, own, excess) = (begin.start, begin.occurrence, excess.min(begin.length));
        begin.start += excess;
        begin.length -= excess;
        slices.gaps[gap].insert(0, Slice { occurrence: outside, start, length: excess });
        slices.move_outside(own, gap, start, excess);
        slices.occurrences[own].start += excess;
    }
    for (edge, excess) in excesses(last) {
        let (gap, outside) = (edge.gap, slices.occurrences.len());
        let Some(end) = slices.gaps[gap].last_mut() else { continue };
        let excess = excess.min(end.length);
        end.length -= excess;
        let (start, own) = (end.start + end.length, end.occurrence);
        slices.gaps[gap].push(Slice { occurrence: outside, start, length: excess });
        slices.move_outside(own, gap, start, excess);
    }
}

impl Slices {
    /// Gives time of an occurrence to what is outside.
    fn move_outside(&mut self, from: usize, gap: usize, start: f64, length: f64) {
        self.occurrences[from].own -= length;
        let outside = Occurrence {
            cause: Cause::Outside,
            gap,
            start,
            own: length,
            events: 0,
            entries: 0,
            woken_by: None,
        };
        self.occurrences.push(outside);
    }
}

/// Edges that are too long, with what is above the median.
fn excesses(edges: &[Edge]) -> Vec<(Edge, f64)> {
    let mut by_event: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for edge in edges {
        by_event.entry(edge.tracepoint).or_default().push(edge.length);
    }
    let all = median(edges.iter().map(|edge| edge.length)).unwrap_or(0.0);
    let of =
        |own: &Vec<f64>| if own.len() < FEWEST { all } else { median(own.iter().copied()).unwrap_or(all) };
    let usual: BTreeMap<u32, f64> = by_event.iter().map(|(event, own)| (*event, of(own))).collect();
    let excess = |edge: &Edge| {
        let usual = usual.get(&edge.tracepoint).copied().unwrap_or(all);
        (edge.length > FAR * usual + MORE).then_some((*edge, edge.length - usual))
    };
    edges.iter().filter_map(excess).collect()
}

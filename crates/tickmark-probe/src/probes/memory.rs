//! How long a load takes that waits for the one before it, by the size of what is loaded from.

use crate::batch::{self, Between, Shape};
use crate::permutation::Permutation;
use crate::routine::{Budget, Sink, routine};
use crate::sys::memory::{Pages, Region};
use crate::sys::ring::{Ring, STEPS};
use crate::{Params, Probe, ProbeError, Routine, Sizes, Spec, Syscall, SystemMeter, Unavailable};
use std::cell::Cell;
use std::rc::Rc;
use tickmark_wire::{Group, Headline, Observations, Part, Picos, Point};

const SMALLEST: u64 = 4 << 10;
/// Two lines: what a stride is.
const STRIDE: u64 = 128;
/// Loads that are worth their time before anything is timed: 16 MiB of lines.
const WARM: u64 = 1 << 18;

const fn spec(name: &'static str, title: &'static str, timed: &'static str, source: &'static str) -> Spec {
    Spec {
        headline: Headline::Levels,
        timed,
        needs: &[Syscall::Mmap],
        source,
        physical_floor: Picos::new(100),
        weight: 45,
        much_memory: true,
        ..Spec::cost(Group::Memory, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: spec(
            "memory.latency.random",
            "random load",
            "a chain of dependent loads through every cache line once in random order, pages of 4 KiB; at each \
             size, 4 KiB to four times the last cache",
            "McVoy and Staelin, USENIX 1996 (lat_mem_rd); order: a permutation by multiplication and shift",
        ),
        prepare: |spec, params| curve(spec, params, Pages::Small, Order::Random),
    },
    Probe {
        spec: Spec {
            needs: &[Syscall::Mmap, Syscall::Madvise],
            ..spec(
                "memory.latency.huge",
                "random load, huge pages",
                "the same in pages of 2 MiB (transparent huge pages)",
                "madvise(2), MADV_HUGEPAGE",
            )
        },
        prepare: |spec, params| curve(spec, params, Pages::Huge, Order::Random),
    },
    Probe {
        spec: Spec {
            headline: Headline::Farthest,
            ..spec(
                "memory.latency.strided",
                "load at a stride, prefetched",
                "a chain of dependent loads at a stride of 128 bytes, over four times the last cache: what the \
                 prefetcher leaves of the latency of memory; the curve has the smaller sizes",
                "McVoy and Staelin, USENIX 1996 (lat_mem_rd, stride 128)",
            )
        },
        prepare: |spec, params| curve(spec, params, Pages::Small, Order::Strided),
    },
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Random,
    Strided,
}

/// Two sizes an octave, up to all of the memory.
fn sizes(most: u64) -> Vec<u64> {
    let octaves = std::iter::successors(Some(SMALLEST), |size| Some(size * 2));
    let mut sizes: Vec<u64> =
        octaves.take_while(|size| *size <= most).flat_map(|size| [size, size / 2 * 3]).collect();
    sizes.retain(|size| *size <= most);
    sizes
}

fn curve(spec: &Spec, params: &Params, pages: Pages, order: Order) -> Result<Box<dyn Routine>, Unavailable> {
    let (spec, limits) = (*spec, params.sizes);
    let region = Region::private(limits.memory as usize, pages)?;
    if pages == Pages::Huge && region.huge_share().is_some_and(|share| share < 0.9) {
        return Err(Unavailable::Missing("the kernel gave no huge pages".to_owned()));
    }
    let region = Ring::over(region);
    let points = sizes(limits.memory);
    Ok(routine(move |budget, sink| measure(&spec, &region, &points, order, &limits, budget, sink)))
}

fn measure(
    spec: &Spec,
    region: &Rc<Ring>,
    points: &[u64],
    order: Order,
    limits: &Sizes,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let mut meter = SystemMeter::new(&[]);
    let slice = budget.share(1, points.len() as i64).finer(2);
    let (mut curve, mut segments) = (Vec::new(), Vec::new());
    for size in points {
        link(region, *size, order, limits);
        let mut chain = region.chains([0]);
        let round = size / if order == Order::Random { limits.line } else { STRIDE };
        // Walked once, or as far as is worth the time. What is far beyond every cache begins, and begins again
        // after each round, with nothing in them: neither linking nor the last round left anything there.
        let beyond = limits.last > 0 && *size >= 2 * limits.last;
        if !beyond {
            (0..round.min(WARM) / STEPS + 1).for_each(|_| chain.walk());
        }
        let walked = Rc::new(Cell::new(if beyond { round } else { 0 }));
        let (count, memory, line) = (Rc::clone(&walked), Rc::clone(region), limits.line as usize);
        let mut empty: Between = Box::new(move || {
            if beyond && walked.get() + round / 8 > round {
                memory.flush(line);
                walked.set(0);
            }
            Ok(())
        });
        empty()?;
        let mut body = batch::looped(move || {
            chain.walk();
            count.set(count.get() + STEPS);
            Ok(())
        });
        let shape = Shape::from_spec(spec).times(STEPS).over(*size);
        let (batches, observed) = batch::measure(&mut meter, &shape, &slice, &mut body, Some(&mut empty))?;
        curve.push(Point { at: *size, observations: Observations::Batches(batches) });
        segments.extend(observed);
    }
    sink.observe(Part::Whole, Observations::Curve(curve), segments);
    Ok(())
}

/// Links the first `size` bytes into a ring through its beginning.
fn link(region: &Ring, size: u64, order: Order, limits: &Sizes) {
    match order {
        Order::Random => link_random(region, size, limits.line),
        Order::Strided => {
            let count = size / STRIDE;
            let next = |place| ((place + 1) % count * STRIDE) as usize;
            region.link((0..count).map(|place| ((place * STRIDE) as usize, next(place))));
        }
    }
}

/// Links every line of the first `size` bytes into a ring of random order.
fn link_random(region: &Ring, size: u64, line: u64) {
    let count = size / line;
    let order = Permutation::new(count, tickmark_timer::monotonic_ns());
    region.link((0..count).map(|place| ((place * line) as usize, (order.after(place) * line) as usize)));
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_sizes_an_octave_from_4_kb_to_all() {
        assert_eq!(super::sizes(16 << 10), [4096, 6144, 8192, 12288, 16384]);
        assert_eq!(super::sizes(24 << 10).last(), Some(&24576));
        assert_eq!(super::sizes(128 << 20).len(), 31);
    }
}

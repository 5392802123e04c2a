//! Properties of the processor, by the cost of loads and additions: clock rate, TLB, cache line, parallel loads.

use crate::batch::{self, Shape};
use crate::permutation::Permutation;
use crate::probes::integer::{UNROLLED, unrolled};
use crate::routine::{Budget, Sink, routine};
use crate::sys::chain::opaque;
use crate::sys::memory::{Pages, Region, small_pages};
use crate::sys::ring::{Chains, Ring, STEPS};
use crate::{Params, Probe, ProbeError, Spec, Syscall, SystemMeter};
use std::rc::Rc;
use tickmark_wire::{Better, Group, Headline, Observations, Part, Picos, Point, Segment, Unit};

const PAGE: u64 = 4096;
/// Loads of one call: the walker's.
const fn spec(name: &'static str, title: &'static str, unit: Unit, headline: Headline) -> Spec {
    Spec {
        unit,
        better: Better::Neither,
        headline,
        needs: &[Syscall::Mmap],
        physical_floor: Picos::new(20),
        weight: 20,
        ..Spec::cost(Group::Machine, name, title)
    }
}

pub(super) static PROBES: &[Probe] = &[
    Probe {
        spec: Spec {
            needs: &[],
            timed: "additions, each waiting for the one before it: one a cycle on every processor known",
            source: "Staelin, lmbench3 (mhz, there by several operations)",
            physical_floor: Picos::new(50),
            weight: 10,
            ..spec("machine.clock_rate", "clock rate", Unit::Frequency, Headline::Floor)
        },
        prepare: |spec, _| {
            let (mut sum, one) = (opaque(1), opaque(3));
            let step = move || {
                unrolled!(sum = opaque(sum.wrapping_add(one)));
            };
            Ok(batch::routine(Shape::from_spec(spec).times(UNROLLED), step).boxed())
        },
    },
    Probe {
        spec: Spec {
            timed: "dependent loads, one in each of N pages of 4 KiB, minus as many loads from lines side by side; the \
                    largest N before a load costs more",
            source: "Staelin, lmbench3 (tlb)",
            parts: &[Part::Whole, Part::Less],
            ..spec("machine.tlb", "TLB, first level", Unit::Count, Headline::Capacity)
        },
        prepare: |spec, params| {
            small_pages()?;
            let line = params.sizes.line;
            let (spec, most) = (*spec, (params.sizes.memory / PAGE).min(1024));
            let region = Ring::over(Region::private((most * PAGE) as usize, Pages::Small)?);
            Ok(routine(move |budget, sink| {
                let pages = curve(&spec, budget, &region, &points(most), Part::Whole, sink, |count| {
                    // One line a page, in turn of another place in it: the lines spread over the cache.
                    ring(&region, count, 1, |place| place * PAGE + place * line % PAGE)
                });
                pages?;
                curve(&spec, budget, &region, &points(most), Part::Less, sink, |count| {
                    ring(&region, count, 1, |place| place * line)
                })
            }))
        },
    },
    Probe {
        spec: Spec {
            timed: "dependent loads of two words D bytes apart, the pairs in random order over ten times the first-level \
                    cache; the least D at which the second load is one from another line",
            source: "Staelin, lmbench3 (line)",
            ..spec("machine.cache_line", "cache line", Unit::Bytes, Headline::Step)
        },
        prepare: |spec, params| {
            // Five lines of 64 bytes: every set of the cache gets its share.
            const BLOCK: u64 = 320;
            let spec = *spec;
            let size = (params.sizes.l1 * 10).min(params.sizes.memory) / BLOCK * BLOCK;
            let region = Ring::over(Region::private(size as usize, Pages::Small)?);
            Ok(routine(move |budget, sink| {
                let distances = [8, 16, 32, 64, 128, 256];
                curve(&spec, budget, &region, &distances, Part::Whole, sink, |distance| {
                    // The farther word first: going down, a prefetcher of the next line is no help.
                    ring(&region, size / BLOCK * 2, 2, |place| {
                        place / 2 * BLOCK + if place % 2 == 0 { distance } else { 0 }
                    })
                })
            }))
        },
    },
    Probe {
        spec: Spec {
            better: Better::Higher,
            timed: "1 to 32 chains of dependent loads side by side through memory in random order; how many times faster \
                    a load is at best than in one chain",
            source: "Staelin, lmbench3 (par_mem)",
            much_memory: true,
            weight: 30,
            ..spec(
                "machine.memory_parallelism",
                "memory parallelism (loads at once)",
                Unit::Ratio,
                Headline::Speedup,
            )
        },
        prepare: |spec, params| {
            let region = Ring::over(Region::private(params.sizes.memory as usize, Pages::Small)?);
            let (spec, params) = (*spec, params.clone());
            Ok(routine(move |budget, sink| parallel(&spec, &region, &params, budget, sink)))
        },
    },
];

/// 8, 12, 16, 24 ... up to `most`, and finer where first-level TLBs end.
fn points(most: u64) -> Vec<u64> {
    let coarse = (3..).map(|exponent| 1u64 << exponent).take_while(|count| *count <= most);
    let mut all: Vec<u64> =
        coarse.flat_map(|count| [count, count / 2 * 3]).chain([40, 56, 72, 80, 112]).collect();
    all.retain(|count| *count <= most);
    all.sort_unstable();
    all
}

/// Joins `count` places, `together` of them at a time in order and these groups in random order.
fn ring(region: &Rc<Ring>, count: u64, together: u64, offset: impl Fn(u64) -> u64) -> Chains<1> {
    let groups = count / together;
    let order = Permutation::new(groups, tickmark_timer::monotonic_ns());
    let after = |place: u64| match (place + 1) % together {
        0 => order.after(place / together) * together,
        _ => place + 1,
    };
    let at = |place| offset(place) as usize;
    region.link((0..groups * together).map(|place| (at(place), at(after(place)))));
    region.chains([at(0)])
}

/// One chain, linked anew for each point.
fn curve(
    spec: &Spec,
    budget: &Budget,
    region: &Ring,
    points: &[u64],
    part: Part,
    sink: &mut dyn Sink,
    link: impl Fn(u64) -> Chains<1>,
) -> Result<(), ProbeError> {
    let mut meter = SystemMeter::new(&[]);
    let slice = budget.share(1, 2 * points.len() as i64).finer(5);
    let (mut curve, mut segments) = (Vec::new(), Vec::new());
    for point in points {
        curve.push(measure_once(spec, &slice, region, *point, link(*point), &mut meter, &mut segments)?);
    }
    sink.observe(part, Observations::Curve(curve), segments);
    Ok(())
}

fn measure_once<const N: usize>(
    spec: &Spec,
    slice: &Budget,
    region: &Ring,
    at: u64,
    mut chains: Chains<N>,
    meter: &mut SystemMeter,
    segments: &mut Vec<Segment>,
) -> Result<Point, ProbeError> {
    let shape = Shape::from_spec(spec).times(STEPS * N as u64).over(region.len() as u64);
    let mut body = batch::looped(move || {
        chains.walk();
        Ok(())
    });
    let (batches, observed) = batch::measure(meter, &shape, slice, &mut body, None)?;
    segments.extend(observed);
    Ok(Point { at, observations: Observations::Batches(batches) })
}

fn parallel(
    spec: &Spec,
    region: &Rc<Ring>,
    params: &Params,
    budget: &Budget,
    sink: &mut dyn Sink,
) -> Result<(), ProbeError> {
    let line = params.sizes.line;
    let count = region.len() as u64 / line;
    let order = Permutation::new(count, tickmark_timer::monotonic_ns());
    region.link((0..count).map(|place| ((place * line) as usize, (order.after(place) * line) as usize)));
    let slice = budget.share(1, 7).finer(2);
    let mut meter = SystemMeter::new(&[]);
    let (mut curve, mut segments) = (Vec::new(), Vec::new());
    macro_rules! chains {
        ($($n:literal)*) => {$(
            region.flush(line as usize);
            // Far apart in the one ring, and elsewhere for each number of them.
            let start = |i: usize| order.place((count / $n * i as u64 + count / 1089 * $n) % count) * line;
            let chains: Chains<$n> = region.chains(std::array::from_fn(|i| start(i) as usize));
            curve.push(measure_once(spec, &slice, region, $n, chains, &mut meter, &mut segments)?);
        )*};
    }
    chains!(1 2 4 8 16 24 32);
    sink.observe(Part::Whole, Observations::Curve(curve), segments);
    Ok(())
}

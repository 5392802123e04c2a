//! The batch loop: one contiguous stream of stamped batches.
//!
//! A batch is at most .1 ms and a tenth of a tick long, or one operation where that is longer, so that
//! most batches hold no tick and the 10th percentile of their cost is the cost without ticks, while
//! the mean over all of them holds every tick. None is dropped for being slow.

mod stamps;

use crate::clock::{Clock, Counter, Monotonic};
use crate::routine::{Budget, Routine, Sink};
use crate::sys::{CallError, mark};
use crate::{Expected, Meter, ProbeError, Spec, SystemMeter};
use std::num::NonZeroU64;
use tickmark_timer::{Anchor, Scale};
use tickmark_wire::{Batches, Nanos, Observations, Part, Picos, Segment};

use stamps::Stamps;
pub(crate) use stamps::{Stamped, touched};

/// Fewer batches than this give no 10th percentile: the loop goes on for up to twice its budget.
const ENOUGH: usize = 100;
/// More than this are not kept: the loop ends.
pub(crate) const MOST: usize = 1 << 18;
/// The shortest stretch over which the kernel's accounts say anything.
pub(crate) const SEGMENT: Nanos = Nanos::from_millis(50);

pub(crate) type Body = Box<dyn FnMut(u64) -> Result<(), CallError>>;
pub(crate) type Between = Box<dyn FnMut() -> Result<(), CallError>>;

/// Properties of the operation that the loop times.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Operations in one call of the body's inner step.
    pub operations: NonZeroU64,
    /// Side effects of one call by itself.
    pub expected: Expected,
    /// The cost below which the work was not done.
    pub physical_floor: Picos,
    /// Bytes that one operation moves.
    pub bytes: u64,
    /// Bytes that the work goes over.
    pub over: u64,
    /// The most calls in a batch.
    pub most: u64,
}

impl Shape {
    /// One operation a call, as the spec has it.
    #[must_use]
    pub const fn from_spec(spec: &Spec) -> Self {
        Self {
            operations: NonZeroU64::MIN,
            expected: spec.expected,
            physical_floor: spec.physical_floor,
            bytes: 0,
            over: 0,
            most: 1 << 40,
        }
    }

    /// A shape of one operation without switches or faults, for what is taken off or added.
    #[must_use]
    pub const fn plain(spec: &Spec) -> Self {
        Self { expected: Expected::NONE, ..Self::from_spec(spec) }
    }

    /// Whatever it costs: the floor is held against the difference.
    #[must_use]
    pub const fn any_cost(mut self) -> Self {
        self.physical_floor = Picos::ZERO;
        self
    }

    /// Each operation moves `bytes` bytes of `over`.
    #[must_use]
    pub const fn moving(mut self, bytes: u64, over: u64) -> Self {
        (self.bytes, self.over) = (bytes, over);
        self
    }

    /// The work goes over `bytes` bytes of memory or of a file.
    #[must_use]
    pub const fn over(mut self, bytes: u64) -> Self {
        self.over = bytes;
        self
    }

    /// At most `calls` calls a batch.
    #[must_use]
    pub const fn at_most(mut self, calls: u64) -> Self {
        self.most = calls;
        self
    }

    /// `operations` operations a call.
    #[must_use]
    pub const fn times(mut self, operations: u64) -> Self {
        if let Some(operations) = NonZeroU64::new(operations) {
            self.operations = operations;
        }
        self
    }
}

/// A metric measured by batches. `Looped` calls the operation in a loop that is compiled with it.
pub struct Looped {
    peers: Vec<u32>,
    parts: Vec<(Part, Shape, Body)>,
    between: Option<Between>,
}

/// Times an operation that cannot fail.
pub fn routine(shape: Shape, mut operation: impl FnMut() + 'static) -> Looped {
    fallible(shape, move || {
        operation();
        Ok(())
    })
}

/// Times an operation that can fail; the first failure ends the run.
pub fn fallible(shape: Shape, operation: impl FnMut() -> Result<(), CallError> + 'static) -> Looped {
    let parts = vec![(Part::Whole, shape, looped(operation))];
    Looped { peers: Vec::new(), parts, between: None }
}

/// The operation in a loop that is compiled with it.
pub(crate) fn looped(mut operation: impl FnMut() -> Result<(), CallError> + 'static) -> Body {
    Box::new(move |count| {
        for _ in 0..count {
            operation()?;
        }
        Ok(())
    })
}

impl Looped {
    /// Another part of the metric's definition: an operation whose cost is taken off or added.
    #[must_use]
    pub fn part(
        mut self,
        part: Part,
        shape: Shape,
        operation: impl FnMut() -> Result<(), CallError> + 'static,
    ) -> Self {
        self.parts.push((part, shape, looped(operation)));
        self
    }

    /// Processes that work along: their CPU time is the probe's.
    #[must_use]
    pub fn with_peers(mut self, peers: &[u32]) -> Self {
        self.peers.extend_from_slice(peers);
        self
    }

    /// Adds work after each batch, outside the timestamps: preparations for the next one.
    #[must_use]
    pub fn between(mut self, work: impl FnMut() -> Result<(), CallError> + 'static) -> Self {
        self.between = Some(Box::new(work));
        self
    }

    /// As the agent wants it.
    #[must_use]
    pub fn boxed(self) -> Box<dyn Routine> {
        Box::new(self)
    }
}

impl Routine for Looped {
    fn measure(&mut self, budget: &Budget, sink: &mut dyn Sink) -> Result<(), ProbeError> {
        let slice = budget.share(1, self.parts.len() as i64);
        for (part, shape, body) in &mut self.parts {
            let mut meter = SystemMeter::new(&self.peers);
            let (batches, segments) = measure(&mut meter, shape, &slice, body, self.between.as_mut())?;
            sink.observe(*part, Observations::Batches(batches), segments);
        }
        Ok(())
    }
}

/// A stream with the clock that the budget names.
pub(crate) fn measure(
    meter: &mut impl Meter,
    shape: &Shape,
    budget: &Budget,
    body: &mut dyn FnMut(u64) -> Result<(), CallError>,
    between: Option<&mut Between>,
) -> Result<(Batches, Vec<Segment>), ProbeError> {
    if budget.gauge.counts() {
        stream(Counter, meter, shape, budget, body, between)
    } else {
        stream(Monotonic, meter, shape, budget, body, between)
    }
}

/// Measures a body: finds how many operations fill a batch, then stamps batches until the budget is
/// used.
pub(crate) fn stream<C: Clock>(
    clock: C,
    meter: &mut impl Meter,
    shape: &Shape,
    budget: &Budget,
    body: &mut dyn FnMut(u64) -> Result<(), CallError>,
    mut between: Option<&mut Between>,
) -> Result<(Batches, Vec<Segment>), ProbeError> {
    let rough = budget.gauge.scale;
    // Before the first call of the body: what it forks must not depend on the room for samples.
    let room = (budget.time.get().max(1) / (budget.batch.get().max(1) / 2).max(1)) as usize;
    let mut stamps = Stamps::with_room(room.clamp(ENOUGH, MOST));
    mark::stream();
    let calls = calls_in_a_batch(clock, rough, budget.batch, shape.most, body, between.as_deref_mut())?;
    let expected = shape.expected.over(calls);
    budget.align();

    let mut segments = Vec::new();
    let mut opened = meter.reading();
    let (first_cpu, anchor) = (opened.cpu.get() + opened.others_cpu.get(), Anchor::take());
    let origin = clock.now();
    let since = |then: u64| Nanos::new(rough.nanos(clock.now().saturating_sub(then)) as i64);
    let mut segment_start = origin;
    let mut before = meter.counts();
    loop {
        mark::begin();
        let start = clock.now();
        body(calls)?;
        let end = clock.now();
        mark::end();
        let after = meter.counts();
        stamps.push(start, end, expected.deviation(before, after));
        before = match &mut between {
            Some(between) => {
                between()?;
                meter.counts()
            }
            None => after,
        };

        let spent = since(origin);
        let used = || Nanos::new(meter.cpu().get() - first_cpu);
        if stamps.end.len() >= MOST || is_enough(stamps.end.len(), spent, budget.time, used) {
            break;
        }
        let left = budget.time.get() - spent.get();
        if since(segment_start) >= SEGMENT && left >= SEGMENT.get() {
            let reading = meter.reading();
            segments.push((opened, reading, segment_start, clock.now()));
            (opened, segment_start) = (reading, clock.now());
            before = meter.counts();
        }
    }
    let end = clock.now();
    segments.push((opened, meter.reading(), segment_start, end));
    let scale = budget.gauge.refined(anchor);
    let at = |ticks: u64| Nanos::new(scale.nanos(ticks.saturating_sub(origin)) as i64);
    let segments = segments
        .into_iter()
        .map(|(from, to, start, end)| to.since(&from, at(start), Nanos::new(at(end).get() - at(start).get())))
        .collect();
    let batches = stamps.finish(scale, origin, shape, calls)?;
    Ok((batches, segments))
}

/// True if to stop: the budget is used, there are batches enough for a percentile, and the probe had its CPU for half of the time. Twice
/// and four times the budget are the ends of patience.
pub(crate) fn is_enough(batches: usize, spent: Nanos, budget: Nanos, used: impl FnOnce() -> Nanos) -> bool {
    let times = |n: i64| spent.get() >= budget.get().saturating_mul(n);
    times(1) && (batches >= ENOUGH || times(2)) && (times(4) || used().get() >= budget.get() / 2)
}

/// Doubles the calls until a batch fills a good part of its length; also the warm-up.
fn calls_in_a_batch<C: Clock>(
    clock: C,
    scale: Scale,
    length: Nanos,
    most: u64,
    body: &mut dyn FnMut(u64) -> Result<(), CallError>,
    mut between: Option<&mut Between>,
) -> Result<u64, ProbeError> {
    // Aims below the longest batch, so that noise does not carry one past it.
    let aim = length.get().max(1) as u64 * 3 / 4;
    let mut calls = 1;
    loop {
        let mut best = u64::MAX;
        for _ in 0..if calls == 1 { 2 } else { 3 } {
            let start = clock.now();
            body(calls)?;
            best = best.min(scale.nanos(clock.now().saturating_sub(start)));
            between.as_mut().map_or(Ok(()), |between| between())?;
        }
        if best >= aim / 4 || calls >= most {
            let fitting = u128::from(calls) * u128::from(aim) / u128::from(best.max(1));
            return Ok(u64::try_from(fitting).unwrap_or(u64::MAX).clamp(1, most));
        }
        calls = (calls * 2).min(most);
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;

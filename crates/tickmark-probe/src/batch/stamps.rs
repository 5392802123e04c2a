//! Stamps and accounts as they are taken, and the batches that they make.

use super::Shape;
use crate::{Counts, Expected, ProbeError};
use std::num::NonZeroU64;
use tickmark_timer::Scale;
use tickmark_wire::{Batches, Disturbance, Nanos, Picos};

/// Stamps as they were taken, in ticks.
pub(super) struct Stamps {
    start: Vec<u64>,
    pub(super) end: Vec<u64>,
    disturbed: Vec<Disturbance>,
}

/// A stream that is stamped elsewhere, one call a batch.
pub(crate) struct Stamped<'a> {
    stamps: Stamps,
    expected: ExpectedBatch,
    shape: &'a Shape,
}

impl<'a> Stamped<'a> {
    /// With room for so many, touched already.
    pub(crate) fn with_room(batches: usize, shape: &'a Shape) -> Self {
        Self { stamps: Stamps::with_room(batches), expected: shape.expected.over(1), shape }
    }

    /// Takes start and end in ticks, and the accounts before and after.
    pub(crate) fn push(&mut self, start: u64, end: u64, before: Counts, after: Counts) {
        self.stamps.push(start, end, self.expected.deviation(before, after));
    }

    pub(crate) fn len(&self) -> usize {
        self.stamps.end.len()
    }

    /// The batches, from `origin` on.
    pub(crate) fn finish(self, scale: Scale, origin: u64) -> Result<Batches, ProbeError> {
        self.stamps.finish(scale, origin, self.shape, 1)
    }
}

/// Room whose pages are touched already, so that none is first touched between two stamps.
pub(crate) fn touched<T: Clone>(value: T, room: usize) -> Vec<T> {
    let mut column = vec![value; room];
    column.clear();
    column
}

impl Stamps {
    pub(super) fn with_room(batches: usize) -> Self {
        let none = Disturbance { batch: 1, switches: 1, faults: 1, reclaimed: 1, retransmits: 1 };
        Self { start: touched(1, batches), end: touched(1, batches), disturbed: touched(none, batches) }
    }

    pub(super) fn push(&mut self, start: u64, end: u64, deviation: Option<Disturbance>) {
        if let Some(deviation) = deviation {
            self.disturbed.push(Disturbance { batch: self.end.len() as u32, ..deviation });
        }
        self.start.push(start);
        self.end.push(end);
    }

    pub(super) fn finish(
        self,
        scale: Scale,
        origin: u64,
        shape: &Shape,
        calls: u64,
    ) -> Result<Batches, ProbeError> {
        let iterations = shape.operations.saturating_mul(NonZeroU64::new(calls).unwrap_or(NonZeroU64::MIN));
        let column = |ticks: Vec<u64>, from: &dyn Fn(usize) -> u64| -> Vec<Nanos> {
            let nanos = |(i, t): (usize, &u64)| Nanos::new(scale.nanos(t.saturating_sub(from(i))) as i64);
            ticks.iter().enumerate().map(nanos).collect()
        };
        let elapsed = column(self.end, &|i| self.start[i]);
        let start = column(self.start, &|_| origin);
        let fastest = elapsed.iter().min().map_or(Picos::ZERO, |e| Picos::per(*e, iterations.get()));
        if fastest < shape.physical_floor {
            return Err(ProbeError::BelowFloor { measured: fastest, floor: shape.physical_floor });
        }
        Ok(Batches {
            start,
            elapsed,
            iterations,
            bytes: shape.bytes,
            over: shape.over,
            disturbed: self.disturbed,
        })
    }
}

/// Side effects of a whole batch by itself.
pub(super) struct ExpectedBatch {
    switches: Option<i64>,
    faults: Option<i64>,
}

impl Expected {
    pub(super) fn over(self, calls: u64) -> ExpectedBatch {
        let times = |each: u32| i64::from(each).saturating_mul(calls as i64);
        ExpectedBatch { switches: self.switches.map(times), faults: self.faults.map(times) }
    }
}

impl ExpectedBatch {
    /// How far a batch's accounts are from what it does by itself; `batch` is left to the caller.
    pub(super) fn deviation(&self, before: Counts, after: Counts) -> Option<Disturbance> {
        let narrow = |n: i64| n.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        let beyond =
            |observed: i64, expected: Option<i64>| expected.map_or(0, |expected| narrow(observed - expected));
        let observed = Disturbance {
            batch: 0,
            switches: beyond(after.switches - before.switches, self.switches),
            faults: beyond(after.faults - before.faults, self.faults),
            // Where anything may happen, reading from a disk is part of it.
            reclaimed: self.switches.map_or(0, |_| narrow(after.reclaimed - before.reclaimed)),
            retransmits: narrow(after.retransmits - before.retransmits),
        };
        let Disturbance { switches, faults, reclaimed, retransmits, .. } = observed;
        [switches, faults, reclaimed, retransmits].iter().any(|count| *count != 0).then_some(observed)
    }
}

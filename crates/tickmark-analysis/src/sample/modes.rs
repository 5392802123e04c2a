//! Batches of another mode than what is measured: told by their cause, counted, and not averaged in.

use tickmark_wire::Batches;

/// Batches in which something else happened than what is measured: counted, not averaged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SeparateModes {
    /// TCP sent a segment again and waited for its timer.
    pub retransmits: usize,
    /// Others had the CPU for at least a millisecond.
    pub slices: usize,
    /// A page had been taken away and was read again, or a read went to a disk.
    pub reclaimed: usize,
}

impl SeparateModes {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            retransmits: self.retransmits + other.retransmits,
            slices: self.slices + other.slices,
            reclaimed: self.reclaimed + other.reclaimed,
        }
    }
}

/// A slice of the scheduler is at least this long, in ns; errands of kernel threads are shorter.
const SLICE: f64 = 1e6;

/// The batches without those of another mode, which are told by their cause: a segment sent again, a page read
/// again, or the CPU lost for a slice. Where there are no others, all.
pub(super) fn of_one_mode(b: &Batches) -> (Vec<f64>, SeparateModes) {
    let mut elapsed: Vec<f64> = b.elapsed.iter().map(|e| e.as_f64()).collect();
    let mut apart = SeparateModes::default();
    if b.disturbed.is_empty() {
        return (elapsed, apart);
    }
    let middle = tickmark_stats::median(elapsed.iter().copied()).unwrap_or(0.0);
    let mut others = vec![false; elapsed.len()];
    for d in &b.disturbed {
        let Some(took) = elapsed.get(d.batch as usize) else { continue };
        let mode = if d.retransmits > 0 {
            &mut apart.retransmits
        } else if d.reclaimed > 0 {
            &mut apart.reclaimed
        } else if d.switches > 0 && *took > middle + SLICE {
            &mut apart.slices
        } else {
            continue;
        };
        *mode += 1;
        others[d.batch as usize] = true;
    }
    if others.contains(&false) {
        let mut other = others.iter();
        elapsed.retain(|_| other.next() == Some(&false));
    }
    (elapsed, apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;
    use tickmark_wire::{Disturbance, Nanos};

    /// Batches of 0.1 ms, but for those that are named.
    fn batches(named: &[(u32, i64, Disturbance)]) -> Batches {
        let mut elapsed = vec![Nanos::new(100_000); 200];
        for (batch, took, _) in named {
            elapsed[*batch as usize] = Nanos::new(*took);
        }
        Batches {
            start: vec![Nanos::ZERO; 200],
            elapsed,
            iterations: NonZeroU64::MIN,
            bytes: 0,
            over: 0,
            disturbed: named.iter().map(|(batch, _, d)| Disturbance { batch: *batch, ..*d }).collect(),
        }
    }

    const NONE: Disturbance = Disturbance { batch: 0, switches: 0, faults: 0, reclaimed: 0, retransmits: 0 };

    #[test]
    fn modes_are_told_by_their_cause_and_counted() {
        let second = Disturbance { retransmits: 1, ..NONE };
        let page = Disturbance { reclaimed: 1, faults: 1, ..NONE };
        let switched = Disturbance { switches: 1, ..NONE };
        let (kept, apart) = of_one_mode(&batches(&[
            (3, 1_000_000_000, second),
            (9, 400_000, page),
            (20, 4_100_000, switched),
            // A kernel thread's errand is no slice, and being slow alone is no mode.
            (40, 130_000, switched),
            (60, 9_000_000, NONE),
        ]));
        assert_eq!(apart, SeparateModes { retransmits: 1, slices: 1, reclaimed: 1 });
        assert_eq!(kept.len(), 197);
        assert!(kept.contains(&9_000_000.0) && !kept.contains(&1_000_000_000.0));
        assert_eq!(apart.plus(apart), SeparateModes { retransmits: 2, slices: 2, reclaimed: 2 });
    }

    #[test]
    fn where_there_is_no_other_mode_all_count() {
        let all: Vec<_> = (0..200).map(|i| (i, 100_000, Disturbance { reclaimed: 1, ..NONE })).collect();
        let (kept, apart) = of_one_mode(&batches(&all));
        assert_eq!((kept.len(), apart.reclaimed), (200, 200));
    }
}

//! Who has a CPU: its tracepoints, recorded for as large a part of each second as the events' number allows.

use crate::sys::CallError;
use crate::sys::tracepoints::{Subjects, Tracepoints, read_functions};
use tickmark_timer::monotonic_ns;
use tickmark_wire::{GapTrace, KernelEvents, Nanos};

/// Events that are recorded of all CPUs together, a second: each takes about a microsecond to write and to read.
const EVENTS: f64 = 3_000.0;
/// A part of a second lasts so long at most, in ns.
const LONGEST: f64 = 900e6;
const SECOND: u64 = 1_000_000_000;
/// How long what is recorded has room for.
const ROOM: Nanos = Nanos::from_millis(1_000);

/// The recorder of one CPU, whose thread looks at it.
pub(super) struct Occupants {
    cpu: u32,
    events: Tracepoints,
    /// Events a second that this CPU may have recorded.
    most: f64,
    /// How long the next part lasts, in ns.
    part: f64,
    /// When it was switched on, while it is; and when it is again.
    since: Option<u64>,
    next: u64,
    /// Events that the kernel had counted when the last part was over.
    counted: u64,
}

impl Occupants {
    /// Of the CPU of this thread, one of so many.
    pub(super) fn open(cpu: u32, cpus: usize) -> Result<Self, CallError> {
        read_functions();
        let events = Tracepoints::open_for(cpu, ROOM, libc::CLOCK_MONOTONIC, false)?;
        let most = EVENTS / cpus.max(1) as f64;
        // So short a part that the first one is no burden, whatever the CPU does.
        Ok(Self { cpu, events, most, part: LONGEST / 20.0, since: None, next: 0, counted: 0 })
    }

    /// At the end of a look, at `now` of CLOCK_MONOTONIC: what was recorded, where a part is over.
    pub(super) fn visit(&mut self, now: u64) -> Option<GapTrace> {
        let Some(since) = self.since else {
            if now >= self.next && self.events.begin().is_ok() {
                // Behind the interrupts that switched it on elsewhere.
                (self.since, self.next) = (Some(monotonic_ns()), now + SECOND);
            }
            return None;
        };
        if (now.saturating_sub(since) as f64) < self.part {
            return None;
        }
        self.since = None;
        self.events.end().ok()?;
        let mut subjects = Subjects::default();
        let mut batch = self.events.drain(&mut subjects, |stamp| Nanos::new(stamp - since as i64));
        batch.place_unseen_switches();
        // The kernel tells of what had no room with the next record that has.
        let counted = self.events.counted().ok()?[0];
        let dropped = (counted - self.counted).saturating_sub(batch.read());
        self.counted = counted;
        let events = self.events.columns(subjects, [batch]);
        self.part = part(self.most, events.time.len() as u64 + dropped, now - since);
        let span = Nanos::new((now - since) as i64);
        let clock = "CLOCK_MONOTONIC".to_owned();
        let (origin, cpu) = (Nanos::new(since as i64), Some(self.cpu));
        let events = KernelEvents { cpu, clock, origin, dropped, ..events };
        Some(GapTrace { span, events: Some(Box::new(events)), ..GapTrace::default() })
    }
}

/// How long a part of a second may be after one of `span` ns with so many events.
fn part(most: f64, events: u64, span: u64) -> f64 {
    let rate = events as f64 * 1e9 / span.max(1) as f64;
    (most / rate.max(1.0) * 1e9).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn a_busy_cpu_is_recorded_for_a_smaller_part_of_each_second() {
        assert_eq!(part(1_500.0, 10, 50_000_000), 900e6);
        // 100,000 a second: 15 ms.
        assert!((part(1_500.0, 5_000, 50_000_000) - 15e6).abs() < 1.0);
        assert_eq!(part(1_500.0, 0, 0), 900e6);
    }
}

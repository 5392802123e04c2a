//! Waits of a thread cut at the kernel's events: from the time that it waited for to its first reading of the clock.

use super::{INTERRUPTS, Walk};
use crate::noise::cause::Cause;
use tickmark_wire::KernelEvents;

/// Layers that run without a task, beside interrupts.
const SOFT: [&str; 2] = ["irq/softirq", "timer/"];

/// The number of the task that runs when there is none.
const IDLE: u32 = 0;

/// A wake-up of the thread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::noise) struct Woken {
    pub(in crate::noise) at: f64,
    /// The CPU of the waker.
    pub(in crate::noise) cpu: Option<u32>,
    /// When the interrupt began in which it was; none where a task woke it, or another CPU.
    pub(in crate::noise) interrupt: Option<f64>,
}

/// What happened in a wait.
#[derive(Debug)]
pub(in crate::noise) struct Wait {
    pub(in crate::noise) woken: Option<Woken>,
    /// When the thread had the CPU again: where the kernel does not record the switch from idle, at the last event before.
    pub(in crate::noise) resumed: Option<f64>,
    /// Whether the CPU was idle from its last event on.
    pub(in crate::noise) is_idle: bool,
    /// What had the CPU from the wait's time on: when, for how long.
    pub(in crate::noise) parts: Vec<(Cause, f64, f64)>,
}

impl Walk<'_> {
    /// Cuts waits, whose times are `targets` and which ended at `ends`, in ns; events of each are from before it.
    pub(in crate::noise) fn waits(
        events: &KernelEvents,
        own_cpu: u32,
        targets: &[f64],
        ends: &[f64],
    ) -> Vec<Wait> {
        let mut walk = Walk::new(events, own_cpu);
        targets.iter().zip(ends).map(|(target, end)| walk.wait(*target, *end)).collect()
    }

    fn wait(&mut self, target: f64, end: f64) -> Wait {
        self.stack.clear();
        self.stacks.clear();
        (self.task, self.last, self.woken) = (None, None, None);
        let gap = self.out.gaps.len();
        let (mut slices, mut at) = (Vec::new(), self.time(self.event).min(target));
        let (mut woken, mut resumed, from) = (None, None, at);
        while self.time(self.event) <= end {
            let time = self.time(self.event);
            self.wake_until(time);
            self.step(gap, time, &mut slices, &mut at);
            if self.is_switch_to_own() {
                // From here on it is the thread's own way back.
                self.last = Some(self.begin(Cause::Outside, gap, time));
                if time >= target && resumed.is_none() {
                    (woken, resumed) = (self.woken.filter(|own| own.at >= from), Some(time));
                }
            }
            self.event += 1;
        }
        // Another CPU may have woken it after the last event here.
        self.wake_until(end);
        let is_idle =
            resumed.is_none() && self.stack.is_empty() && self.task.is_some_and(|(id, _)| id == IDLE);
        if let Some(own) = self.woken.filter(|own| is_idle && own.at >= target) {
            (woken, resumed) = (Some(own), Some(at.max(own.at)));
            (self.task, self.last) = (None, Some(self.begin(Cause::Outside, gap, at)));
        }
        if let Some(top) = self.top() {
            self.add(&mut slices, top, at, end);
        }
        let part = |slice: &super::Slice| {
            let (from, to) = (slice.start.max(target), slice.start + slice.length);
            (self.out.occurrences[slice.occurrence].cause.clone(), from, to - from)
        };
        let parts = slices.iter().map(part).filter(|(.., length)| *length > 0.0).collect();
        self.out.gaps.push(slices);
        Wait { woken, resumed, is_idle, parts }
    }

    fn is_switch_to_own(&self) -> bool {
        let at = |column: &[u32]| column.get(self.event).map(|at| *at as usize);
        let name = at(&self.events.tracepoint).and_then(|at| self.events.tracepoints.get(at));
        let next = at(&self.events.subject).and_then(|at| self.events.subjects.get(at));
        name.is_some_and(|name| name == "sched/sched_switch")
            && next.is_some_and(|next| next.id == Some(self.events.thread))
    }

    /// A wake-up of the thread now: by the frames that are open on this CPU.
    pub(super) fn woken_at(&self, at: f64, cpu: Option<u32>) -> Woken {
        let is_interrupt =
            |layer: &str| INTERRUPTS.iter().chain(&SOFT).any(|folder| layer.starts_with(folder));
        let here = cpu == Some(self.own_cpu);
        let frame = self.stack.iter().find(|frame| here && is_interrupt(&frame.layer));
        Woken { at, cpu, interrupt: frame.map(|frame| self.out.occurrences[frame.occurrence].start) }
    }
}

//! Gaps cut at the kernel's events: what ran in each part (interrupt, softirq, task and the others), by the tracepoints of its beginning and its end.

mod edges;
mod steps;
mod waits;
mod whole;

use super::cause::Cause;
use edges::Edge;
use std::collections::BTreeMap;
use steps::{Step, cause};
use tickmark_wire::{EventSubject, KernelEvents, Nanos};
pub(super) use waits::Wait;
use waits::Woken;

/// An event belongs to a gap that begins after it by so much, or ended before it, ns: both clocks are one counter, whose readings are
/// matched to some ten nanoseconds.
const NEAR: f64 = 200.0;

/// A time of one cause without interruption by another's beginning: one interrupt, one turn of a task, with its own time alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Occurrence {
    pub(super) cause: Cause,
    /// The gap that it began in.
    pub(super) gap: usize,
    pub(super) start: f64,
    /// Own time, in ns: without what ran above it.
    pub(super) own: f64,
    /// Events recorded in its own time, and of them those that were the first since the kernel was entered: they are dearer.
    pub(super) events: u32,
    pub(super) entries: u32,
    /// Who woke the task, for the turn of one; who set the timer, for one that expired.
    pub(super) woken_by: Option<String>,
}

/// A part of a gap: which occurrence, from when, how long in ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Slice {
    pub(super) occurrence: usize,
    pub(super) start: f64,
    pub(super) length: f64,
}

/// Parts of all gaps of one run.
#[derive(Debug, Default)]
pub(super) struct Slices {
    pub(super) occurrences: Vec<Occurrence>,
    /// Of each gap, in the order of time; their sum is the gap.
    pub(super) gaps: Vec<Vec<Slice>>,
}

/// Indices of times, ascending: each CPU's wakings are together.
fn in_order(times: &[Nanos]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|at| times[*at]);
    order
}

/// An interrupt whose end the kernel lets nobody record: above other things its time is theirs.
const ENDLESS: &str = "irq_vectors/irq_work";
/// Layers that enter the kernel, where a task was on the CPU.
const INTERRUPTS: [&str; 3] = ["irq_vectors/", "irq/irq_handler", "ipi/"];
/// A work does not nest: one that is still open ended on another CPU.
const WORK: &str = "workqueue/workqueue_execute";
/// Frames above each other, of a kernel; a damaged file may have more.
const DEEPEST: usize = 16;
/// Functions that another CPU has called to have addresses forgotten.
const FLUSHES: [&str; 4] =
    ["flush_tlb_func", "flush_tlb_func_remote", "do_flush_tlb_all", "do_kernel_range_flush"];

/// What is above the task on the CPU: its layer, and the occurrence.
#[derive(Debug, Clone)]
struct Frame {
    layer: String,
    occurrence: usize,
}

/// Walks over the events of a run.
pub(super) struct Walk<'a> {
    events: &'a KernelEvents,
    steps: Vec<Step>,
    own_cpu: u32,
    /// Whether a loop has the CPU where nothing else does.
    has_loop: bool,
    /// Next event; wakings in the order of time, and the next of them.
    event: usize,
    wakings: Vec<usize>,
    waking: usize,
    /// Frames of each task that has some, and the task that is on the CPU; none is the loop's thread.
    stacks: BTreeMap<u32, Vec<Frame>>,
    stack: Vec<Frame>,
    task: Option<(u32, usize)>,
    /// Who woke each task last.
    wakers: BTreeMap<u32, String>,
    /// What ended last, in this gap.
    last: Option<usize>,
    /// Last wake-up of the loop's own thread.
    woken: Option<Woken>,
    /// Time before the first event of each gap, and after the last one.
    ways_in: Vec<Edge>,
    ways_out: Vec<Edge>,
    out: Slices,
}

/// When events end that are known, ns: after the last one nothing is, where some were dropped.
pub(super) fn known_until(events: &KernelEvents) -> f64 {
    match events.dropped {
        0 => f64::MAX,
        _ => events.time.last().map_or(0.0, |time| time.as_f64()),
    }
}

impl<'a> Walk<'a> {
    fn new(events: &'a KernelEvents, own_cpu: u32) -> Self {
        Self {
            events,
            steps: events.tracepoints.iter().map(|name| Step::of_tracepoint(name)).collect(),
            own_cpu,
            has_loop: true,
            event: 0,
            wakings: in_order(&events.wakings.time),
            waking: 0,
            stacks: BTreeMap::new(),
            stack: Vec::new(),
            task: None,
            wakers: BTreeMap::new(),
            last: None,
            woken: None,
            ways_in: Vec::new(),
            ways_out: Vec::new(),
            out: Slices::default(),
        }
    }

    /// Cuts gaps, which begin at `start` and last for `length`, in ns.
    pub(super) fn cut(events: &'a KernelEvents, own_cpu: u32, start: &[f64], length: &[f64]) -> Slices {
        let mut walk = Self::new(events, own_cpu);
        for (gap, (start, length)) in start.iter().zip(length).enumerate() {
            walk.gap(gap, *start, start + length);
        }
        let Self { mut out, ways_in, ways_out, .. } = walk;
        edges::cut(&mut out, &ways_in, &ways_out);
        out
    }

    fn time(&self, event: usize) -> f64 {
        self.events.time.get(event).map_or(f64::MAX, |time| time.as_f64())
    }

    fn gap(&mut self, gap: usize, start: f64, end: f64) {
        // A loop that reads its clock is on the CPU with nothing above it.
        self.stack.clear();
        (self.task, self.last) = (None, None);
        // What lies between gaps was shorter than any.
        while self.time(self.event) < start - NEAR {
            self.event += 1;
        }
        self.wake_until(start - NEAR);
        let (mut slices, mut at, first) = (Vec::new(), start, self.event);
        while self.time(self.event) <= end + NEAR {
            let time = self.time(self.event).clamp(at, end);
            self.wake_until(self.time(self.event));
            self.step(gap, time, &mut slices, &mut at);
            self.event += 1;
        }
        // What is left open has no way out, nor has what marks a beginning alone.
        let ends = |step: &Step| matches!(step, Step::Exit(_) | Step::Switch);
        let is_closed = self.task.is_none() && self.stack.is_empty();
        if self.event > first {
            let (tracepoint, last) = (&self.events.tracepoint, self.event - 1);
            let way_in = (self.time(first) - start).max(0.0);
            self.ways_in.push(Edge { gap, tracepoint: tracepoint[first], length: way_in });
            if is_closed
                && end <= known_until(self.events)
                && self.steps.get(tracepoint[last] as usize).is_some_and(ends)
            {
                let way_out = (end - self.time(last)).max(0.0);
                self.ways_out.push(Edge { gap, tracepoint: tracepoint[last], length: way_out });
            }
        }
        self.wake_until(end + NEAR);
        let known = known_until(self.events).clamp(at, end);
        if known > at || known == end {
            let occurrence = self.top().unwrap_or_else(|| self.begin(Cause::Outside, gap, start));
            self.add(&mut slices, occurrence, at, known);
        }
        if known < end {
            let occurrence = self.begin(Cause::Unknown, gap, known);
            self.add(&mut slices, occurrence, known, end);
        }
        self.out.gaps.push(slices);
    }

    /// The occurrence that has the CPU: the uppermost frame, else the task, else what was last.
    fn top(&self) -> Option<usize> {
        self.stack.last().map(|frame| frame.occurrence).or(self.task.map(|(_, own)| own)).or(self.last)
    }

    fn begin(&mut self, cause: Cause, gap: usize, start: f64) -> usize {
        let one = Occurrence { cause, gap, start, own: 0.0, events: 0, entries: 0, woken_by: None };
        self.out.occurrences.push(one);
        self.out.occurrences.len() - 1
    }

    fn add(&mut self, slices: &mut Vec<Slice>, occurrence: usize, from: f64, to: f64) {
        if to > from {
            self.out.occurrences[occurrence].own += to - from;
            match slices.last_mut() {
                Some(last) if last.occurrence == occurrence => last.length += to - from,
                _ => slices.push(Slice { occurrence, start: from, length: to - from }),
            }
        }
    }

    /// One event at a time within the gap; what came before it since `at` is whose the CPU was, or its own where that is the first.
    fn step(&mut self, gap: usize, time: f64, slices: &mut Vec<Slice>, at: &mut f64) {
        let events = self.events;
        let subject = |event: usize| -> Option<&'a EventSubject> {
            events.subjects.get(*events.subject.get(event)? as usize)
        };
        let step = events.tracepoint.get(self.event).and_then(|at| self.steps.get(*at as usize)).cloned();
        let (Some(step), Some(subject)) = (step, subject(self.event)) else { return };
        let before = self.top();
        let interrupts = |layer: &String| INTERRUPTS.iter().any(|folder| layer.starts_with(folder));
        let enters = before.is_none()
            || self.task.is_some()
                && self.stack.is_empty()
                && matches!(&step, Step::Enter(layer) if interrupts(layer));
        if let Some(before) = before {
            self.add(slices, before, *at, time);
        }
        let own = match &step {
            Step::Enter(layer) if layer == ENDLESS => {
                if before.is_none() || self.task.is_none() && self.stack.is_empty() {
                    self.last = Some(self.begin(cause(layer, subject), gap, time));
                }
                self.top()
            }
            Step::Enter(layer) => {
                let open = self.stack.iter().position(|frame| layer == WORK && frame.layer == WORK);
                self.stack.truncate(open.unwrap_or(DEEPEST));
                let occurrence = self.enter(cause(layer, subject), gap, time);
                if let Some(by) = self.armed_by() {
                    self.out.occurrences[occurrence].woken_by = Some(by);
                }
                self.stack.push(Frame { layer: layer.clone(), occurrence });
                Some(occurrence)
            }
            Step::Exit(layer) => {
                let at = self.stack.iter().rposition(|frame| frame.layer == *layer);
                let ended = at.map(|at| self.stack.split_off(at)[0].occurrence);
                self.last = ended.or(self.last);
                // What began before the events did ends without a beginning.
                ended.or(before)
            }
            Step::Switch => Some(self.switch(subject, gap, time)),
            Step::Fault if self.task.is_none() && self.stack.is_empty() => {
                self.last = Some(self.begin(Cause::PageFault, gap, time));
                self.last
            }
            Step::Flush => {
                if let Some(frame) = self.stack.last() {
                    let cause = &mut self.out.occurrences[frame.occurrence].cause;
                    if matches!(cause, Cause::Interrupt(name) if name.starts_with("call_function")) {
                        *cause = Cause::TlbFlush;
                    }
                }
                self.top()
            }
            Step::Lasted => {
                self.interrupted(subject, gap, time, slices);
                self.top()
            }
            Step::Fault | Step::Other => self.top(),
        };
        if let Some(own) = own {
            self.out.occurrences[own].events += 1;
            self.out.occurrences[own].entries += u32::from(enters);
            if before.is_none() {
                // The way into the kernel is a part of what came.
                self.add(slices, own, *at, time);
                self.out.occurrences[own].start = *at;
            }
            *at = time;
        }
    }

    /// Begins what came above the uppermost frame. An interrupt is known by what it was for: the timer that expired in it, the function that
    /// it called; both are one occurrence.
    fn enter(&mut self, new: Cause, gap: usize, time: f64) -> usize {
        let new = match new {
            Cause::Call(function) if FLUSHES.contains(&function.as_str()) => Cause::TlbFlush,
            other => other,
        };
        if let Some(below) = self.stack.last().map(|frame| frame.occurrence) {
            let cause = &mut self.out.occurrences[below].cause;
            let is_plain = matches!(cause, Cause::Interrupt(_));
            let names = match &new {
                Cause::Tick | Cause::Timer(_) | Cause::Call(_) | Cause::TlbFlush => is_plain,
                _ => false,
            };
            if names {
                *cause = new;
                return below;
            }
        }
        self.begin(new, gap, time)
    }

    /// The task that had set the timer which expires now.
    fn armed_by(&self) -> Option<String> {
        let (events, index) = (self.events, self.event as u32);
        let at = events.armed.binary_search_by_key(&index, |(event, _)| *event).ok()?;
        Some(events.subjects.get(events.armed[at].1 as usize)?.name.clone())
    }

    fn switch(&mut self, next: &EventSubject, gap: usize, time: f64) -> usize {
        let id = next.id.unwrap_or(0);
        let own = std::mem::take(&mut self.stack);
        if let Some((task, _)) = self.task {
            self.stacks.insert(task, own);
        }
        if self.has_loop && id == self.events.thread {
            self.last = self.task.map(|(_, occurrence)| occurrence).or(self.last);
            self.task = None;
            return self.last.unwrap_or_else(|| self.begin(Cause::Unknown, gap, time));
        }
        // Work that a task was in the midst of goes on as an occurrence of its own.
        self.stack = self.stacks.remove(&id).unwrap_or_default();
        for at in 0..self.stack.len() {
            let cause = self.out.occurrences[self.stack[at].occurrence].cause.clone();
            self.stack[at].occurrence = self.begin(cause, gap, time);
        }
        let cause = match id {
            0 => Cause::Idle,
            _ => Cause::task(next, id),
        };
        let occurrence = self.begin(cause, gap, time);
        self.out.occurrences[occurrence].woken_by = self.wakers.remove(&id);
        self.task = Some((id, occurrence));
        self.top().unwrap_or(occurrence)
    }

    /// A handler of non-maskable interrupts, which is recorded at its end with its duration.
    fn interrupted(&mut self, subject: &EventSubject, gap: usize, time: f64, slices: &mut Vec<Slice>) {
        let index = self.event as u32;
        let lasted = self.events.lasted.binary_search_by_key(&index, |(event, _)| *event);
        let lasted = lasted.map_or(0.0, |at| self.events.lasted[at].1.as_f64().max(0.0));
        let occurrence = self.begin(Cause::NonMaskable(subject.name.clone()), gap, time - lasted);
        match slices.last_mut() {
            Some(below) => {
                let taken = lasted.min(below.length);
                below.length -= taken;
                let below = below.occurrence;
                self.out.occurrences[below].own -= taken;
                self.add(slices, occurrence, time - taken, time);
            }
            None => self.last = Some(occurrence),
        }
    }

    /// Takes note of who wakes tasks, until a time.
    fn wake_until(&mut self, until: f64) {
        let (wakings, subjects) = (&self.events.wakings, &self.events.subjects);
        while let Some(at) = self.wakings.get(self.waking).copied()
            && wakings.time[at].as_f64() <= until
        {
            self.waking += 1;
            let of = |column: &[u32]| subjects.get(*column.get(at)? as usize);
            let (Some(task), Some(by)) = (of(&wakings.task), of(&wakings.by)) else { continue };
            let here = wakings.cpu.get(at) == Some(&self.own_cpu);
            if task.id == Some(self.events.thread) {
                self.woken = Some(self.woken_at(wakings.time[at].as_f64(), wakings.cpu.get(at).copied()));
            }
            let frame = self.stack.last().filter(|_| here).map(|frame| frame.occurrence);
            if let Some(top) = self.top().filter(|_| here) {
                self.out.occurrences[top].events += 1;
            }
            let by = frame.map_or_else(|| by.name.clone(), |top| self.out.occurrences[top].cause.words());
            self.wakers.insert(task.id.unwrap_or(0), by);
        }
    }
}

#[cfg(test)]
mod tests;

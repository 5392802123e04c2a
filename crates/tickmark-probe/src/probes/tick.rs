//! The kernel's tick, found by spinning: a loop that does nothing but read the clock sees each
//! interruption as a gap. After some of them it asks the kernel what it counted.

mod looks;
#[cfg(feature = "whole")]
mod witness;

use crate::batch::touched;
use crate::clock::{Clock, Counter, Monotonic};
use crate::routine::{Budget, routine};
use crate::sys::usage::preemptions;
use crate::sys::{counters, signal};
use crate::{Meter, Probe, Spec, SystemMeter};
use looks::Looks;
use std::fs::File;
use std::io::Write;
use tickmark_timer::{Anchor, Scale};
use tickmark_wire::shared::{GAP_THRESHOLD, TRACING, TURNS_OF_A_GAP};
use tickmark_wire::{Counted, GapTrace, Group, Headline, Nanos, Observations, Part, names};

/// Gaps longer than this may hold a context switch: two of them take longer on any machine.
const LOOKED: Nanos = Nanos::new(1_000);
/// Asking takes no more than so many times its least: what is longer was taken from it.
const MANY: u64 = 3;
/// Gaps kept at most: beyond this the machine does little else than interrupt. A loop that waits for a long one goes on without those before.
const MOST: usize = 200_000;

pub(super) static PROBES: &[Probe] = &[
    TICK,
    #[cfg(feature = "whole")]
    witness::WITNESS,
];

const TICK: Probe = Probe {
    spec: Spec {
        headline: Headline::TickTrain,
        timed: "reading the clock without pause; gaps above 300 ns, or three readings where those take longer, of which the periodic train that \
                matches the timer interrupts is the tick",
        source: "the method of sysjitter and osnoise, from user space",
        weight: 140,
        ..Spec::cost(Group::Tick, names::TICK, "the tick")
    },
    prepare: |_, params| {
        let cpu = params.cpu;
        Ok(routine(move |budget, sink| {
            let mut meter = SystemMeter::new(&[]);
            let mut before = meter.reading();
            // Of what is kept: a watch that goes on without the first gaps begins anew.
            let mut around = |begins: bool| {
                if begins {
                    before = meter.reading();
                }
            };
            let counts = budget.gauge.counts();
            let counters = !budget.gauge.counts_instructions();
            let trace = if counts {
                spin(Counter, budget, (cpu, MOST), counters, &mut around)
            } else {
                spin(Monotonic, budget, (cpu, MOST), counters, &mut around)
            };
            let Spun { trace, .. } = trace;
            let segment = meter.reading().since(&before, Nanos::ZERO, trace.span);
            sink.observe(Part::Whole, Observations::Gaps(trace), vec![segment]);
            Ok(())
        }))
    },
};

/// The gaps of a loop, and how its clock becomes the axis of their times.
struct Spun {
    trace: GapTrace,
    /// First reading of the clock, in its ticks.
    #[cfg_attr(not(feature = "whole"), expect(dead_code, reason = "nothing else is put on the axis"))]
    origin: u64,
    #[cfg_attr(not(feature = "whole"), expect(dead_code, reason = "nothing else is put on the axis"))]
    scale: Scale,
}

/// Spins on a CPU and keeps at most so many gaps; `counters` reads those of the kernel after some gaps, `around` is called just before the loop
/// with true and after it with false.
fn spin<C: Clock>(
    clock: C,
    budget: &Budget,
    (cpu, most): (u32, usize),
    counters: bool,
    around: &mut dyn FnMut(bool),
) -> Spun {
    let rough = budget.gauge.scale;
    let ticks = |nanos: Nanos| (nanos.get() as f64 * rough.frequency() / 1e9) as u64;
    let mut length = ticks(budget.time);
    // A page that is first touched inside the loop would be a gap of our own making.
    let room = most.min(budget.time.get() as usize / 10_000 + 1000);
    let mut gaps = touched((1u64, 1u64), room);
    let mut preempted = touched(1u32, room);
    let turns = |gaps: &[(u64, u64)]| gaps.iter().map(|(from, to)| to - from).min().unwrap_or(0);
    let looked = ticks(LOOKED);
    let first = Limits { threshold: 0, looked, length: u64::MAX, most: 100, stop: Stop::NEVER };
    watch(clock, &first, &mut gaps, &mut preempted, None);
    let threshold = ticks(GAP_THRESHOLD).max(TURNS_OF_A_GAP * turns(&gaps));
    let stop = budget.stop.map_or(u64::MAX, |stop| ticks(stop.above));
    let tracer =
        budget.stop.filter(|stop| stop.tracing).and_then(|_| File::options().write(true).open(TRACING).ok());
    let stop = Stop { above: stop, tracer: tracer.as_ref() };
    if budget.stop.is_some() {
        // What was seen until then is kept; where the handler is refused, it is lost.
        let _ = signal::handle_termination();
    }
    let limits = Limits { threshold, looked, length, most: room, stop };
    let mut looks = counters.then(|| Looks::new(cpu, budget.time, rough.frequency(), room)).flatten();
    let (interrupts, anchor, origin, last) = loop {
        gaps.clear();
        preempted.clear();
        let interrupts = timer_interrupts(cpu);
        around(true);
        budget.align();
        let anchor = Anchor::take();
        let limits = Limits { length, ..limits };
        let (origin, last, is_met) = watch(clock, &limits, &mut gaps, &mut preempted, looks.as_mut());
        around(false);
        length = length.saturating_sub(last - origin);
        let goes_on = budget.stop.is_some() && gaps.len() == room && length > 0;
        if is_met || !goes_on || signal::termination_requested() {
            break (interrupts, anchor, origin, last);
        }
    };
    let timer_interrupts =
        timer_interrupts(cpu).zip(interrupts).map(|(after, before)| after.saturating_sub(before));
    let scale = budget.gauge.refined(anchor);
    let nanos = |ticks: u64| Nanos::new(scale.nanos(ticks) as i64);
    let trace = GapTrace {
        threshold: nanos(threshold),
        span: nanos(last - origin),
        timer_interrupts,
        start: gaps.iter().map(|(from, _)| nanos(from - origin)).collect(),
        length: gaps.iter().map(|(from, to)| nanos(to - from)).collect(),
        preempted: Some(preempted),
        counted: looks.map(|looks| Box::new(looks.columns(nanos))),
        events: None,
    };
    Spun { trace, origin, scale }
}

/// Conditions that end a loop, and limits of its memory, in ticks of its clock.
struct Limits<'a> {
    /// Gaps longer than this are kept.
    threshold: u64,
    /// After gaps longer than this the kernel is asked.
    looked: u64,
    /// How long it reads.
    length: u64,
    /// Gaps at most.
    most: usize,
    stop: Stop<'a>,
}

/// The first gap longer than this ends the loop, and the kernel's trace with it.
#[derive(Clone, Copy)]
struct Stop<'a> {
    above: u64,
    tracer: Option<&'a File>,
}

impl Stop<'_> {
    const NEVER: Self = Self { above: u64::MAX, tracer: None };

    /// First of all: what comes after the gap pushes what came before out of the trace.
    fn tracing(&self) {
        if let Some(mut tracer) = self.tracer {
            let _ = tracer.write_all(b"0");
        }
    }
}

/// Reads the clock without pause for a time, until there are so many gaps above the threshold, or until a signal ends it; the first reading and the
/// last, and true if one was long enough to end it. After a gap that is long enough for a context switch the kernel's count of them says whether another task had
/// the CPU, and `looks` what else the kernel counted; what asking takes is in no gap.
fn watch<C: Clock>(
    clock: C,
    limits: &Limits<'_>,
    gaps: &mut Vec<(u64, u64)>,
    preempted: &mut Vec<u32>,
    mut looks: Option<&mut Looks>,
) -> (u64, u64, bool) {
    let Limits { threshold, looked, length, most, stop } = *limits;
    let mut switches = preemptions();
    // Time that other tasks had: a loop looks for a part of its own.
    let mut gone = 0;
    let mut asking = Asking { least: u64::MAX, beyond: threshold + looked };
    if let Some(looks) = &mut looks {
        looks.begin(clock.now());
    }
    let origin = clock.now();
    let mut last = origin;
    while last - origin < length && gaps.len() < most {
        let now = clock.now();
        if now - last <= threshold {
            last = now;
            continue;
        }
        // The gap in which the signal came is partly the signal's own: it is not kept.
        if signal::termination_requested() {
            return (origin, last, false);
        }
        gaps.push((last, now));
        let long = C::ASKS && now - last > looked;
        if now - last > stop.above {
            stop.tracing();
            if preemptions() != switches {
                preempted.push(gaps.len() as u32 - 1);
            }
            if let Some(looks) = &mut looks {
                looks.look(gaps.len() as u32 - 1, now);
                looks.took(1, 0);
            }
            return (origin, now, true);
        }
        last = now;
        if long {
            let (so_far, read, away) = asking.switches(clock, now);
            last = read;
            let mut length = now - gaps.last().map_or(now, |gap| gap.0);
            if let Some(gap) = gaps.last_mut().filter(|_| away > 0) {
                gap.1 += away;
                length += away;
            }
            if so_far != switches {
                preempted.push(gaps.len() as u32 - 1);
                switches = so_far;
                gone += length;
            }
            if length > stop.above {
                stop.tracing();
                if let Some(looks) = &mut looks {
                    looks.look(gaps.len() as u32 - 1, last);
                    looks.took(1, 0);
                }
                return (origin, last, true);
            }
            if let Some(looks) = &mut looks
                && looks.due(last - origin - gone)
            {
                looks.look(gaps.len() as u32 - 1, last);
                let ended = clock.now();
                let (so_far, read, more) = asking.switches(clock, ended);
                let took = ended - last + more;
                let away = if so_far == switches { 0 } else { took.saturating_sub(looks.own()) };
                looks.took(took, away);
                gone += away;
                switches = so_far;
                last = read;
                if away > stop.above {
                    stop.tracing();
                    return (origin, last, true);
                }
            }
        }
    }
    (origin, last, false)
}

/// Asking the kernel how often the thread was switched away. Where the clock is a system call, a reading comes before its way out, which may be the
/// way to another task: what asking takes beyond its usual time was taken from it.
struct Asking {
    /// The least time that it took, and by how much more it is unusual, in ticks.
    least: u64,
    beyond: u64,
}

impl Asking {
    /// Switches so far, the last reading, and how much was taken since one before it.
    fn switches<C: Clock>(&mut self, clock: C, since: u64) -> (i64, u64, u64) {
        let so_far = preemptions();
        let read = clock.now();
        self.least = self.least.min(read - since);
        let away = read - since - self.least;
        if away > MANY * self.least + self.beyond {
            return (preemptions(), clock.now(), away);
        }
        (so_far, read, 0)
    }
}

/// Local timer interrupts of a CPU so far; none where /proc/interrupts does not say.
fn timer_interrupts(cpu: u32) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/interrupts").ok()?;
    let mut lines = text.lines();
    let column = lines.next()?.split_whitespace().position(|name| name == format!("CPU{cpu}"))?;
    let is_timer = |line: &&str| Counted::is_timer(&format!("interrupt {}", counters::name(line)));
    let counts =
        lines.filter(is_timer).filter_map(|line| line.split_whitespace().nth(column + 1)?.parse().ok());
    counts.reduce(|sum: u64, count: u64| sum + count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gauge;
    use std::cell::Cell;
    use std::time::Instant;

    /// A clock whose readings are known before.
    #[derive(Clone, Copy)]
    struct Readings<'a>(&'a [u64], &'a Cell<usize>);

    impl Clock for Readings<'_> {
        fn now(self) -> u64 {
            self.1.set(self.1.get() + 1);
            self.0[self.1.get() - 1]
        }
    }

    #[test]
    fn what_is_taken_while_the_loop_asks_is_a_part_of_the_gap() {
        // A tick of 20 us, asked about for 300 ns; a second one, behind whose reading another task has the CPU for 4 ms; and a third one.
        let readings = [
            0, 100, 20_100, 20_400, 20_500, 40_500, 4_040_800, 4_041_100, 4_041_200, 4_061_200, 4_061_600,
            4_061_700, 9_000_000, 9_000_300,
        ];
        let limits = Limits { threshold: 300, looked: 1_000, length: 9_000_000, most: 10, stop: Stop::NEVER };
        let (mut gaps, mut preempted, at) = (Vec::new(), Vec::new(), Cell::new(0));
        let (origin, last, _) = watch(Readings(&readings, &at), &limits, &mut gaps, &mut preempted, None);
        assert_eq!((origin, last, at.get()), (0, 9_000_300, readings.len()));
        let lengths: Vec<u64> = gaps.iter().map(|(from, to)| to - from).collect();
        assert_eq!(lengths, [20_000, 4_020_000, 20_000, 4_938_300]);
        // And what ends it ends it there as well.
        let stop = Stop { above: 1_000_000, tracer: None };
        at.set(0);
        gaps.clear();
        let limits = Limits { stop, ..limits };
        let ended = watch(Readings(&readings, &at), &limits, &mut gaps, &mut preempted, None);
        assert_eq!((ended, gaps.len()), ((0, 4_041_100, true), 2));
    }

    #[test]
    fn a_loop_that_waits_for_a_long_gap_does_so_however_many_short_ones_there_are() {
        let time = Nanos::from_millis(300);
        let stop = |above| Some(crate::routine::Stop { above, tracing: false });
        let budget = |stop| Budget { time, batch: time, gauge: Gauge::choose(false), phase: None, stop };
        let took = |stop| {
            let begun = Instant::now();
            let spun = spin(Monotonic, &budget(stop), (0, 2), false, &mut |_| ());
            (begun.elapsed(), spun.trace)
        };
        let (all, trace) = took(stop(Nanos::from_millis(3_600_000)));
        assert!(all >= time.to_duration() && trace.start.len() <= 2, "{all:?}");
        // Its times are those of what is kept.
        assert!(trace.start.iter().all(|start| *start <= trace.span));
        // One that waits for none ends with its memory.
        let full = took(None).1;
        assert!(full.span < time || full.start.len() < 2, "{:?}", full.span);
    }
}

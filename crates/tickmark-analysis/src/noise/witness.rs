//! Who took the CPU: gaps of the loop beside which the kernel's tracepoints were recorded.

use super::cause::Cause;
use super::occupancy::is_whole;
use super::slices::{Occurrence, Slices, Walk};
use super::{LONGEST, over_time};
use crate::sample::gaps_of;
use std::collections::BTreeMap;
use tickmark_stats::order::largest_first;
use tickmark_stats::{Sorted, median_of_runs, tick};
use tickmark_store::{Recording, Status};
use tickmark_wire::names::WITNESS;
use tickmark_wire::{EventCost, GapTrace, KernelEvents, Nanos, Observations};

/// Batches that are enough for the cost of an event.
const BATCHES: usize = 1000;
/// A train of gaps without events: so many of its gaps have none.
const WITHOUT: f64 = 0.7;

/// Everything that took the CPU from the loop while events were recorded.
#[derive(Debug)]
pub struct Witness {
    /// How long the loop spun, in ns.
    pub span: f64,
    /// Time in gaps, in ns.
    pub lost: f64,
    /// Gaps, and time in ns, of which it is not known what ran, as events were dropped.
    pub unknown: (usize, f64),
    /// Gaps without any event, and time in ns outside of this kernel, in others too.
    pub outside: (usize, f64),
    /// Rates in Hz of periodic trains among the gaps without events.
    pub trains: Vec<f64>,
    /// The share of the time that the hypervisor told it had taken.
    pub steal: Option<f64>,
    /// System management interrupts that the processor counted, where that may be asked.
    pub management: Option<u64>,
    /// The clock that stamped the events, by its name in clock_gettime(2).
    pub clock: String,
    /// When each run was, in ns of that clock: its beginning and its end.
    pub runs: Vec<[f64; 2]>,
    /// Every cause, the one that took most first; their times are the time in gaps.
    pub takers: Vec<Taker>,
    /// By cgroup: time of its tasks in ns, without the cost of events; the one that took most first.
    pub cgroups: Vec<(String, f64)>,
    /// Every gap, in the order of time.
    pub gaps: Vec<WitnessedGap>,
    /// The share of each stretch of the span that was lost.
    pub over_time: Vec<f64>,
    /// How many events it has.
    pub events: EventCounts,
    /// Tracepoints that the kernel refused.
    pub refused: Vec<String>,
    /// True if threads have other numbers than those of this program's namespace of processes.
    pub foreign: bool,
    /// What recording an event costs; none where it was not measured.
    pub event_cost: Option<RecordingCost>,
}

/// How many events of the kernel there are, and how many are missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// Events that were recorded.
    pub recorded: u64,
    /// Events of the CPU that were dropped.
    pub dropped: u64,
    /// Wake-ups by other CPUs that were dropped: their wakers have no name.
    pub wakings_dropped: u64,
}

impl EventCounts {
    /// Adds those of a run.
    pub(super) fn add(&mut self, events: &KernelEvents) {
        self.recorded += events.time.len() as u64;
        self.dropped = self.dropped.saturating_add(events.dropped);
        self.wakings_dropped = self.wakings_dropped.saturating_add(events.wakings.dropped);
    }
}

/// What recording an event costs, in ns, each between the limits of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordingCost {
    /// The first event since the kernel was entered.
    pub first: [f64; 3],
    /// Each further one.
    pub further: [f64; 3],
}

impl RecordingCost {
    /// Medians over batches of the difference between one event and none, and between two and one; none where there are no batches.
    pub(super) fn new(costs: &[&EventCost]) -> Option<Self> {
        let between = |of: fn(&EventCost) -> [&[Nanos]; 2]| {
            let mut all = Vec::new();
            for cost in costs {
                let ([less, more], calls) = (of(cost), f64::from(cost.calls.max(1)));
                all.extend(less.iter().zip(more).map(|(less, more)| (more.as_f64() - less.as_f64()) / calls));
            }
            all.truncate(BATCHES);
            median_of_runs(&all).map(|cost| [cost.interval.low, cost.point, cost.interval.high])
        };
        Some(Self {
            first: between(|cost| [&cost.none, &cost.one])?,
            further: between(|cost| [&cost.one, &cost.two])?,
        })
    }

    /// Of so many events, of which some came first.
    fn total(&self, events: u64, entries: u64) -> [f64; 3] {
        let (first, further) = (entries as f64, events.saturating_sub(entries) as f64);
        [0, 1, 2].map(|at| first * self.first[at] + further * self.further[at])
    }
}

/// A cause with all its occurrences.
#[derive(Debug)]
pub struct Taker {
    /// What it is.
    pub cause: Cause,
    /// How often.
    pub count: usize,
    /// Own time in ns, with the cost of the events in it.
    pub total: f64,
    /// Events in it.
    pub events: u64,
    /// Of them, the first since the kernel was entered.
    pub entries: u64,
    /// Own times of its occurrences, in ns.
    pub lengths: Sorted,
    /// Who woke it, for tasks, or had set it, for timers: how often, the most frequent first.
    pub woken_by: Vec<(String, usize)>,
    /// The share of each stretch of the span, one after the other.
    pub over_time: Vec<f64>,
}

/// One gap with its parts.
#[derive(Debug)]
pub struct WitnessedGap {
    /// When it began, in ns from the beginning.
    pub start: f64,
    /// The same on the clock that stamped the events.
    pub stamp: f64,
    /// How long it was, in ns.
    pub length: f64,
    /// Its parts in the order of time: cause and ns.
    pub parts: Vec<(Cause, f64)>,
}

impl Witness {
    /// Share of the lost time, and of the gaps, of which it is known what had the CPU or that nothing of this kernel did.
    #[must_use]
    pub fn named(&self) -> [f64; 2] {
        let share = |part: f64, all: f64| 1.0 - part / all.max(1.0);
        [share(self.unknown.1, self.lost), share(self.unknown.0 as f64, self.gaps.len() as f64)]
    }

    /// The longest gaps, longest first.
    #[must_use]
    pub fn longest(&self) -> Vec<&WitnessedGap> {
        let mut all: Vec<&WitnessedGap> = self.gaps.iter().collect();
        largest_first(&mut all, |one| one.length);
        all.truncate(LONGEST);
        all
    }

    /// Time that recording took, in ns, by the cost of an event.
    #[must_use]
    pub fn own(&self) -> Option<[f64; 3]> {
        let cost = self.event_cost?;
        let own = |taker: &Taker| taker.recording(cost);
        Some(self.takers.iter().map(own).fold([0.0; 3], |sum, own| [0, 1, 2].map(|at| sum[at] + own[at])))
    }
}

impl Taker {
    /// Own time in ns, without the cost of its events.
    #[must_use]
    pub fn net(&self, event_cost: Option<RecordingCost>) -> f64 {
        self.total - event_cost.map_or(0.0, |cost| self.recording(cost)[1])
    }

    /// Time in it that recording its events took, in ns: no more than all of it.
    fn recording(&self, cost: RecordingCost) -> [f64; 3] {
        cost.total(self.events, self.entries).map(|own| own.min(self.total))
    }
}

/// One run: its gaps with their parts.
struct Run {
    span: f64,
    start: Vec<f64>,
    length: Vec<f64>,
    slices: Slices,
    trains: Vec<f64>,
    events: KernelEvents,
    steal: Option<f64>,
}

impl Run {
    /// None where the trace is damaged or has no events.
    fn from_trace(trace: &GapTrace, cpu: u32, steal: Option<f64>) -> Option<Self> {
        let columns = gaps_of(trace)?;
        let events = trace.events.as_deref()?;
        if !is_whole(events) || trace.span.get() <= 0 {
            return None;
        }
        let found = tick::trains(&columns.view());
        if found.tick == Err(tick::NotFound::Damaged) {
            return None;
        }
        let (start, length) = (columns.start.clone(), columns.length.clone());
        let slices = Walk::cut(events, cpu, &start, &length);
        let is_outside = |gap: usize| {
            slices.gaps[gap].iter().all(|slice| slices.occurrences[slice.occurrence].cause == Cause::Outside)
        };
        let is_foreign = |train: usize| {
            let own: Vec<bool> =
                (0..start.len()).filter(|gap| found.of[*gap] == Some(train)).map(is_outside).collect();
            own.iter().filter(|outside| **outside).count() as f64 > WITHOUT * own.len() as f64
        };
        let foreign = (0..found.all.len()).filter(|train| is_foreign(*train));
        let trains = foreign.map(|train| found.all[train].frequency).collect();
        let (span, events) = (trace.span.as_f64(), events.clone());
        Some(Self { span, start, length, slices, trains, events, steal })
    }
}

/// What the witness saw in all its runs, as if they had been one; none where there are no such runs. Else the reason why it saw nothing.
#[must_use]
pub(super) fn summarize_witness(recording: &Recording) -> Option<Result<Witness, String>> {
    recording.runs.iter().find(|run| run.planned.probe.as_str() == WITNESS)?;
    let (runs, why) = runs_of(recording);
    Some(if runs.is_empty() {
        Err(why.unwrap_or_else(|| "no run of it was made".to_owned()))
    } else {
        Ok(joined(runs))
    })
}

/// The share of the CPU that a cause of this name had in each run, less what recording it took.
#[must_use]
pub fn shares_by_run(recording: &Recording, cause: &str) -> Vec<f64> {
    let share = |run: Run| {
        let witness = joined(vec![run]);
        let own = witness.takers.iter().filter(|taker| taker.cause.is_removed_with(cause));
        own.map(|taker| taker.net(witness.event_cost)).sum::<f64>() / witness.span
    };
    runs_of(recording).0.into_iter().map(share).collect()
}

/// Runs of the witness; and why one is none.
fn runs_of(recording: &Recording) -> (Vec<Run>, Option<String>) {
    let cpu = recording.sessions.first().map_or(0, |session| session.settled.cpu);
    let (mut runs, mut why) = (Vec::new(), None);
    for run in recording.runs.iter().filter(|run| run.planned.probe.as_str() == WITNESS) {
        match &run.status {
            Status::Ok => {
                let (before, observed) = (runs.len(), recording.observed(run, &run.planned.probe));
                let observed = observed.into_iter().flatten();
                runs.extend(observed.filter_map(|observed| match observed.observations {
                    Observations::Gaps(trace) => {
                        let steal = observed.segments.iter().map(|segment| Some(segment.steal?.as_f64()));
                        Run::from_trace(&trace, cpu, steal.sum())
                    }
                    _ => None,
                }));
                if runs.len() == before {
                    why = why.or_else(|| Some("its trace is damaged".to_owned()));
                }
            }
            status => why = why.or_else(|| status.reason().map(ToString::to_string)),
        }
    }
    (runs, why)
}

/// Runs one after the other, as if they had been one.
fn joined(runs: Vec<Run>) -> Witness {
    let cost =
        RecordingCost::new(&runs.iter().filter_map(|run| run.events.cost.as_ref()).collect::<Vec<_>>());
    let (mut span, mut gaps, mut occurrences) = (0.0, Vec::new(), Vec::new());
    let (mut trains, mut counts, mut refused) = (Vec::new(), EventCounts::default(), Vec::new());
    let (mut foreign, mut clock) = (false, String::new());
    let (mut steal, mut management, mut outside_gaps, mut times) = (Some(0.0), Some(0), 0, Vec::new());
    for run in runs {
        for (parts, (start, length)) in run.slices.gaps.iter().zip(run.start.iter().zip(&run.length)) {
            let part = |slice: &super::slices::Slice| {
                (run.slices.occurrences[slice.occurrence].cause.clone(), slice.length)
            };
            let parts: Vec<(Cause, f64)> = parts.iter().map(part).collect();
            outside_gaps += usize::from(parts.iter().all(|(cause, _)| *cause == Cause::Outside));
            let stamp = run.events.origin.as_f64() + start;
            gaps.push(WitnessedGap { start: span + start, stamp, length: *length, parts });
        }
        occurrences.extend(
            run.slices.occurrences.into_iter().map(|one| Occurrence { start: one.start + span, ..one }),
        );
        trains.extend(run.trains);
        let origin = run.events.origin.as_f64();
        times.push([origin, origin + run.span]);
        counts.add(&run.events);
        (refused, clock) = (run.events.refused, run.events.clock);
        foreign |= run.events.foreign;
        management = management.zip(run.events.management).map(|(all, own)| all + own);
        steal = steal.zip(run.steal).map(|(all, own)| all + own);
        span += run.span;
    }
    // Runs see the same train at rates that differ by less than they are known.
    trains.sort_unstable_by(f64::total_cmp);
    trains.dedup_by(|next, first| *next <= *first * (1.0 + super::SAME));
    let takers = takers(&occurrences, span, cost);
    let total = |cause: &Cause| {
        takers.iter().find(|taker| taker.cause == *cause).map_or((0, 0.0), |taker| (taker.count, taker.total))
    };
    let (unknown, outside) = (total(&Cause::Unknown), (outside_gaps, total(&Cause::Outside).1));
    let lengths: Vec<(f64, f64)> = gaps.iter().map(|gap| (gap.start, gap.length)).collect();
    let lost = lengths.iter().map(|(_, length)| length).sum();
    Witness {
        span,
        lost,
        unknown,
        outside,
        trains,
        steal: steal.map(|steal: f64| steal / span),
        management,
        clock,
        runs: times,
        cgroups: cgroups(&takers, cost),
        takers,
        gaps,
        over_time: over_time(span, lengths.into_iter()),
        events: counts,
        refused,
        foreign,
        event_cost: cost,
    }
}

/// By cause, the one that took most first.
pub(super) fn takers(occurrences: &[Occurrence], span: f64, cost: Option<RecordingCost>) -> Vec<Taker> {
    let mut by_cause: BTreeMap<&Cause, Vec<&Occurrence>> = BTreeMap::new();
    // A frame in which no time passed of its own is still an occurrence.
    for one in occurrences {
        by_cause.entry(&one.cause).or_default().push(one);
    }
    let mut takers: Vec<Taker> = by_cause.into_iter().map(|(cause, own)| taker(cause, &own, span)).collect();
    takers.retain(|taker| taker.total > 0.0);
    largest_first(&mut takers, |one| one.net(cost));
    takers
}

fn taker(cause: &Cause, own: &[&Occurrence], span: f64) -> Taker {
    let mut woken: BTreeMap<&str, usize> = BTreeMap::new();
    for by in own.iter().filter_map(|one| one.woken_by.as_deref()) {
        *woken.entry(by).or_default() += 1;
    }
    let mut woken_by: Vec<(String, usize)> =
        woken.into_iter().map(|(by, count)| (by.to_owned(), count)).collect();
    woken_by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Taker {
        cause: cause.clone(),
        count: own.len(),
        total: own.iter().map(|one| one.own).sum(),
        events: own.iter().map(|one| u64::from(one.events)).sum(),
        entries: own.iter().map(|one| u64::from(one.entries)).sum(),
        lengths: Sorted::new(own.iter().map(|one| one.own)),
        woken_by,
        over_time: over_time(span, own.iter().map(|one| (one.start, one.own))),
    }
}

/// Time of the tasks of each cgroup.
fn cgroups(takers: &[Taker], cost: Option<RecordingCost>) -> Vec<(String, f64)> {
    let mut all: BTreeMap<&str, f64> = BTreeMap::new();
    for taker in takers {
        if let Cause::Task { cgroup: Some(cgroup), .. } = &taker.cause {
            *all.entry(cgroup).or_default() += taker.net(cost);
        }
    }
    let mut all: Vec<(String, f64)> = all.into_iter().map(|(name, time)| (name.to_owned(), time)).collect();
    largest_first(&mut all, |one| one.1);
    all
}

//! Why wake-ups were late: the chain from a timer's time to the running thread, by the kernel's events beside the latest ones.

use super::cause::Cause;
use super::occupancy::is_whole;
use super::slices::{Wait, Walk};
use std::collections::{BTreeMap, BTreeSet};
use tickmark_stats::order::largest_first;
use tickmark_stats::summary::quantile_ranks;
use tickmark_store::{Recording, Run, Status};
use tickmark_wire::names::{LATE_WAKE, RECORDED_WAKE};
use tickmark_wire::{GapTrace, KernelEvents, Observations};

/// Quantiles of which is said what they would be without a cause.
pub const WITHOUT: [f64; 2] = [0.99, 0.999];
/// Causes of which it is said, the most frequent.
const CAUSES: usize = 8;
/// Reasons are those of wake-ups later than a length, where so many are.
const ENOUGH: usize = 10;

/// A link of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Link {
    /// From the time to where the kernel may end the wait later (timer slack).
    Slack,
    /// From there to the timer's interrupt.
    Interrupt,
    /// From the interrupt's beginning to the wake-up in it.
    Handler,
    /// To a wake-up by another CPU, whose chain is not known.
    Elsewhere,
    /// From the wake-up to the switch to the thread.
    Switch,
    /// From the switch to the thread's first reading of the clock.
    Return,
    /// From where slack ends to that reading, on a CPU that was idle, of which the kernel records nothing.
    Idle,
}

impl Link {
    /// For programs.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Slack => "timer_slack",
            Self::Interrupt => "interrupt",
            Self::Handler => "handler",
            Self::Elsewhere => "other_cpu",
            Self::Switch => "switch",
            Self::Return => "return",
            Self::Idle => "idle",
        }
    }
}

/// Where most of a late wake-up's time was: the link, and what had the CPU in it; none for timer slack and for what is not recorded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason {
    /// The link.
    pub link: Link,
    /// What had the CPU.
    pub cause: Option<Cause>,
}

/// A late wake-up. Times in ns.
#[derive(Debug)]
pub struct LateWake {
    /// Its time, from the run's beginning.
    pub at: f64,
    /// How late it was.
    pub late: f64,
    /// Its links, in the order of time.
    pub links: Vec<(Link, f64)>,
    /// What had the CPU since its time, and in which link, with the sum of each.
    pub parts: BTreeMap<Reason, f64>,
}

impl Reason {
    /// What had the CPU, where tasks of one name are one: most of a build's live for less than a second.
    fn label(&self) -> Option<String> {
        match self.cause.as_ref()? {
            Cause::Task { name, .. } => Some(name.clone()),
            other => Some(other.words()),
        }
    }
}

/// Late wake-ups with the same reason. Times in ns.
#[derive(Debug)]
pub struct LateGroup {
    /// The reason, of the latest of them.
    pub reason: Reason,
    /// How many tasks of that name it was, for tasks.
    pub tasks: usize,
    /// How many.
    pub count: usize,
    /// The latest of them.
    pub longest: f64,
    /// [`WITHOUT`] of all wake-ups, had the time of this cause not been: value, lower and upper limit.
    pub without: [Option<Quantile>; WITHOUT.len()],
}

/// A quantile in ns with the limits of its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// The quantile.
    pub value: f64,
    /// Its lower and upper limit; absent below the latest ones that were kept, and where there are too few for one.
    pub limits: [Option<f64>; 2],
}

/// Late wake-ups and their reasons.
#[derive(Debug)]
pub struct LateWakes {
    /// What was waited with, in words.
    pub title: String,
    /// Number of wake-ups.
    pub wake_ups: usize,
    /// How late those were at most that were not kept, ns.
    pub above: f64,
    /// Reasons are those of wake-ups later than this, ns; and how many these are.
    pub beyond: (f64, usize),
    /// Timer slack of the thread, ns.
    pub slack: f64,
    /// [`WITHOUT`] of all wake-ups.
    pub quantiles: [Option<Quantile>; WITHOUT.len()],
    /// The most frequent reason first.
    pub groups: Vec<LateGroup>,
    /// The latest first, without those of which no chain is known.
    pub latest: Vec<LateWake>,
    /// How late those without a chain were: the thread did not sleep, or events are missing.
    pub unknown: Vec<f64>,
    /// Events that are missing.
    pub dropped: u64,
}

impl LateWakes {
    /// [`WITHOUT`] of all wake-ups, had the time of one cause not been, in whichever link.
    #[must_use]
    pub fn without(&self, cause: &str, confidence: f64) -> [Option<Quantile>; WITHOUT.len()] {
        let lost = |wake: &LateWake| {
            let own = wake
                .parts
                .iter()
                .filter(|(reason, _)| reason.cause.as_ref().is_some_and(|own| own.is_removed_with(cause)));
            own.map(|(_, length)| length).sum::<f64>()
        };
        let mut all: Vec<f64> = self
            .latest
            .iter()
            .map(|wake| wake.late - lost(wake))
            .chain(self.unknown.iter().copied())
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        WITHOUT.map(|q| quantile(&all, self.wake_ups, self.above, q, confidence))
    }
}

/// Why wake-ups of a recording were later than a length in ns, or where few were, the latest ones; none where their events were not to be recorded, else the reason why they were not.
#[must_use]
pub fn summarize_late(
    recording: &Recording,
    length: f64,
    confidence: f64,
) -> Option<Result<LateWakes, String>> {
    let mut planned =
        recording.runs.iter().filter(|run| run.planned.probe.as_str() == RECORDED_WAKE).peekable();
    planned.peek()?;
    let cpu = recording.sessions.first().map_or(0, |session| session.settled.cpu);
    let metric = recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == RECORDED_WAKE);
    let title =
        metric.and_then(|metric| metric.title.rsplit_once(": ")).map_or("", |(_, own)| own).to_owned();
    let (mut runs, mut why) = (Vec::new(), None);
    for run in planned {
        match (&run.status, LateRun::from_run(recording, run, cpu)) {
            (Status::Ok, Some(run)) => runs.push(run),
            (Status::Ok, None) => why = why.or_else(|| Some("its recording is damaged".to_owned())),
            (status, _) => why = why.or_else(|| status.reason().map(ToString::to_string)),
        }
    }
    Some(if runs.is_empty() {
        Err(why.unwrap_or_else(|| "no run of it was made".to_owned()))
    } else {
        Ok(joined(title, runs, length, confidence))
    })
}

/// One run.
struct LateRun {
    wake_ups: usize,
    /// How late those were at most that were not kept, ns.
    above: f64,
    slack: f64,
    dropped: u64,
    late: Vec<Result<LateWake, f64>>,
}

impl LateRun {
    /// None where it is damaged.
    fn from_run(recording: &Recording, run: &Run, cpu: u32) -> Option<Self> {
        let observations = |name: &str| {
            let metric = recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name)?;
            Some(recording.observed(run, &metric.name).into_iter().flatten().next()?.observations)
        };
        match (observations(RECORDED_WAKE)?, observations(LATE_WAKE)?) {
            (Observations::Latencies(all), Observations::Gaps(trace)) => {
                Self::from_trace(all.len(), &trace, cpu)
            }
            _ => None,
        }
    }

    fn from_trace(wake_ups: usize, trace: &GapTrace, cpu: u32) -> Option<Self> {
        let events: &KernelEvents = trace.events.as_deref()?;
        let kept = trace.start.len();
        let is_whole = is_whole(events)
            && kept == trace.length.len()
            && trace.start.is_sorted()
            && kept <= wake_ups
            && trace.length.iter().all(|length| length.get() > 0);
        if !is_whole {
            return None;
        }
        let targets: Vec<f64> = trace.start.iter().map(|start| start.as_f64()).collect();
        let ends: Vec<f64> = trace
            .start
            .iter()
            .zip(&trace.length)
            .map(|(start, late)| start.as_f64() + late.as_f64())
            .collect();
        let slack = events.slack.map_or(0.0, |slack| slack.as_f64().max(0.0));
        let waits = Walk::waits(events, cpu, &targets, &ends);
        let late = waits.iter().zip(targets.iter().zip(&ends));
        let late = late.map(|(wait, (target, end))| LateWake::new(wait, [*target, *end], slack, cpu));
        let above = if kept < wake_ups { trace.threshold.as_f64() } else { 0.0 };
        Some(Self { wake_ups, above, slack, dropped: events.dropped, late: late.collect() })
    }
}

impl LateWake {
    /// Its lateness alone where no chain is known.
    fn new(wait: &Wait, [target, end]: [f64; 2], slack: f64, cpu: u32) -> Result<Self, f64> {
        let late = end - target;
        let due = (target + slack).min(end);
        let of = |bounds: &[(Link, f64, f64)]| Ok(Self::from_bounds(wait, [target, end], bounds));
        let (woken, resumed) = match (wait.woken, wait.resumed) {
            (Some(woken), Some(resumed)) => (woken, resumed),
            // The wake-up was in an interrupt of an idle CPU.
            (None, Some(resumed)) => {
                let due = due.min(resumed);
                return of(&[
                    (Link::Slack, target, due),
                    (Link::Switch, due, resumed),
                    (Link::Return, resumed, end),
                ]);
            }
            _ if wait.is_idle => return of(&[(Link::Slack, target, due), (Link::Idle, due, end)]),
            _ => return Err(late),
        };
        let is_here = woken.cpu == Some(cpu);
        let woken_at = woken.at.clamp(target, resumed);
        let interrupt = woken.interrupt.unwrap_or(woken_at).clamp(target, woken_at);
        let due = due.min(if is_here { interrupt } else { woken_at });
        let (first, second) =
            if is_here { (Link::Interrupt, Link::Handler) } else { (Link::Elsewhere, Link::Elsewhere) };
        of(&[
            (Link::Slack, target, due),
            (first, due, interrupt.max(due)),
            (second, interrupt.max(due), woken_at),
            (Link::Switch, woken_at, resumed),
            (Link::Return, resumed, end),
        ])
    }

    /// The links, each from when to when, with what had the CPU in them.
    fn from_bounds(wait: &Wait, [target, end]: [f64; 2], bounds: &[(Link, f64, f64)]) -> Self {
        let mut parts: BTreeMap<Reason, f64> = BTreeMap::new();
        let mut links: Vec<(Link, f64)> = Vec::new();
        for (link, from, to) in bounds.iter().copied().filter(|(_, from, to)| to > from) {
            match links.last_mut().filter(|(last, _)| *last == link) {
                Some((_, sum)) => *sum += to - from,
                None => links.push((link, to - from)),
            }
            if [Link::Slack, Link::Idle].contains(&link) {
                parts.insert(Reason { link, cause: None }, to - from);
                continue;
            }
            for (cause, start, length) in &wait.parts {
                let own = (start + length).min(to) - start.max(from);
                if own > 0.0 {
                    *parts.entry(Reason { link, cause: Some(cause.clone()) }).or_default() += own;
                }
            }
        }
        Self { at: target, late: end - target, links, parts }
    }

    /// What most of its time was.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        self.parts.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(reason, _)| reason)
    }

    /// Its lateness, had the time of a cause not been, in whichever link.
    fn without(&self, removed: &Reason) -> f64 {
        let is_same = |reason: &Reason| match removed.label() {
            None => reason.link == removed.link && reason.cause.is_none(),
            label => reason.label() == label,
        };
        let own = self.parts.iter().filter(|(reason, _)| is_same(reason));
        self.late - own.map(|(_, length)| length).sum::<f64>()
    }
}

fn joined(title: String, runs: Vec<LateRun>, length: f64, confidence: f64) -> LateWakes {
    let above = runs.iter().map(|run| run.above).fold(0.0, f64::max);
    let slack = runs.iter().map(|run| run.slack).fold(0.0, f64::max);
    let wake_ups = runs.iter().map(|run| run.wake_ups).sum();
    let dropped = runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.dropped));
    let (mut latest, mut others) = (Vec::new(), Vec::new());
    for late in runs.into_iter().flat_map(|run| run.late) {
        match late {
            Ok(wake) if wake.late >= above => latest.push(wake),
            Err(late) if late >= above => others.push(late),
            _ => {}
        }
    }
    largest_first(&mut latest, |one| one.late);
    let tail = |late: &dyn Fn(&LateWake) -> f64| {
        let mut all: Vec<f64> = latest.iter().map(late).chain(others.iter().copied()).collect();
        all.sort_unstable_by(f64::total_cmp);
        WITHOUT.map(|q| quantile(&all, wake_ups, above, q, confidence))
    };
    let count = latest.iter().filter(|wake| wake.late > length).count();
    let beyond = if count >= ENOUGH && length > above { (length, count) } else { (above, latest.len()) };
    let mut by_reason: BTreeMap<_, Vec<(&Reason, f64)>> = BTreeMap::new();
    // The latest come first.
    for (reason, late) in latest[..beyond.1].iter().filter_map(|wake| Some((wake.reason()?, wake.late))) {
        by_reason.entry((reason.link, reason.label())).or_default().push((reason, late));
    }
    let mut by_reason: Vec<_> = by_reason.into_values().collect();
    by_reason.sort_by(|a, b| b.len().cmp(&a.len()).then(b[0].1.total_cmp(&a[0].1)));
    let group = |(number, own): (usize, Vec<(&Reason, f64)>)| LateGroup {
        reason: own[0].0.clone(),
        tasks: own.iter().map(|(reason, _)| &reason.cause).collect::<BTreeSet<_>>().len(),
        count: own.len(),
        longest: own[0].1,
        without: if number < CAUSES { tail(&|wake| wake.without(own[0].0)) } else { [None; WITHOUT.len()] },
    };
    let groups = by_reason.into_iter().enumerate().map(group).collect();
    let quantiles = tail(&|wake| wake.late);
    LateWakes { title, wake_ups, above, beyond, slack, quantiles, groups, latest, unknown: others, dropped }
}

/// A quantile of so many values, of which the latest are `known`, ascending, and the others no later than `above`; none where it is among
/// those, or not one value is expected beyond it.
pub(super) fn quantile(
    known: &[f64],
    wake_ups: usize,
    above: f64,
    q: f64,
    confidence: f64,
) -> Option<Quantile> {
    let at = |rank: usize| {
        let behind = wake_ups.checked_sub(rank + 1)?;
        // What is no later than the others may be among them.
        known.len().checked_sub(behind + 1).map(|at| known[at]).filter(|late| *late > above)
    };
    let enough = wake_ups as f64 * (1.0 - q) >= 1.0;
    let value = at((wake_ups.saturating_sub(1) as f64 * q) as usize).filter(|_| enough)?;
    let ranks = quantile_ranks(wake_ups, q, confidence);
    Some(Quantile {
        value,
        limits: [ranks.and_then(|ranks| at(ranks.0)), ranks.and_then(|ranks| at(ranks.1))],
    })
}

#[cfg(test)]
mod tests;

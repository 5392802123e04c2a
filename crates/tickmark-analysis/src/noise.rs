//! Interruptions of a spinning loop: each gap is named by the kernel's counters in it, by the trains that it belongs to, and by the CPU
//! time that the loop itself was given.

mod cause;
mod late;
mod names;
mod occupancy;
mod slices;
mod slowest;
mod watched;
mod witness;

pub(crate) use cause::REAL_TIME_THREADS;
pub use cause::{Cause, OTHER_TASKS};
pub use late::{LateGroup, LateWake, LateWakes, Link, Quantile, Reason, WITHOUT, summarize_late};
pub use names::{Evidence, GapCause};
pub use occupancy::{Occupancy, summarize_occupancy};
pub use slowest::{Slowest, SlowestGroup, summarize_slowest};
pub use witness::{EventCounts, RecordingCost, Taker, Witness, WitnessedGap, shares_by_run};

use crate::sample::{NoFigure, Sample};
use std::collections::BTreeMap;
use tickmark_stats::order::largest_first;
use tickmark_stats::tick::{Cost, Train};
use tickmark_stats::{Sorted, median, student};
use tickmark_store::{Recording, Status};
use tickmark_wire::Observations;
use tickmark_wire::names::{OSNOISE_INTERRUPTS, OSNOISE_LOST, TICK};
use watched::Watched;

/// The longest gaps that are shown.
const LONGEST: usize = 10;
/// Stretches of time whose loss is told apart.
const STRETCHES: usize = 60;
/// How far the rates of one train may be apart in two runs, as a share.
const SAME: f64 = 1e-4;

/// The gaps of the loop, named and summed.
#[derive(Debug)]
pub struct Noise {
    /// The CPU.
    pub cpu: u32,
    /// How long it spun, in ns.
    pub span: f64,
    /// Gaps longer than this were seen, in ns.
    pub threshold: f64,
    /// Share of the span that reading the kernel's counters took; none where they were not read.
    pub looked: Option<f64>,
    /// The tick, or why there is none.
    pub tick: Result<Train, NoFigure>,
    /// Average time of a tick, ns, between the limits of its 95 % confidence interval.
    pub cost: Option<[f64; 3]>,
    /// Changes during the watch, in words: a CPU that went offline gives its loop to another.
    pub changed: Vec<String>,
    /// The kernel's counts over the same time.
    pub accounts: Accounts,
    /// Results of the kernel's osnoise tracer where it was requested, or the reason why there are none.
    pub osnoise: Option<Result<Osnoise, String>>,
    /// What the kernel's own events said beside other runs of the loop; the reason where they could not be recorded, none where they were not
    /// to be.
    pub witness: Option<Result<Witness, String>>,
    /// Every kind of interruption, the one that took most first.
    pub kinds: Vec<Kind>,
    /// Every gap, in the order of time.
    pub gaps: Vec<Gap>,
    /// The share of each stretch of the span that was lost, one after the other.
    pub over_time: Vec<f64>,
}

/// The kernel's own accounts of the loop and its CPU; none where one of the runs lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Accounts {
    /// The share of the time that the loop stood runnable without its CPU (schedstat).
    pub waited: Option<f64>,
    /// The share that the hypervisor told it had taken (/proc/stat), in steps of 10 ms.
    pub steal: Option<f64>,
    /// Interrupts of timers on the CPU, a second (/proc/interrupts).
    pub timer_interrupts: Option<f64>,
}

impl Accounts {
    fn from_runs(runs: &[Watched]) -> Self {
        let over = |time: fn(&Watched) -> f64, of: fn(&Watched) -> Option<f64>| {
            let time: f64 = runs.iter().map(time).sum();
            let all: f64 = runs.iter().map(of).sum::<Option<f64>>()?;
            (time > 0.0).then(|| all / time)
        };
        Self {
            waited: over(|run| run.wall, |run| run.waited),
            steal: over(|run| run.wall, |run| run.steal),
            timer_interrupts: over(|run| run.span / 1e9, |run| run.timer_interrupts),
        }
    }
}

/// Findings of the osnoise tracer on the same CPU, alternating with the loop: medians of its periods.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Osnoise {
    /// The share of the CPU that was lost.
    pub lost: f64,
    /// Interrupts a second.
    pub interrupts: f64,
}

impl Osnoise {
    /// None where it was not asked.
    fn from_recording(recording: &Recording) -> Option<Result<Self, String>> {
        let sample = |name: &str| {
            let metric = recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name)?;
            Some(Sample::from_recording(recording, metric))
        };
        let (lost, interrupts) = (sample(OSNOISE_LOST)?, sample(OSNOISE_INTERRUPTS)?);
        let value = |sample: &Sample<'_>| median(sample.runs.iter().map(|run| run.value));
        Some(
            value(&lost)
                .zip(value(&interrupts))
                .map(|(lost, interrupts)| Self { lost, interrupts })
                .ok_or_else(|| {
                    lost.failures
                        .first()
                        .and_then(|failed| failed.reason())
                        .unwrap_or("no run of it was made")
                        .to_owned()
                }),
        )
    }
}

/// All gaps of one name.
#[derive(Debug)]
pub struct Kind {
    /// The name.
    pub what: GapCause,
    /// How many there were.
    pub count: usize,
    /// Time in them, in ns.
    pub total: f64,
    /// Their lengths, in ns, ascending.
    pub lengths: Sorted,
    /// The share of each stretch of the span that lies in them, one after the other.
    pub over_time: Vec<f64>,
}

/// One gap.
#[derive(Debug)]
pub struct Gap {
    /// When it began, in ns from the beginning.
    pub start: f64,
    /// How long it was, in ns.
    pub length: f64,
    /// Cause of the gap.
    pub what: GapCause,
}

impl Noise {
    /// Time in gaps, in ns.
    #[must_use]
    pub fn lost(&self) -> f64 {
        self.kinds.iter().map(|kind| kind.total).sum()
    }

    /// Causes other than the tick, the largest first: each with its share of the time.
    pub fn others(&self) -> impl Iterator<Item = (&GapCause, f64)> {
        let others = self.kinds.iter().filter(|kind| kind.what != GapCause::Tick);
        others.map(|kind| (&kind.what, kind.total / self.span))
    }

    /// The longest gaps, longest first.
    #[must_use]
    pub fn longest(&self) -> Vec<&Gap> {
        let mut all: Vec<&Gap> = self.gaps.iter().collect();
        largest_first(&mut all, |one| one.length);
        all.truncate(LONGEST);
        all
    }

    /// The share of that time of which it is known what had the CPU, and the share in which this kernel saw nothing.
    #[must_use]
    pub fn named(&self) -> [f64; 2] {
        let lost = self.lost().max(1.0);
        let of = |what: &GapCause| {
            self.kinds.iter().filter(|kind| kind.what == *what).fold(0.0, |sum, kind| sum + kind.total) / lost
        };
        [1.0 - of(&GapCause::Unknown) - of(&GapCause::Unseen), of(&GapCause::Unseen)]
    }

    /// Runs one after the other, as if they had been one.
    fn joined(cpu: u32, runs: Vec<Watched>) -> Option<Self> {
        let tick = middle(&runs)?;
        let cost = tick.as_ref().ok().and_then(|tick| average(tick, &runs));
        let accounts = Accounts::from_runs(&runs);
        let threshold = runs.iter().map(|run| run.threshold).fold(0.0, f64::max);
        let looked = runs.iter().map(|run| run.looked).sum::<Option<f64>>();
        let (mut span, mut gaps) = (0.0, Vec::new());
        for run in runs {
            gaps.extend(run.gaps.into_iter().map(|gap| Gap { start: gap.start + span, ..gap }));
            span += run.span;
        }
        same_trains(&mut gaps);
        let mut kinds: BTreeMap<&GapCause, Vec<&Gap>> = BTreeMap::new();
        for gap in &gaps {
            kinds.entry(&gap.what).or_default().push(gap);
        }
        let kind = |(what, own): (&GapCause, Vec<&Gap>)| Kind {
            what: what.clone(),
            count: own.len(),
            total: own.iter().map(|gap| gap.length).sum(),
            lengths: Sorted::new(own.iter().map(|gap| gap.length)),
            over_time: over_time(span, own.iter().map(|gap| (gap.start, gap.length))),
        };
        let mut kinds: Vec<Kind> = kinds.into_iter().map(kind).collect();
        largest_first(&mut kinds, |one| one.total);
        let over_time = over_time(span, gaps.iter().map(|gap| (gap.start, gap.length)));
        Some(Self {
            cpu,
            span,
            threshold,
            looked: looked.map(|took| took / span),
            tick,
            cost,
            changed: Vec::new(),
            accounts,
            osnoise: None,
            witness: None,
            kinds,
            gaps,
            over_time,
        })
    }
}

/// The tick of most runs: that with the middle rate, and the middle of their costs; or why there is none.
fn middle(runs: &[Watched]) -> Option<Result<Train, NoFigure>> {
    let found: Vec<&Train> = runs.iter().filter_map(|run| run.tick.as_ref().ok()).collect();
    if found.len() * 2 < runs.len() || found.is_empty() {
        return runs.iter().find_map(|run| run.tick.as_ref().err().cloned()).map(Err);
    }
    let of = |value: &dyn Fn(&Train) -> Option<f64>| median(found.iter().filter_map(|train| value(train)));
    let length = |at: usize| of(&|train| Some(train.cost?.length[at]));
    let cost = || {
        Some(Cost {
            length: [length(0)?, length(1)?, length(2)?],
            share: of(&|train| Some(train.cost?.share))?,
        })
    };
    Some(Ok(Train {
        frequency: of(&|train| Some(train.frequency))?,
        phase: found.first()?.phase,
        filled: of(&|train| Some(train.filled))?,
        cost: cost(),
        confirmed: found.iter().all(|train| train.confirmed),
    }))
}

/// The mean of a train's cost with its confidence interval by batch means (Law and Kelton, Simulation Modeling and Analysis): Student's t
/// over the means of consecutive batches.
fn average(train: &Train, runs: &[Watched]) -> Option<[f64; 3]> {
    let means: Vec<f64> = runs.iter().flat_map(|run| &run.batches).copied().collect();
    let (count, own) = (means.len() as f64, train.cost?.share * 1e9 / train.frequency);
    let middle = means.iter().sum::<f64>() / count;
    let variance = means.iter().map(|mean| (mean - middle).powi(2)).sum::<f64>() / (count - 1.0);
    let half = student::t_point(0.025, count - 1.0) * (variance / count).sqrt();
    // What a gap holds of another train is no part of it.
    (means.len() >= watched::BATCHES).then_some([(own - half).max(0.0), own, own + half])
}

/// Trains of several runs that differ by less than their rates are known are one.
fn same_trains(gaps: &mut [Gap]) {
    let rate = |gap: &Gap| match gap.what {
        GapCause::Outside(Evidence::Train(rate)) => Some(rate),
        _ => None,
    };
    let mut rates: Vec<u64> = gaps.iter().filter_map(rate).collect();
    rates.sort_unstable();
    rates.dedup_by(|next, first| *next as f64 <= *first as f64 * (1.0 + SAME));
    for gap in gaps {
        if let GapCause::Outside(Evidence::Train(own)) = &mut gap.what {
            let first = rates[rates.partition_point(|rate| *rate <= *own) - 1];
            *own = first;
        }
    }
}

/// The share of each stretch that lies in gaps, which are given by their beginnings and lengths.
fn over_time(span: f64, gaps: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let stretch = span / STRETCHES as f64;
    let mut shares = vec![0.0; STRETCHES];
    for (start, length) in gaps {
        let (mut from, end) = (start, start + length);
        while from < end {
            let number = ((from / stretch) as usize).min(STRETCHES - 1);
            // The last stretch ends where the span does, whatever rounding says.
            let until = if number + 1 == STRETCHES { end } else { end.min((number + 1) as f64 * stretch) };
            shares[number] += (until - from) / stretch;
            from = until.max(from + stretch * 1e-9);
        }
    }
    shares
}

/// The noise of all runs of the tick's probe, as if they had been one; none where no whole trace is in it.
#[must_use]
pub fn summarize_noise(recording: &Recording) -> Option<Noise> {
    let own =
        recording.runs.iter().filter(|run| run.planned.probe.as_str() == TICK && run.status == Status::Ok);
    let mut changed: Vec<String> = Vec::new();
    for what in own.clone().filter_map(|run| run.outcome.as_ref()).flat_map(|outcome| &outcome.changed) {
        if !changed.contains(what) {
            changed.push(what.clone());
        }
    }
    let traces = own.flat_map(|run| {
        let observed = recording.observed(run, &run.planned.probe);
        observed.into_iter().flatten().filter_map(|observed| match observed.observations {
            Observations::Gaps(trace) => Some((trace, observed.segments)),
            _ => None,
        })
    });
    let cpu = recording.sessions.first().map_or(0, |session| session.settled.cpu);
    let runs: Vec<Watched> =
        traces.filter_map(|(trace, segments)| Watched::from_trace(&trace, &segments, recording)).collect();
    Noise::joined(cpu, runs).map(|noise| Noise {
        changed,
        osnoise: Osnoise::from_recording(recording),
        witness: witness::summarize_witness(recording),
        ..noise
    })
}

//! Gaps that one run of the loop observed.

use super::Gap;
use super::names::{Account, GapCause, Named};
use crate::sample::{NoFigure, gaps_of, refute};
use tickmark_stats::Sorted;
use tickmark_stats::order::smallest_first;
use tickmark_stats::tick::{self, Train, Trains};
use tickmark_store::Recording;
use tickmark_wire::{Counted, GapTrace, Nanos, Priority, Segment};

/// Batches of ticks whose means are taken for independent: what disturbs one tick often disturbs the next.
pub(super) const BATCHES: usize = 10;
/// Ticks of each batch at least.
const FEWEST: usize = 5;

pub(super) struct Watched {
    pub(super) span: f64,
    pub(super) threshold: f64,
    /// How long its CPU time was counted, in ns, and of that how long it waited for the CPU, and what the hypervisor had.
    pub(super) wall: f64,
    pub(super) waited: Option<f64>,
    pub(super) steal: Option<f64>,
    /// Interrupts of timers.
    pub(super) timer_interrupts: Option<f64>,
    /// Time that reading the counters took, ns; none where they were not read.
    pub(super) looked: Option<f64>,
    pub(super) tick: Result<Train, NoFigure>,
    /// Means of consecutive batches of ticks; none where there are too few.
    pub(super) batches: Vec<f64>,
    pub(super) gaps: Vec<Gap>,
}

impl Watched {
    /// None where the trace is damaged.
    pub(super) fn from_trace(trace: &GapTrace, segments: &[Segment], recording: &Recording) -> Option<Self> {
        let columns = gaps_of(trace)?;
        let mut trains = tick::trains(&columns.view());
        if trains.tick == Err(tick::NotFound::Damaged) || trace.span.get() <= 0 {
            return None;
        }
        // What the configured HZ contradicts is no tick, and no gap of it is named so.
        let refuted = trains.tick.ok().and_then(|tick| refute(&trains.all[tick], recording).err());
        if refuted.is_some() {
            trains.tick = Err(tick::NotFound::NoPeriod { counted: None });
        }
        let fact = |name: &str| recording.environment().and_then(|facts| facts.get(name));
        let account = Account {
            steal: fact("virtualisation") != Some("none"),
            interrupts: fact("kernel.config.IRQ_TIME_ACCOUNTING") != Some("y"),
            quotas: recording.sessions.iter().all(|session| session.settled.priority == Priority::Other),
            reserve: reserve(recording),
        };
        let (start, length) = (&columns.start, &columns.length);
        let view = columns.view();
        let named = Named { trace, gaps: &view, trains: &trains, account };
        let (names, away) = (named.each(), named.away());
        let gap = |((start, length), what): ((&f64, &f64), &GapCause)| Gap {
            start: *start,
            length: *length,
            what: what.clone(),
        };
        let mut gaps: Vec<Gap> = start.iter().zip(length).zip(&names).map(gap).collect();
        let in_readings = away.iter().map(|(reading, start, length)| Gap {
            start: *start,
            length: *length,
            what: names[columns.start.len() + reading].clone(),
        });
        gaps.extend(in_readings);
        smallest_first(&mut gaps, |one| one.start);
        let taken: f64 = away.iter().map(|(_, _, length)| length).sum();
        let took = |counted: &Counted| counted.took.iter().map(|took| took.as_f64()).sum::<f64>() - taken;
        let took = trace.counted.as_deref().map(took);
        let Trains { mut all, tick, of } = trains;
        let lengths: Vec<f64> = match tick {
            Ok(tick) => of
                .iter()
                .zip(length)
                .filter(|(of, _)| **of == Some(tick))
                .map(|(_, length)| *length)
                .collect(),
            Err(_) => Vec::new(),
        };
        let tick =
            tick.map_err(|why| refuted.unwrap_or(NoFigure::NoTick(why))).map(|tick| all.swap_remove(tick));
        Some(Self {
            span: trace.span.as_f64(),
            threshold: trace.threshold.as_f64(),
            wall: segments.iter().map(|segment| segment.wall.as_f64()).sum(),
            waited: sum(segments, |segment| segment.run_delay),
            steal: sum(segments, |segment| segment.steal),
            timer_interrupts: trace.timer_interrupts.map(|count| count as f64),
            looked: took,
            tick,
            batches: batches(&lengths),
            gaps,
        })
    }
}

/// Time that the kernel withholds from a real-time task in each period, and the period, ns; none at an ordinary priority, or where nothing
/// is withheld (sched(7), sched_rt_runtime_us; the fair server since Linux 6.12).
fn reserve(recording: &Recording) -> Option<(f64, f64)> {
    let number = |name: &str| recording.environment()?.get(name)?.parse::<f64>().ok();
    let is_ordinary = |session: &tickmark_wire::Hello| session.settled.priority == Priority::Other;
    if recording.sessions.is_empty() || recording.sessions.iter().any(is_ordinary) {
        return None;
    }
    let period = number("sched.rt_period_us").unwrap_or(1e6) * 1e3;
    let server = number("sched.fair_server_ns").filter(|ns| *ns > 0.0);
    let limit = number("sched.rt_runtime_us").filter(|us| *us >= 0.0).map(|us| period - us * 1e3);
    server.or(limit).filter(|reserve| *reserve > 0.0).map(|reserve| (reserve, period))
}

/// A time of all segments; none where one lacks it, or where there is none.
fn sum(segments: &[Segment], of: impl Fn(&Segment) -> Option<Nanos>) -> Option<f64> {
    let all: Option<f64> = segments.iter().map(|segment| Some(of(segment)?.as_f64())).sum();
    all.filter(|_| !segments.is_empty())
}

/// Batch lengths, limited at their 90th percentile, as in the train's share.
fn batches(lengths: &[f64]) -> Vec<f64> {
    let size = lengths.len() / BATCHES;
    let Some(most) = Sorted::new(lengths.iter().copied()).quantile(0.9).filter(|_| size >= FEWEST) else {
        return Vec::new();
    };
    let mean = |batch: &[f64]| batch.iter().map(|length| length.min(most)).sum::<f64>() / batch.len() as f64;
    lengths.chunks_exact(size).take(BATCHES).map(mean).collect()
}

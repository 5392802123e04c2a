//! From a recording to a figure a run: the step between what was observed and what is claimed.

mod modes;
mod without;

use tickmark_stats::contention::{Manner, Stretch};
use tickmark_stats::{Sorted, batches, curve, offset, tick};
use tickmark_store::{Recording, Run, Status};
use tickmark_wire::{Headline, Metric, Observations, Observed, Part, Point, Segment, Unit};

pub use modes::Apart;
use modes::of_one_mode;
pub use without::NoFigure;

/// What one run says of a metric. Times in ns.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Which round.
    pub round: u32,
    /// The headline: floor, median, smallest step.
    pub value: f64,
    /// Beside the floor: everything that happened, over all operations.
    pub mean: Option<f64>,
    /// CPU time of an operation, all processes of the probe together.
    pub cpu: Option<f64>,
    /// Batches disturbed, and all of them.
    pub disturbed: Option<(usize, usize)>,
    /// Batches that belong to another mode than the rest, by what happened in them.
    pub apart: Apart,
    /// The median batch, in ns.
    pub batch: Option<f64>,
    /// Bytes of memory or of a file that the work went over.
    pub over: u64,
    /// Whether the median stands in for the floor.
    pub few: bool,
    /// The share of the run that other tasks had.
    pub taken: f64,
    /// Whether they had more of it than an idle machine's own threads take.
    pub contended: bool,
    /// What was not the same at its end as at its beginning: clock source, CPUs.
    pub changed: Vec<String>,
    /// Steal time and the time over which it was counted.
    pub steal: (f64, f64),
    /// What one step of the last digit is worth, where another program printed the value.
    pub step: Option<f64>,
    /// What the metric's kind adds.
    pub detail: Detail,
}

/// What a kind of observation adds to its figures.
#[derive(Debug, Clone)]
pub enum Detail {
    /// Nothing.
    None,
    /// Latencies in ascending order, and how many were negative.
    Latencies(Sorted),
    /// The tick's train.
    Tick(tick::Train),
    /// Offsets to the other CPUs.
    Offsets(Vec<(u32, offset::Offset)>),
    /// Size, floor and mean of each point of a curve.
    Curve(Vec<(u64, f64, f64)>),
}

/// All runs of one metric.
#[derive(Debug, Clone)]
pub struct Sample<'a> {
    /// Which metric.
    pub metric: &'a Metric,
    /// Those with figures.
    pub runs: Vec<Figures>,
    /// How the runs without figures ended, each once.
    pub failures: Vec<&'a Status>,
    /// How many runs' observations hold no figure, and why.
    pub without: Option<(usize, NoFigure)>,
}

impl<'a> Sample<'a> {
    /// The runs of a metric in a recording. Runs of round 0 belong to the environment.
    pub fn of(recording: &'a Recording, metric: &'a Metric) -> Self {
        let mut sample = Self { metric, runs: Vec::new(), failures: Vec::new(), without: None };
        let own = recording.runs.iter().filter(|r| r.planned.probe == metric.name && r.planned.round > 0);
        for run in own {
            match &run.status {
                Status::Ok => match figures(recording, metric, run) {
                    Ok(figures) => sample.runs.push(figures),
                    Err(why) => sample.without = Some((sample.without.map_or(1, |(runs, _)| runs + 1), why)),
                },
                Status::Open => {}
                failed => sample.failures.push(failed),
            }
        }
        sample
    }
}

/// The figures of one run.
///
/// # Errors
/// Why the observations hold none.
pub fn figures(recording: &Recording, metric: &Metric, run: &Run) -> Result<Figures, NoFigure> {
    let observed = recording.observed(run);
    if observed.len() != run.observed.len() {
        return Err(NoFigure::Damaged);
    }
    let (mut taken, mut contended) = (0.0, false);
    for part in &observed {
        let (share, over) = contention(&part.segments, manner(recording, metric));
        // A guest that was booted to measure has no other tasks: what the kernel did, it did for the probe.
        let over = over && crate::instruction(recording).is_none();
        taken = f64::max(taken, share);
        contended |= over;
    }
    let whole = observed.iter().find(|part| part.part == Part::Whole).ok_or(NoFigure::NothingObserved)?;
    let plain = |value, detail| Figures {
        round: run.planned.round,
        value,
        mean: None,
        cpu: None,
        disturbed: None,
        apart: Apart::default(),
        batch: None,
        over: 0,
        few: false,
        taken,
        contended,
        changed: run.outcome.as_ref().map_or_else(Vec::new, |outcome| outcome.changed.clone()),
        steal: steal(&observed),
        step: None,
        detail,
    };
    match (&whole.observations, metric.headline) {
        (Observations::Batches(b), _) => {
            let parts = of_batches(&observed).ok_or(NoFigure::NoBatch)?;
            // The agent refuses a part that is too fast; a difference only exists here.
            let least = metric.physical_floor.as_nanos_f64();
            if parts.floor < least {
                return Err(NoFigure::BelowLimit { value: parts.floor, limit: least });
            }
            let figure = |cost| in_unit(cost, metric.unit, b.bytes);
            Ok(Figures {
                mean: Some(figure(parts.mean)),
                cpu: parts.cpu.filter(|_| metric.unit == Unit::Time),
                disturbed: Some(parts.disturbed),
                apart: parts.apart,
                batch: tickmark_stats::median(b.elapsed.iter().map(|e| e.as_f64())),
                over: b.over,
                few: parts.few,
                ..plain(figure(parts.floor), Detail::None)
            })
        }
        (Observations::Curve(points), headline) => {
            let less = observed.iter().find_map(|part| match &part.observations {
                Observations::Curve(points) if part.part == Part::Less => Some(points),
                _ => None,
            });
            let points = of_curve(points, less.map_or(&[], Vec::as_slice)).ok_or(NoFigure::NoPoint)?;
            let floors: Vec<(f64, f64)> = points.iter().map(|(at, floor, _)| (*at as f64, *floor)).collect();
            let value = match headline {
                Headline::Capacity => curve::capacity(&floors, TLB_MISS).ok_or(NoFigure::NoRise),
                Headline::Step => curve::step(&floors).ok_or(NoFigure::NoStep),
                Headline::Speedup => curve::speedup(&floors).ok_or(NoFigure::NoPoint),
                Headline::Farthest => farthest(&points, |(_, floor, _)| *floor).ok_or(NoFigure::NoPoint),
                _ => floors.last().map(|(_, floor)| *floor).ok_or(NoFigure::NoPoint),
            };
            let over = points.last().map_or(0, |(at, ..)| *at);
            let area = area(&whole.observations);
            let (apart, disturbed, few) = accounts(&observed);
            let figures = Figures {
                apart,
                disturbed: Some(disturbed),
                few,
                ..plain(value?, Detail::Curve(points.clone()))
            };
            Ok(match headline {
                Headline::Farthest => {
                    Figures { mean: farthest(&points, |(_, _, mean)| *mean), over, ..figures }
                }
                Headline::Speedup => Figures { over: area, ..figures },
                _ => figures,
            })
        }
        (Observations::Values(values), _) => {
            let value = tickmark_stats::median(values.values.iter().copied()).ok_or(NoFigure::NoValue)?;
            let (step, over) = (Some(values.step), values.over);
            Ok(Figures { mean: Some(value), step, over, ..plain(value, Detail::None) })
        }
        (Observations::Latencies(latencies), headline) => {
            let sorted = Sorted::new(latencies.iter().map(|l| l.as_f64()));
            let least = || sorted.as_slice().iter().copied().find(|step| *step > 0.0);
            let value = if headline == Headline::Minimum { least() } else { sorted.quantile(0.5) };
            Ok(plain(value.ok_or(NoFigure::NoClockStep)?, Detail::Latencies(sorted)))
        }
        (Observations::Gaps(trace), _) => {
            let column =
                |values: &[tickmark_wire::Nanos]| values.iter().map(|v| v.as_f64()).collect::<Vec<_>>();
            let (start, length) = (column(&trace.start), column(&trace.length));
            if start.len() != length.len() {
                return Err(NoFigure::Columns);
            }
            let gaps = tick::Gaps {
                span: trace.span.as_f64(),
                start: &start,
                length: &length,
                preempted: trace.preempted.as_deref().unwrap_or_default(),
                interrupts: trace.timer_interrupts.map(|count| count as f64),
            };
            let train = tick::find(&gaps).map_err(NoFigure::NoTick)?;
            refute(&train, recording)?;
            // What others had of a slot's neighbourhood may be in it: beside them its cost is not known.
            let cost = train.cost.filter(|_| !contended);
            Ok(plain(train.frequency, Detail::Tick(tick::Train { cost, ..train })))
        }
        (Observations::Exchanges(exchanges), _) => {
            let column = |legs: &[tickmark_wire::Nanos]| legs.iter().map(|l| l.as_f64()).collect::<Vec<_>>();
            let offsets: Vec<_> = exchanges
                .iter()
                .filter_map(|e| Some((e.cpu, offset::offset(&column(&e.out), &column(&e.back))?)))
                .collect();
            let worst = offsets.iter().map(|(_, o)| o.ahead.abs()).max_by(f64::total_cmp);
            Ok(plain(worst.ok_or(NoFigure::NoExchange)?, Detail::Offsets(offsets)))
        }
    }
}

/// The kernel's configured HZ, where it is known.
pub fn configured_hz(recording: &Recording) -> Option<f64> {
    recording.environment()?.get("kernel.config.HZ")?.parse().ok()
}

/// A tick that the kernel is not configured for is none.
fn refute(train: &tick::Train, recording: &Recording) -> Result<(), NoFigure> {
    let found = train.frequency;
    match configured_hz(recording) {
        Some(configured) if (found / configured - 1.0).abs() > 0.01 => {
            Err(NoFigure::OtherRate { found, configured })
        }
        _ => Ok(()),
    }
}

/// The median over the three largest sizes.
fn farthest(points: &[(u64, f64, f64)], of: fn(&(u64, f64, f64)) -> f64) -> Option<f64> {
    tickmark_stats::median(points.iter().rev().take(3).map(of))
}

/// Bytes that the points of a curve went over.
fn area(observations: &Observations) -> u64 {
    let over = |point: &Point| match &point.observations {
        Observations::Batches(b) => b.over,
        _ => 0,
    };
    match observations {
        Observations::Curve(points) => points.iter().map(over).max().unwrap_or(0),
        _ => 0,
    }
}

/// How much more than in the smallest set a load costs once its page is not in the first-level TLB, in ns: less
/// than the 7 cycles that a hit in the second level takes, more than what noise does.
const TLB_MISS: f64 = 0.4;
/// The cost of an operation, in ns, in the metric's unit.
fn in_unit(cost: f64, unit: Unit, bytes: u64) -> f64 {
    match unit {
        Unit::Throughput => bytes as f64 * 1e9 / cost,
        Unit::Frequency => 1e9 / cost,
        _ => cost,
    }
}

struct Parts {
    floor: f64,
    mean: f64,
    cpu: Option<f64>,
    disturbed: (usize, usize),
    apart: Apart,
    few: bool,
}

/// Whole, less what is taken off, plus what is added: figure by figure.
fn of_batches(observed: &[Observed]) -> Option<Parts> {
    let mut sum = Parts {
        floor: 0.0,
        mean: 0.0,
        cpu: Some(0.0),
        disturbed: (0, 0),
        apart: Apart::default(),
        few: false,
    };
    for part in observed {
        let Observations::Batches(b) = &part.observations else { continue };
        let (elapsed, apart) = of_one_mode(b);
        let f = batches::figures(&elapsed, b.iterations.get() as f64)?;
        let sign = part.part.sign();
        sum.floor += sign * f.floor;
        sum.mean += sign * f.mean;
        // The share of the time that was computing, of the mean cost: what the loop does between
        // batches falls out.
        sum.cpu = sum.cpu.zip(computing(&part.segments)).map(|(cpu, share)| cpu + sign * f.mean * share);
        sum.disturbed.0 += b.disturbed.len();
        sum.disturbed.1 += b.elapsed.len();
        sum.apart = sum.apart.plus(apart);
        sum.few |= f.few;
    }
    Some(sum)
}

/// Floor and mean of each point, less those of the same size in another curve.
fn of_curve(points: &[Point], less: &[Point]) -> Option<Vec<(u64, f64, f64)>> {
    let figures = |point: &Point| match &point.observations {
        Observations::Batches(b) => batches::figures(&of_one_mode(b).0, b.iterations.get() as f64),
        _ => None,
    };
    let of = |point: &Point| {
        let f = figures(point)?;
        let off = less.iter().find(|other| other.at == point.at).and_then(figures);
        let (floor, mean) = off.map_or((0.0, 0.0), |off| (off.floor, off.mean));
        Some((point.at, f.floor - floor, f.mean - mean))
    };
    let all: Vec<_> = points.iter().filter_map(of).collect();
    (!all.is_empty()).then_some(all)
}

/// Of all points of all curves: batches of other modes, batches disturbed and all of them, and whether a point has
/// too few for a floor.
fn accounts(observed: &[Observed]) -> (Apart, (usize, usize), bool) {
    let points = observed.iter().flat_map(|part| match &part.observations {
        Observations::Curve(points) => points.as_slice(),
        _ => &[],
    });
    let mut sum = (Apart::default(), (0, 0), false);
    for point in points {
        if let Observations::Batches(b) = &point.observations {
            sum.0 = sum.0.plus(of_one_mode(b).1);
            sum.1 = (sum.1.0 + b.disturbed.len(), sum.1.1 + b.elapsed.len());
            sum.2 |= b.elapsed.len() < batches::ENOUGH;
        }
    }
    sum
}

/// CPU time over wall time.
fn computing(segments: &[Segment]) -> Option<f64> {
    let wall: f64 = segments.iter().map(|s| s.wall.as_f64()).sum();
    let cpu: f64 = segments.iter().map(|s| s.cpu.as_f64() + s.others_cpu.as_f64()).sum();
    (wall > 0.0).then(|| cpu / wall)
}

/// Steal time, and the time over which it was counted, in ns.
fn steal(observed: &[Observed]) -> (f64, f64) {
    let counted =
        observed.iter().flat_map(|o| &o.segments).filter_map(|s| Some((s.steal?.as_f64(), s.wall.as_f64())));
    counted.fold((0.0, 0.0), |sum, (steal, wall)| (sum.0 + steal, sum.1 + wall))
}

fn manner(recording: &Recording, metric: &Metric) -> Manner {
    let cpus = recording.sessions.first().map_or(1, |hello| hello.settled.allowed.len());
    match (metric.roams, metric.sleeps) {
        (true, _) => Manner::Roams { cpus },
        (false, true) => Manner::Sleeps,
        (false, false) => Manner::Busy,
    }
}

/// The share that others had over all segments, and whether contended ones make up a third of the time.
fn contention(segments: &[Segment], manner: Manner) -> (f64, bool) {
    let stretch = |s: &Segment| Stretch {
        wall: s.wall.as_f64(),
        own: s.cpu.as_f64() + s.others_cpu.as_f64(),
        delay: s.run_delay.map(tickmark_wire::Nanos::as_f64),
        manner,
        runnable: s.runnable,
    };
    let wall: f64 = segments.iter().map(|s| s.wall.as_f64()).sum();
    if wall <= 0.0 {
        return (0.0, false);
    }
    let weigh = |share: &dyn Fn(&Stretch) -> f64| {
        segments.iter().map(stretch).map(|s| share(&s) * s.wall).sum::<f64>() / wall
    };
    let contended = weigh(&|s| f64::from(u8::from(s.contended())));
    (weigh(&Stretch::taken), contended > 1.0 / 3.0)
}

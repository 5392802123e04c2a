//! From a recording to a figure a run: the step between what was observed and what is claimed.

use crate::store::{Recording, Run, Status};
use tickmark_stats::contention::Stretch;
use tickmark_stats::{Sorted, batches, offset, tick};
use tickmark_wire::{Headline, Metric, Observations, Observed, Part, Segment};

/// What one run says of a metric. Times in ns.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    pub(crate) round: u32,
    /// The headline: floor, median, smallest step.
    pub(crate) value: f64,
    /// Beside the floor: everything that happened, over all operations.
    pub(crate) mean: Option<f64>,
    /// CPU time of an operation, all processes of the probe together.
    pub(crate) cpu: Option<f64>,
    /// Batches disturbed, and all of them.
    pub(crate) disturbed: Option<(usize, usize)>,
    /// Whether the median stands in for the floor.
    pub(crate) few: bool,
    /// The share of the run that other tasks had.
    pub(crate) taken: f64,
    /// Whether they had more of it than an idle machine's own threads take.
    pub(crate) contended: bool,
    /// Steal time and the time over which it was counted.
    pub(crate) steal: (f64, f64),
    /// What the metric's kind adds.
    pub(crate) detail: Detail,
}

/// What a kind of observation adds to its figures.
#[derive(Debug, Clone)]
pub(crate) enum Detail {
    None,
    /// Latencies in ascending order, and how many were negative.
    Latencies(Sorted),
    /// The tick's train.
    Tick(tick::Train),
    /// Offsets to the other CPUs.
    Offsets(Vec<(u32, offset::Offset)>),
}

/// All runs of one metric.
#[derive(Debug, Clone)]
pub(crate) struct Sample<'a> {
    pub(crate) metric: &'a Metric,
    pub(crate) runs: Vec<Figures>,
    /// How the runs without figures ended, each once.
    pub(crate) failures: Vec<&'a Status>,
    /// How many runs' observations hold no figure, and why.
    pub(crate) without: Option<(usize, String)>,
}

impl<'a> Sample<'a> {
    /// The runs of a metric in a recording. Runs of round 0 belong to the environment.
    pub(crate) fn of(recording: &'a Recording, metric: &'a Metric) -> Self {
        let mut sample = Self { metric, runs: Vec::new(), failures: Vec::new(), without: None };
        let own = recording.runs.iter().filter(|r| r.planned.probe == metric.name && r.planned.round > 0);
        for run in own {
            match &run.status {
                Status::Ok => match figures(metric, run) {
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
pub(crate) fn figures(metric: &Metric, run: &Run) -> Result<Figures, String> {
    let (mut taken, mut contended) = (0.0, false);
    for part in &run.observed {
        let (share, over) = contention(&part.segments, metric.sleeps);
        taken = f64::max(taken, share);
        contended |= over;
    }
    let whole = run.observed.iter().find(|part| part.part == Part::Whole).ok_or("nothing was observed")?;
    let plain = |value, detail| Figures {
        round: run.planned.round,
        value,
        mean: None,
        cpu: None,
        disturbed: None,
        few: false,
        taken,
        contended,
        steal: steal(&run.observed),
        detail,
    };
    match (&whole.observations, metric.headline) {
        (Observations::Batches(_), _) => {
            let parts = of_batches(&run.observed).ok_or("no batch was stamped")?;
            // The agent refuses a part that is too fast; a difference only exists here.
            let least = metric.physical_floor.as_nanos_f64();
            if parts.floor < least {
                return Err(format!("{:.3} ns is below the physical floor of {least} ns", parts.floor));
            }
            Ok(Figures {
                mean: Some(parts.mean),
                cpu: parts.cpu,
                disturbed: Some(parts.disturbed),
                few: parts.few,
                ..plain(parts.floor, Detail::None)
            })
        }
        (Observations::Latencies(latencies), headline) => {
            let sorted = Sorted::new(latencies.iter().map(|l| l.as_f64()));
            let least = || sorted.as_slice().iter().copied().find(|step| *step > 0.0);
            let value = if headline == Headline::Minimum { least() } else { sorted.quantile(0.5) };
            Ok(plain(value.ok_or("the clock made no step in the time")?, Detail::Latencies(sorted)))
        }
        (Observations::Gaps(trace), _) => {
            let column =
                |values: &[tickmark_wire::Nanos]| values.iter().map(|v| v.as_f64()).collect::<Vec<_>>();
            let (start, length) = (column(&trace.start), column(&trace.length));
            if start.len() != length.len() {
                return Err("its columns have different lengths".to_owned());
            }
            let gaps = tick::Gaps {
                span: trace.span.as_f64(),
                start: &start,
                length: &length,
                interrupts: trace.timer_interrupts.map(|count| count as f64),
            };
            let train = tick::find(&gaps).map_err(|why| why.to_string())?;
            Ok(plain(train.frequency, Detail::Tick(train)))
        }
        (Observations::Exchanges(exchanges), _) => {
            let column = |legs: &[tickmark_wire::Nanos]| legs.iter().map(|l| l.as_f64()).collect::<Vec<_>>();
            let offsets: Vec<_> = exchanges
                .iter()
                .filter_map(|e| Some((e.cpu, offset::offset(&column(&e.out), &column(&e.back))?)))
                .collect();
            let worst = offsets.iter().map(|(_, o)| o.ahead.abs()).max_by(f64::total_cmp);
            Ok(plain(worst.ok_or("no exchange")?, Detail::Offsets(offsets)))
        }
    }
}

struct Parts {
    floor: f64,
    mean: f64,
    cpu: Option<f64>,
    disturbed: (usize, usize),
    few: bool,
}

/// Whole, less what is taken off, plus what is added: figure by figure.
fn of_batches(observed: &[Observed]) -> Option<Parts> {
    let mut sum = Parts { floor: 0.0, mean: 0.0, cpu: Some(0.0), disturbed: (0, 0), few: false };
    for part in observed {
        let Observations::Batches(b) = &part.observations else { continue };
        let elapsed: Vec<f64> = b.elapsed.iter().map(|e| e.as_f64()).collect();
        let f = batches::figures(&elapsed, b.iterations.get() as f64)?;
        let sign = part.part.sign();
        sum.floor += sign * f.floor;
        sum.mean += sign * f.mean;
        // The share of the time that was computing, of the mean cost: what the loop does between
        // batches falls out.
        sum.cpu = sum.cpu.zip(computing(&part.segments)).map(|(cpu, share)| cpu + sign * f.mean * share);
        sum.disturbed.0 += b.disturbed.len();
        sum.disturbed.1 += b.elapsed.len();
        sum.few |= f.few;
    }
    Some(sum)
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

/// The share that others had over all segments, and whether contended ones make up a third of the time.
fn contention(segments: &[Segment], sleeps: bool) -> (f64, bool) {
    let stretch = |s: &Segment| Stretch {
        wall: s.wall.as_f64(),
        own: s.cpu.as_f64() + s.others_cpu.as_f64(),
        delay: s.run_delay.map(tickmark_wire::Nanos::as_f64),
        sleeps,
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

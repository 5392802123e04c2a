//! From a recording to a figure a run: the step between what was observed and what is claimed.

mod conditions;
mod kinds;
mod modes;
mod parts;
mod spread;
mod without;

use tickmark_stats::{Sorted, offset, tick};
use tickmark_store::{Recording, Run, Status};
use tickmark_wire::Metric;

pub(crate) use kinds::{gaps_of, refute};
pub use modes::SeparateModes;
pub use spread::Spread;
pub use without::{New, NoFigure};

/// Figures of a metric in one run. Times in ns.
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
    pub apart: SeparateModes,
    /// The median batch, in ns.
    pub batch: Option<f64>,
    /// Bytes of memory or of a file that the work went over.
    pub over: u64,
    /// True if the median stands in for the floor.
    pub few: bool,
    /// The share of the run that other tasks had.
    pub taken: f64,
    /// True if they had more of it than an idle machine's own threads take.
    pub contended: bool,
    /// Conditions that differed between its beginning and its end: clock source, CPUs.
    pub changed: Vec<String>,
    /// Steal time and the time over which it was counted.
    pub steal: (f64, f64),
    /// Value of one step of the last digit, where another program printed the value.
    pub step: Option<f64>,
    /// Additional figures of the metric's kind.
    pub detail: Detail,
}

/// Fewer values have no 99th percentile.
const TAILED: usize = 100;

impl Figures {
    /// The 99th percentile of what the run saw, where it kept enough of it.
    #[must_use]
    pub fn tail(&self) -> Option<f64> {
        match &self.detail {
            Detail::Latencies(sorted) | Detail::Gaps { lengths: sorted, .. }
                if sorted.as_slice().len() >= TAILED =>
            {
                sorted.quantile(0.99)
            }
            Detail::Spread(spread) if spread.count >= TAILED as u64 => Some(spread.quantile(0.99)),
            _ => None,
        }
    }
}

/// Additional figures of a kind of observation.
#[derive(Debug, Clone)]
pub enum Detail {
    /// Nothing.
    None,
    /// Latencies in ascending order, and how many were negative.
    Latencies(Sorted),
    /// The tick's train.
    Tick(tick::Train),
    /// Every gap of a spinning loop, whatever it was, and for how long it spun, in ns.
    Gaps {
        /// Their lengths, in ns, ascending.
        lengths: Sorted,
        /// The length of the loop, in ns.
        span: f64,
    },
    /// Offsets to the other CPUs.
    Offsets(Vec<(u32, offset::Offset)>),
    /// Size, floor and mean of each point of a curve.
    Curve(Vec<(u64, f64, f64)>),
    /// How often each of many values was seen.
    Spread(Spread),
    /// When each window began, in ns, and what was counted in it, a second.
    Rates(Vec<(f64, f64)>),
    /// Counts by name.
    Tally(Vec<(String, u64)>),
}

/// Sums over runs of the counts by name.
pub(crate) fn tallied(runs: &[Figures]) -> std::collections::BTreeMap<String, u64> {
    let mut sums = std::collections::BTreeMap::new();
    for run in runs {
        if let Detail::Tally(all) = &run.detail {
            all.iter().for_each(|(name, count)| *sums.entry(name.clone()).or_default() += count);
        }
    }
    sums
}

/// A function from a run to its figures.
type Read<'a> = &'a dyn Fn(&Recording, &Metric, &Run) -> Result<Figures, NoFigure>;

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
    /// Runs that were planned and did not end. An experiment has them where its blocks were not needed: they are not counted there.
    pub open: usize,
}

impl<'a> Sample<'a> {
    /// The runs of a metric in a recording. Runs of round 0 belong to the environment.
    pub fn from_recording(recording: &'a Recording, metric: &'a Metric) -> Self {
        Self::by(recording, metric, &figures)
    }

    /// The same, with all gaps of the tick's loop as its figures: they are there where no tick was found, too.
    pub fn of_gaps(recording: &'a Recording, metric: &'a Metric) -> Self {
        Self::by(recording, metric, &|recording, metric, run| {
            kinds::RunObservation::from_run(recording, metric, run)?.all_gaps()
        })
    }

    fn by(recording: &'a Recording, metric: &'a Metric, figures: Read<'_>) -> Self {
        let mut sample = Self { metric, runs: Vec::new(), failures: Vec::new(), without: None, open: 0 };
        let own = recording.runs_of(&metric.name).filter(|run| run.planned.round > 0);
        for run in own {
            match &run.status {
                Status::Ok => match figures(recording, metric, run) {
                    Ok(figures) => sample.runs.push(figures),
                    Err(why) => {
                        let beside = run.planned.metrics().next() != Some(&metric.name);
                        let why =
                            if beside && why == NoFigure::NothingObserved { NoFigure::NotTold } else { why };
                        let (runs, first) =
                            sample.without.take().map_or((0, None), |(runs, why)| (runs, Some(why)));
                        // What is broken is told before what was only not found.
                        let why = first.filter(|first| first.is_broken() || !why.is_broken()).unwrap_or(why);
                        sample.without = Some((runs + 1, why));
                    }
                },
                Status::Open => sample.open += usize::from(recording.meta.arm.is_none()),
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
    kinds::RunObservation::from_run(recording, metric, run)?.figures()
}

/// The kernel's configured HZ, where it is known.
pub fn configured_hz(recording: &Recording) -> Option<f64> {
    recording.environment()?.get("kernel.config.HZ")?.parse().ok()
}

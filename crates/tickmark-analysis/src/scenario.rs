//! Rows of timers that are due one soon after the other: how far off each is, by strategy.

use crate::sample::Sample;
use tickmark_stats::{Sorted, median, spread};
use tickmark_store::{Recording, Status};
use tickmark_wire::{Metric, Observations, names};

/// One row by one strategy. Times in ns.
#[derive(Debug)]
pub struct Scenario {
    /// Its metric.
    pub metric: String,
    /// In words: the row and the strategy.
    pub title: String,
    /// True if the row is the user's, and none of the document's.
    pub is_own: bool,
    /// Errors of its runs, or the reason why there are none.
    pub errors: Result<Errors, String>,
}

/// How far off the timers of a row were: early is negative.
#[derive(Debug)]
pub struct Errors {
    /// Each timer's, in the order in which they were due.
    pub timers: Vec<Timer>,
    /// Of all timers, early or late, ascending.
    pub absolute: Sorted,
    /// The mean of all, early ones negative.
    pub mean: f64,
    /// The mean of all but the first timer's, early or late: the document's figure. None where there is but one.
    pub rest: Option<f64>,
    /// The same of each run, and its medians of the first and of the last timer.
    pub each: Vec<RunErrors>,
    /// The earliest and the latest.
    pub ends: (f64, f64),
    /// The share that fired early.
    pub early: f64,
    /// How often the row was repeated.
    pub repeats: usize,
    /// The share of a CPU that it took, pauses included; the median of the runs.
    pub cpu: Option<f64>,
}

/// Errors of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunErrors {
    /// The median of the first timer's.
    pub first: f64,
    /// The median of the last timer's.
    pub last: f64,
    /// The mean of all but the first timer's, early or late.
    pub rest: Option<f64>,
}

/// One timer of a row.
#[derive(Debug)]
pub struct Timer {
    /// Its number, from 1.
    pub number: u64,
    /// Its errors, ascending; early is negative.
    pub errors: Sorted,
}

impl Errors {
    fn from_runs(runs: &[Vec<(u64, Vec<f64>)>], cpu: Option<f64>) -> Option<Self> {
        let first = runs.first()?;
        let timer = |(place, (number, _)): (usize, &(u64, Vec<f64>))| Timer {
            number: *number,
            errors: Sorted::new(runs.iter().filter_map(|run| run.get(place)).flat_map(|(_, e)| e).copied()),
        };
        let timers: Vec<Timer> = first.iter().enumerate().map(timer).collect();
        let all = || timers.iter().flat_map(|timer| timer.errors.as_slice()).copied();
        let count = all().count() as f64;
        let ends = (all().reduce(f64::min)?, all().reduce(f64::max)?);
        let repeats = timers.first()?.errors.as_slice().len();
        Some(Self {
            absolute: Sorted::new(all().map(f64::abs)),
            mean: all().sum::<f64>() / count,
            ends,
            rest: mean_of_rest(timers.iter().map(|timer| timer.errors.as_slice())),
            each: runs.iter().filter_map(|run| RunErrors::from_run(run)).collect(),
            early: all().filter(|error| *error < 0.0).count() as f64 / count,
            repeats,
            cpu,
            timers,
        })
    }
}

/// The mean error of all timers but the first, early or late.
fn mean_of_rest<'a>(timers: impl Iterator<Item = &'a [f64]>) -> Option<f64> {
    let errors: Vec<f64> = timers.skip(1).flatten().map(|error| error.abs()).collect();
    Some(spread(&errors)?.mean)
}

impl RunErrors {
    fn from_run(run: &[(u64, Vec<f64>)]) -> Option<Self> {
        let middle = |timer: Option<&(u64, Vec<f64>)>| median(timer?.1.iter().copied());
        let rest = mean_of_rest(run.iter().map(|(_, errors)| errors.as_slice()));
        Some(Self { first: middle(run.first())?, last: middle(run.last())?, rest })
    }
}

/// Every row and strategy of a recording, in the order of its plan.
#[must_use]
pub fn read_scenarios(recording: &Recording) -> Vec<Scenario> {
    let prefix = format!("{}.", names::SCENARIO);
    let own = recording.meta.plan.metrics.iter().filter(|metric| metric.name.as_str().starts_with(&prefix));
    own.map(|metric| scenario(recording, metric)).collect()
}

fn scenario(recording: &Recording, metric: &Metric) -> Scenario {
    let (mut runs, mut shares) = (Vec::new(), Vec::new());
    let made =
        recording.runs.iter().filter(|run| run.status == Status::Ok && run.planned.gives(&metric.name));
    for observed in made.flat_map(|run| recording.observed(run, &metric.name).into_iter().flatten()) {
        let Observations::Curve(points) = &observed.observations else { continue };
        let errors = points.iter().filter_map(|point| match &point.observations {
            Observations::Latencies(late) => {
                Some((point.at, late.iter().map(|late| late.as_f64()).collect()))
            }
            _ => None,
        });
        runs.push(errors.collect::<Vec<(u64, Vec<f64>)>>());
        let wall: f64 = observed.segments.iter().map(|segment| segment.wall.as_f64()).sum();
        let cpu: f64 = observed.segments.iter().map(|segment| segment.cpu.as_f64()).sum();
        shares.extend((wall > 0.0).then_some(cpu / wall));
    }
    let why = || {
        let failures = Sample::from_recording(recording, metric).failures;
        failures.first().and_then(|run| run.reason()).unwrap_or("no run of it was made").to_owned()
    };
    // What interrupts take is no part of a program's CPU time.
    let in_kernel = metric.name.as_str().contains(".kernel_");
    let cpu = median(shares).filter(|_| !in_kernel);
    let summary = Errors::from_runs(&runs, cpu).ok_or_else(why);
    let is_own = metric.name.as_str().starts_with(&format!("{}.own.", names::SCENARIO));
    Scenario { metric: metric.name.to_string(), title: metric.title.clone(), is_own, errors: summary }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_several_runs_are_those_of_each_timer() {
        let run = |off: f64| vec![(1, vec![100.0 + off, -50.0]), (2, vec![400.0, 300.0])];
        let errors = Errors::from_runs(&[run(0.0), run(10.0)], Some(0.2)).unwrap();
        assert_eq!(errors.timers[0].errors.as_slice(), [-50.0, -50.0, 100.0, 110.0]);
        assert_eq!((errors.repeats, errors.ends, errors.early), (4, (-50.0, 400.0), 0.25));
        assert!((errors.mean - 188.75).abs() < 1e-9);
        assert_eq!(errors.rest, Some(350.0));
        let run = |first| RunErrors { first, last: 350.0, rest: Some(350.0) };
        assert_eq!(errors.each, [run(25.0), run(30.0)]);
        assert_eq!(Errors::from_runs(&[vec![(1, vec![1.0])]], None).unwrap().rest, None);
        assert_eq!(errors.absolute.as_slice()[..2], [50.0, 50.0]);
        assert!(Errors::from_runs(&[], None).is_none() && Errors::from_runs(&[vec![]], None).is_none());
    }
}

//! Messages by their sizes: times, rates, the model of both, and what they cost the processor.

mod document;
mod law;
mod load;
mod settings;

pub use document::{Document, Latency, LongLoad, document};
pub use law::{Law, Packet, laws};
pub use load::{Load, PerMessage};
pub use settings::{Contrast, contrasts};

use crate::sample::Sample;
use load::Books;
use std::collections::BTreeMap;
use tickmark_stats::linear::{self, LineSegment};
use tickmark_stats::{Interval, Sorted, median};
use tickmark_store::{Recording, Run, Status};
use tickmark_wire::{Arguments, Host, Loads, Metric, Observations, names};

/// One benchmark over one transport.
#[derive(Debug)]
pub struct Comms {
    /// Its metric.
    pub metric: String,
    /// In words.
    pub title: String,
    /// The time of a message is the whole way over this: 2 for Comms1, in which one goes there and comes back; 4 for Comms2, in which four
    /// go.
    pub divisor: f64,
    /// Bytes of a packet, where a veth pair carried them.
    pub mtu: Option<u32>,
    /// Arguments of its probe.
    pub arguments: Arguments,
    /// Summary of its runs, or the reason why there is none.
    pub summary: Result<CommsSummary, String>,
}

/// Summary of the runs. Times in ns.
#[derive(Debug)]
pub struct CommsSummary {
    /// By size, ascending.
    pub rows: Vec<Row>,
    /// How many launches.
    pub runs: usize,
    /// In which round each was made: those of one round were made one after the other, in random order.
    pub rounds: Vec<u32>,
    /// The model of their medians; none of too few sizes.
    pub pieces: Option<Vec<LineSegment>>,
    /// Of each CPU, this side's first: its number, and how far the two meters were apart in all windows that count.
    pub cpus: Vec<Cpu>,
}

/// The meters of one CPU.
#[derive(Debug)]
pub struct Cpu {
    /// Its number.
    pub cpu: u32,
    /// Whose it is, where that is another host's.
    pub host: Option<Host>,
    /// How far counter and gaps were apart, in windows that count: median and 95th percentile, as shares of the CPU.
    pub apart: Option<(f64, f64)>,
    /// Windows, and those of them that were refused.
    pub windows: (usize, usize),
}

/// One size.
#[derive(Debug)]
pub struct Row {
    /// Bytes.
    pub size: u64,
    /// The time of a message: the median of the launches' medians.
    pub time: f64,
    /// From the fastest launch to the slowest, where there are several.
    pub launches: Option<Interval>,
    /// The whole way, of all messages that were kept: mean, 90th, 99th and 99.9th percentile; a percentile of too few is none.
    pub whole: RoundTripSummary,
    /// Load of each CPU.
    pub loads: Vec<Load>,
    /// Of each launch, in their order: median and mean of the whole way.
    pub each: Vec<[f64; 2]>,
}

/// The whole way there and back.
#[derive(Debug)]
pub struct RoundTripSummary {
    /// The median.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// Quantiles.
    pub quantiles: [(f64, Option<f64>); 3],
}

impl Row {
    /// Bytes a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.size as f64 * 1e9 / self.time
    }
}

/// Every benchmark of a recording, in the order of its plan.
#[must_use]
pub fn summarize_comms(recording: &Recording) -> Vec<Comms> {
    let prefix = format!("{}.", names::COMMS);
    let own = recording.meta.plan.metrics.iter().filter(|metric| {
        let name = metric.name.as_str();
        name.starts_with(&prefix) && !LOADS.iter().any(|end| name.ends_with(end))
    });
    own.map(|metric| comms(recording, metric)).collect()
}

/// A rate below this part of an earlier one is in a dip.
const DIP: f64 = 0.9;
/// Behind the name of a benchmark stand those of its loads.
const LOADS: [&str; 2] = [".cpu", ".cpu_there"];

fn comms(recording: &Recording, metric: &Metric) -> Comms {
    let name = metric.name.as_str();
    let divisor = if name.contains(".comms2.") { 4.0 } else { 2.0 };
    let runs: Vec<&Run> = recording
        .runs
        .iter()
        .filter(|run| run.status == Status::Ok && run.planned.gives(&metric.name))
        .collect();
    let curves: Vec<(u32, Curve)> =
        runs.iter().filter_map(|run| Some((run.planned.round, curve(recording, run, metric)?))).collect();
    let loads = LOADS.map(|end| {
        let own =
            recording.meta.plan.metrics.iter().find(|other| other.name.as_str() == format!("{name}{end}"));
        let of = |run: &&Run| own.and_then(|own| loads(recording, run, own));
        runs.iter().filter_map(of).collect::<Vec<Loads>>()
    });
    let why = || {
        let failures = Sample::from_recording(recording, metric).failures;
        failures.first().and_then(|run| run.reason()).unwrap_or("no run of it was made").to_owned()
    };
    let fact = recording.environment().and_then(|facts| facts.get("kernel.config.IRQ_TIME_ACCOUNTING"));
    let found = CommsSummary::from_curves(&curves, &loads, divisor, fact == Some("y")).ok_or_else(why);
    let argument = |name: &str| runs.first().and_then(|run| run.planned.arguments.get(name));
    let mtu = argument("link").filter(|link| *link == "veth").and_then(|_| argument("mtu")?.parse().ok());
    let arguments = runs.first().map(|run| run.planned.arguments.clone()).unwrap_or_default();
    Comms { metric: name.to_owned(), title: metric.title.clone(), divisor, mtu, arguments, summary: found }
}

/// By size, the whole ways.
type Curve = BTreeMap<u64, Vec<f64>>;

fn curve(recording: &Recording, run: &Run, metric: &Metric) -> Option<Curve> {
    let mut observed = recording.observed(run, &metric.name).into_iter().flatten();
    let points = observed.find_map(|found| match found.observations {
        Observations::Curve(points) => Some(points),
        _ => None,
    })?;
    let trips = points.into_iter().filter_map(|point| match point.observations {
        Observations::Latencies(trips) => Some((point.at, trips.iter().map(|trip| trip.as_f64()).collect())),
        _ => None,
    });
    Some(trips.collect())
}

fn loads(recording: &Recording, run: &Run, metric: &Metric) -> Option<Loads> {
    let mut observed = recording.observed(run, &metric.name).into_iter().flatten();
    observed.find_map(|found| match found.observations {
        Observations::Loads(loads) => Some(*loads),
        _ => None,
    })
}

fn mean(trips: &[f64]) -> f64 {
    trips.iter().sum::<f64>() / trips.len().max(1) as f64
}

impl CommsSummary {
    fn from_curves(
        curves: &[(u32, Curve)],
        loads: &[Vec<Loads>; 2],
        divisor: f64,
        apart: bool,
    ) -> Option<Self> {
        let books: Vec<Books> = loads.iter().filter_map(|loads| Books::from_launches(loads, apart)).collect();
        let sizes: Vec<u64> = curves.first()?.1.keys().copied().collect();
        let row = |size: &u64| {
            let launches: Vec<&Vec<f64>> = curves.iter().filter_map(|(_, curve)| curve.get(size)).collect();
            let medians = || launches.iter().filter_map(|trips| median(trips.iter().copied()));
            let all = Sorted::new(launches.iter().flat_map(|trips| trips.iter().copied()));
            let count = all.as_slice().len() as f64;
            let quantile = |q: f64| (q, all.quantile(q).filter(|_| count * (1.0 - q) >= 1.0));
            let ends = (medians().reduce(f64::min)?, medians().reduce(f64::max)?);
            let several = medians().count() > 1;
            Some(Row {
                size: *size,
                time: median(medians())? / divisor,
                launches: several.then_some(Interval { low: ends.0 / divisor, high: ends.1 / divisor }),
                whole: RoundTripSummary {
                    median: all.quantile(0.5)?,
                    mean: all.as_slice().iter().sum::<f64>() / count,
                    quantiles: [0.9, 0.99, 0.999].map(quantile),
                },
                loads: books.iter().map(|books| books.at(*size)).collect(),
                each: launches
                    .iter()
                    .filter_map(|trips| Some([median(trips.iter().copied())?, mean(trips)]))
                    .collect(),
            })
        };
        let rows: Vec<Row> = sizes.iter().map(row).collect::<Option<_>>()?;
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (row.size as f64, row.time)).collect();
        let cpus = books.iter().map(Books::cpu).collect();
        let rounds = curves.iter().map(|(round, _)| *round).collect();
        Some(Self { runs: curves.len(), rounds, pieces: linear::pieces(&points), cpus, rows })
    }

    /// The largest rate that was measured, bytes a second, and the size that has it.
    #[must_use]
    pub fn fastest(&self) -> Option<(u64, f64)> {
        let rates = self.rows.iter().map(|row| (row.size, row.rate()));
        rates.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Sizes at which the rate falls to less than nine tenths of what a smaller one had, and the size from which it is regained: dips. The
    /// intervals of the launches are apart, where there are several.
    #[must_use]
    pub fn dips(&self) -> Vec<(u64, Option<u64>)> {
        let mut dips: Vec<(u64, Option<u64>)> = Vec::new();
        // The best that every launch had so far.
        let mut sure: f64 = 0.0;
        for row in &self.rows {
            let rate = |time: f64| row.size as f64 * 1e9 / time;
            let ends = row.launches.unwrap_or(Interval { low: row.time, high: row.time });
            let inside = dips.last_mut().filter(|dip| dip.1.is_none());
            match inside {
                Some(dip) => dip.1 = (row.rate() >= sure).then_some(row.size),
                None if rate(ends.low) < DIP * sure => dips.push((row.size, None)),
                None => {}
            }
            sure = sure.max(rate(ends.high));
        }
        dips
    }
}

#[cfg(test)]
mod tests;

//! How often a command reads clocks: which, and from where.

use crate::sample::{Sample, tallied};
use tickmark_stats::median;
use tickmark_stats::order::largest_first;
use tickmark_store::Recording;
use tickmark_wire::names;

/// Counts of a command: means of its runs.
#[derive(Debug)]
pub struct Reads {
    /// The command.
    pub command: String,
    /// How many runs.
    pub runs: usize,
    /// Reads of each clock, most often first.
    pub clocks: Vec<(String, f64)>,
    /// From each call site, most often first.
    pub sites: Vec<(String, f64)>,
    /// Clock reads that the count cannot see, in words.
    pub blind: Vec<String>,
    /// How long the command took, in ns.
    pub time: f64,
    /// How often it did what is counted.
    pub count: Option<f64>,
    /// True if breakpoints of the kernel counted all of this, in a process that ran already.
    pub by_kernel: bool,
    /// Calls of the C library's clock_gettime that the kernel counted beside it.
    pub kernel: Option<f64>,
    /// System calls that read clocks, by name; none where the kernel did not count them.
    pub system_calls: Option<Vec<(String, f64)>>,
    /// Calls of functions that were named, most often first.
    pub calls: Vec<(String, f64)>,
}

impl Reads {
    /// Those of clock_gettime alone, by which the kernel's count is checked.
    #[must_use]
    pub fn of_clock_gettime(&self) -> f64 {
        let others = ["gettimeofday", "time"];
        let own = self.clocks.iter().filter(|(name, _)| !others.contains(&name.as_str()));
        // A sum of nothing is -0.
        own.map(|(_, count)| count).sum::<f64>() + 0.0
    }
}

/// The clock reads of a recording; none where none were counted, and a reason where there is no figure.
#[must_use]
pub fn read_clock_reads(recording: &Recording) -> Option<Result<Reads, String>> {
    let metric = |name: &str| recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name);
    let first = metric(names::CLOCK_READS)?;
    let sample = |name: &str| metric(name).map(|metric| Sample::from_recording(recording, metric));
    let middle = |name: &str| median(sample(name)?.runs.iter().map(|run| run.value));
    let tally = |name: &str| {
        let runs = sample(name)?.runs;
        let count = runs.len() as f64;
        let mut all: Vec<(String, f64)> =
            tallied(&runs).into_iter().map(|(name, sum)| (name, sum as f64 / count)).collect();
        largest_first(&mut all, |one| one.1);
        (count > 0.0).then_some(all)
    };
    let reads = || {
        let planned = recording.runs.iter().find(|run| run.planned.gives(&first.name))?;
        let argument = |name: &str| planned.planned.arguments.get(name).filter(|text| !text.is_empty());
        let pid = argument("pid");
        let by_kernel = tally(names::CLOCK_READS_KERNEL).unwrap_or_default();
        let kernel = |name: &str| by_kernel.iter().find(|(own, _)| own == name).map(|(_, count)| *count);
        let call =
            |(name, count): &(String, f64)| Some((name.strip_prefix(names::SYSTEM_CALL)?.to_owned(), *count));
        let system_calls: Vec<(String, f64)> = by_kernel.iter().filter_map(call).collect();
        Some(Reads {
            command: match pid {
                Some(pid) => format!("process {pid}"),
                None => crate::bill::shown(argument("words")?),
            },
            by_kernel: pid.is_some() || kernel(names::ALL_BY_UPROBES).is_some(),
            kernel: kernel(names::BY_UPROBES),
            system_calls: (!system_calls.is_empty()).then_some(system_calls),
            calls: tally(names::CLOCK_READS_CALLS).unwrap_or_default(),
            runs: sample(names::CLOCK_READS)?.runs.len(),
            clocks: tally(names::CLOCK_READS)?,
            sites: tally(names::CLOCK_READS_SITES)?,
            blind: tally(names::CLOCK_READS_BLIND)
                .unwrap_or_default()
                .into_iter()
                .map(|(name, _)| name)
                .collect(),
            time: middle(names::CLOCK_READS_TIME)?,
            count: middle(names::CLOCK_READS_COUNT),
        })
    };
    let why = || {
        let failures = Sample::from_recording(recording, first).failures;
        failures.first().and_then(|run| run.reason()).unwrap_or("no run of it was made").to_owned()
    };
    Some(reads().ok_or_else(why))
}

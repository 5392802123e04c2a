//! What judging timers is asked.

use super::complete::recordings;
use super::values::{Cpus, confidence, cpus, duration, share};
use super::{Output, Settings};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tickmark_wire::{Nanos, names};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScenarioOutput {
    Summary,
    Values,
    Plot,
}

const SCENARIOS: &str = "Rows of timers";

#[derive(Debug, Args)]
pub(crate) struct Timers {
    /// Rows of timers instead: the scenarios of the APIC timer module
    #[arg(value_name = "SCENARIO", value_parser = PossibleValuesParser::new(names::ROWS), conflicts_with_all = ["methods", "class", "idle", "interval", "late", "cpus", "on_threshold"], groups = ["scenarios", "timed_rows"])]
    pub(crate) rows: Vec<String>,
    /// Rows of your own, from a file: `[[scenario]]` with a name, and `cycles = [...]` or `ns = [...]` from its beginning
    #[arg(help_heading = SCENARIOS, long, value_name = "FILE", conflicts_with_all = ["methods", "class", "idle", "interval", "late", "cpus", "on_threshold", "bound", "cyclictest"], groups = ["scenarios", "timed_rows"])]
    pub(crate) rows_from: Option<PathBuf>,
    /// How timers of a scenario are waited for
    #[arg(help_heading = SCENARIOS, long, value_name = "STRATEGY", value_delimiter = ',', value_parser = PossibleValuesParser::new(names::STRATEGIES.iter().chain(&names::IN_KERNEL).copied()), default_values = names::STRATEGIES, hide_default_value = true, requires = "timed_rows")]
    pub(crate) strategy: Vec<String>,
    /// Beside them the timers of the kernel module tickmark_timer, which is to be loaded: by each of its corrections
    #[arg(help_heading = SCENARIOS, long, requires = "timed_rows")]
    pub(crate) in_kernel: bool,
    /// What a cycle of a scenario is: this machine's, or as long as on the document's 450 MHz (time)
    #[arg(help_heading = SCENARIOS, long, value_name = "UNIT", value_parser = ["cycles", "time"], default_value = "cycles", requires = "timed_rows")]
    pub(crate) unit: String,
    /// How often a run repeats a scenario at most
    #[arg(help_heading = SCENARIOS, long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=300), requires = "timed_rows")]
    pub(crate) repeats: u32,
    /// Of a scenario: a table, columns for gnuplot, or a plot
    #[arg(help_heading = SCENARIOS, long = "output", value_enum, default_value_t = ScenarioOutput::Summary, requires = "scenarios")]
    pub(crate) scenario_output: ScenarioOutput,
    /// Write the plots of scenarios to this folder, as SVG
    #[arg(help_heading = SCENARIOS, long, value_name = "DIR", requires = "scenarios")]
    pub(crate) plots: Option<PathBuf>,
    /// Ways to wait
    #[arg(long, value_name = "WAY", value_delimiter = ',', value_parser = PossibleValuesParser::new(names::WAYS), default_values = names::WAYS, hide_default_value = true)]
    pub(crate) methods: Vec<String>,
    /// Scheduling, interleaved: as --priority has it, ordinary, fifo:50, SCHED_DEADLINE, or a slice of .1 ms (EEVDF, Linux 6.12)
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = ["plan", "other", "fifo", "deadline", "slice"], default_value = "plan", hide_default_value = true)]
    pub(crate) class: Vec<String>,
    /// Deep idle states, interleaved: free, or held off by /dev/cpu_dma_latency
    #[arg(long, value_name = "STATE", value_delimiter = ',', value_parser = ["free", "held"], default_value = "free", hide_default_value = true)]
    pub(crate) idle: Vec<String>,
    /// How far ahead the times are, on average: each is .4 to 1.6 times that
    #[arg(long, value_name = "TIME", default_value = "500us", value_parser = interval)]
    pub(crate) interval: Nanos,
    /// How long to measure, all together
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = duration)]
    pub(crate) duration: Nanos,
    /// Runs of each, in processes of their own and in random order
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Measure on these CPUs at the same time, a recording each: 0,2, 4-7 or all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = cpus, conflicts_with = "cpu")]
    pub(crate) cpus: Vec<Cpus>,
    /// End at the first wake-up (on any of the CPUs) later than LENGTH, and say what ran meanwhile; trace: stop the kernel's tracer at that moment;
    /// shell:COMMAND: then run it. Exits with 3. One way (nanosleep where --methods names none), one run
    #[arg(long, num_args = 2, value_names = ["LENGTH", "stop|trace|shell:COMMAND"], conflicts_with_all = ["of", "runs"])]
    pub(crate) on_threshold: Vec<String>,
    /// Give an upper limit of the share that is later than these, too
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = duration)]
    pub(crate) late: Vec<Nanos>,
    /// Say how long to measure until it is certain that no more than this share is later, such as 0.01%
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "rows")]
    pub(crate) bound: Option<f64>,
    /// Ask the kernel's timerlat tracer too, alternately and for as long as a way (root, CONFIG_TIMERLAT_TRACER; one CPU)
    #[arg(long, conflicts_with_all = ["timed_rows", "of", "on_threshold", "cpus"])]
    pub(crate) timerlat: bool,
    /// Show a histogram of the wake-ups of the run under way, twice a second, which takes some CPU time meanwhile
    #[arg(long, conflicts_with_all = ["timed_rows", "of"])]
    pub(crate) live: bool,
    /// Print as cyclictest does, each way as a thread: its lines, then its histogram, in us
    #[arg(long, conflicts_with_all = ["rows", "format"])]
    pub(crate) cyclictest: bool,
    /// Confidence of the limits
    #[arg(long, value_name = "SHARE", default_value = "95%", value_parser = confidence)]
    pub(crate) confidence: f64,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["methods", "class", "idle", "interval", "duration", "runs", "name", "cpus"], group = "scenarios", add = recordings())]
    pub(crate) of: Option<String>,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// Values that the probe accepts.
fn interval(text: &str) -> Result<Nanos, String> {
    let time = duration(text)?;
    if (20_000..=10_000_000_000).contains(&time.get()) {
        Ok(time)
    } else {
        Err("give 20us to 10s".to_owned())
    }
}

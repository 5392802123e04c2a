//! What watching a CPU and looking for its faults are asked.

use super::Output;
use super::complete::recordings;
use super::values::{Cpus, cpu, cpus, duration, rate};
use clap::{Args, ValueEnum};
use tickmark_wire::{Nanos, Priority};

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Only these checks, in a second or two
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Watch this CPU [default: the quietest that is allowed]
    #[arg(long, value_name = "N", value_parser = cpu)]
    pub(crate) cpu: Option<u32>,
    /// Look at a recording instead of measuring
    #[arg(long, value_name = "REC", conflicts_with = "cpu", add = recordings())]
    pub(crate) of: Option<String>,
    /// Change each finding that can be reversed, in interleaved blocks, and put it back: does it help?
    #[arg(long, conflicts_with = "of")]
    pub(crate) prove: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub(crate) format: DoctorFormat,
    /// Prove by how long this command takes
    #[arg(last = true, value_name = "COMMAND", requires = "prove")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoctorFormat {
    Text,
    Json,
    Prometheus,
}

#[derive(Debug, Args)]
pub(crate) struct Tick {
    /// Watch these CPUs at the same time: 3, 0,2, 4-7 or all [default: the quietest that is allowed]
    #[arg(long = "cpu", value_name = "N", value_delimiter = ',', value_parser = cpus)]
    pub(crate) cpu: Vec<Cpus>,
    /// How long to watch
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub(crate) duration: Nanos,
    /// Show a recording again instead
    #[arg(long, value_name = "REC", conflicts_with_all = ["cpu", "duration", "name", "priority"], add = recordings())]
    pub(crate) of: Option<String>,
    /// Predict the share of the CPU that ticks of these rates would take
    #[arg(long, value_name = "HZ", value_delimiter = ',', value_parser = rate)]
    pub(crate) hz_what_if: Vec<f64>,
    /// Predict it for these clock rates of the processor too, in MHz
    #[arg(long, value_name = "MHZ", value_delimiter = ',', value_parser = rate, requires = "hz_what_if")]
    pub(crate) mhz: Vec<f64>,
    /// Scheduling priority: other, or fifo:1 to fifo:98
    #[arg(long, value_name = "PRIORITY", default_value = "other")]
    pub(crate) priority: Priority,
    /// End at the first gap (of any of the CPUs) longer than LENGTH; trace: stop the kernel's tracer at that moment; shell:COMMAND: then run it
    #[arg(long, num_args = 2, value_names = ["LENGTH", "stop|trace|shell:COMMAND"], conflicts_with = "of")]
    pub(crate) on_threshold: Vec<String>,
    /// Ask the kernel's osnoise tracer too, alternately and for as long again (root, CONFIG_OSNOISE_TRACER; one CPU)
    #[arg(long, conflicts_with_all = ["of", "on_threshold"])]
    pub(crate) osnoise: bool,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

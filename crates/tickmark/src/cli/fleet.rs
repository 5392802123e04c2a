//! What is asked of many machines.

use super::complete::probes;
use super::values::{duration, limit, share};
use super::{LimitValue, Output};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tickmark_wire::Nanos;

pub(super) const FLEET_EXAMPLES: &str = "\
Examples:
  tickmark fleet run survey --nodes 'n[1-64]'               by Slurm: one srun step, one agent a node
  tickmark fleet run survey --nodes a,b,c --launcher 'pdsh -R ssh -w {nodes} {command}'
  tickmark fleet run --resume survey                        those that did not answer
  tickmark fleet report survey                              which nodes are bad, and why
  tickmark --store survey show n17                          a survey is a store: a recording a node
  line=$(tickmark fleet health); [ $? -eq 3 ] && scontrol update nodename=$SLURMD_NODENAME state=drain reason=\"$line\"";

const RUN_EXAMPLES: &str = "\
Without --launcher Slurm starts the agents, on the nodes of the allocation that this runs in, else on all of the cluster, or on those of --nodes. A launcher is a command of the shell that runs {command} once
on each of {nodes} (a list with commas; {count} is how many). The agent writes everything to its standard output, in lines that a launcher may mix and label; it needs no standard input and no shared folder,
only its program: by the same path on every node, or shipped by --ship.

What did not answer is named with the reason, the others' recordings are kept, and the exit code is 4. `tickmark fleet gather` reads the output of agents that something else started, such as Kubernetes.

Examples:
  tickmark fleet run survey --nodes 'n[1-64]' --srun='--partition=all --account=ops'
  tickmark fleet run survey --nodes 'n[1-64]' --ship --limit 60s clock syscall
  tickmark fleet run survey --nodes a,b --launcher 'mpirun --host {nodes} -npernode 1 {command}'
  tickmark fleet run survey --nodes a,b --launcher 'echo {nodes} | tr , \"\\n\" | xargs -P 64 -I NODE ssh NODE {command}'";

#[derive(Debug, Args)]
pub(crate) struct Fleet {
    #[command(subcommand)]
    pub(crate) command: FleetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Measure on many machines at once, and keep a recording of each
    #[command(after_help = RUN_EXAMPLES)]
    Run(FleetRun),
    /// Read what agents wrote that something else started
    #[command(
        after_help = "Examples:\n  kubectl logs --prefix --tail=-1 --selector=job-name=tickmark | tickmark fleet gather survey\n  tickmark fleet gather survey node-*.log"
    )]
    Gather(FleetGather),
    /// Say how the machines of a survey differ: which are bad, what is wrong with each, which groups differ
    #[command(
        after_help = "Examples:\n  tickmark fleet report survey\n  tickmark fleet report survey -o survey.html\n  tickmark fleet report survey --format json\n  tickmark fleet report survey --margin 2% --false-alarm 1%"
    )]
    Report(FleetReport),
    /// Say in a line and within 2 s whether this machine is fit: for a node's prologue or epilogue
    #[command(
        after_help = "Exit codes: 0 nothing found, 3 something found, which the line names; 1 nothing could be measured.\n\nExamples:\n  tickmark fleet health\n  tickmark fleet health --max clock.monotonic.read=100ns --max syscall.null=1us\n  tickmark fleet health --only slow-clock,steal"
    )]
    Health(FleetHealth),
}

#[derive(Debug, Args)]
pub(crate) struct FleetRun {
    /// The survey's folder, which is made
    #[arg(value_name = "SURVEY", required_unless_present = "resume")]
    pub(crate) survey: Option<PathBuf>,
    /// Suites, names or patterns [default: what the doctor needs]
    #[arg(value_name = "SUITE|PROBE", add = probes(), conflicts_with = "resume")]
    pub(crate) select: Vec<String>,
    /// The machines, such as n[1-64],login
    #[arg(long, value_name = "LIST", conflicts_with = "resume")]
    pub(crate) nodes: Option<String>,
    /// Ask those machines of a survey again that did not give everything
    #[arg(long, value_name = "SURVEY", conflicts_with = "survey")]
    pub(crate) resume: Option<PathBuf>,
    /// Start the agents by this command instead of Slurm
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["srun", "ship"])]
    pub(crate) launcher: Option<String>,
    /// Options of srun
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) srun: Option<String>,
    /// Copy the agent to every node first (srun --bcast)
    #[arg(long)]
    pub(crate) ship: bool,
    /// The agent's program, as the machines find it [default: the static agent of this program, where it lies here]
    #[arg(long, value_name = "FILE")]
    pub(crate) agent: Option<PathBuf>,
    /// Runs of each probe
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Time for all runs on a machine
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "8s")]
    pub(crate) budget: Nanos,
    /// A machine that takes longer ends, with what it has
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "120s")]
    pub(crate) limit: Nanos,
    /// How long the first machine may take to answer: a job may wait in a queue
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "600s")]
    pub(crate) patience: Nanos,
    /// Print the manifest of an Indexed Job of Kubernetes with this image, in which the agent is, and start nothing
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["launcher", "srun", "ship", "resume"], requires = "nodes")]
    pub(crate) manifest: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct FleetGather {
    /// The survey's folder
    #[arg(value_name = "SURVEY")]
    pub(crate) survey: PathBuf,
    /// What the agents wrote [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct FleetReport {
    /// The survey's folder
    #[arg(value_name = "SURVEY")]
    pub(crate) survey: PathBuf,
    /// The chance that equal machines are named, in any metric together
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "5%")]
    pub(crate) false_alarm: f64,
    /// Smaller differences are none
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "5%")]
    pub(crate) margin: f64,
    /// Write a page that stands alone
    #[arg(id = "file", long = "output", short = 'o', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// So many of the worst are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) worst: usize,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct FleetHealth {
    /// Only these checks of the doctor
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// A metric is at most this: METRIC=VALUE
    #[arg(long, value_name = "METRIC=VALUE", value_parser = limit)]
    pub(crate) max: Vec<(String, LimitValue)>,
    #[command(flatten)]
    pub(crate) output: Output,
}

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
  tickmark fleet links survey                               which links between them are slow
  tickmark fleet report survey                              which nodes are bad, and why
  tickmark --store survey show n17                          a survey is a store: a recording a node
  tickmark fleet health || [ $? -ne 3 ] || scontrol update nodename=$SLURMD_NODENAME state=drain reason=tickmark";

const RUN_EXAMPLES: &str = "\
Without --launcher Slurm starts the agents, on the nodes of the allocation that this runs in, else on all of the cluster, or on those of --nodes. A launcher is a command of the shell that runs {command} once
on each of {nodes} (a list with commas; {count} is how many). The agent writes everything to its standard output, in lines that a launcher may mix and label; it needs no standard input and no shared folder,
only its program: by the same path on every node, or shipped by --ship.

A launcher must keep lines whole. mpirun (Open MPI 4) does not: it is to write files, in a folder that all nodes share:
  d=$(mktemp -d -p .); mpirun --host {nodes} -npernode 1 --output-filename $d:nocopy {command}; find $d -name stdout -exec cat {} +

What did not answer is named with the reason, the others' recordings are kept, and the exit code is 4. `tickmark fleet gather` reads the output of agents that something else started, such as Kubernetes.

Examples:
  tickmark fleet run survey --nodes 'n[1-64]' --srun='--partition=all --account=ops'
  tickmark fleet run survey --nodes 'n[1-64]' --ship --limit 60s clock syscall
  tickmark fleet run survey --nodes a,b --launcher 'pdsh -R ssh -w {nodes} {command}'
  tickmark fleet run survey --nodes a,b --launcher 'echo {nodes} | tr , \"\\n\" | xargs -P 64 -I NODE ssh NODE {command}'";

const LINKS_EXAMPLES: &str = "\
The agents of the survey's machines are started again, as `fleet run` starts them, and connect to this program (--listen), which tells who measures with whom: in each round each machine with another one, over \
TCP: trips of a byte, then a stream each way. What looks slow is measured twice more. The machines and all of the network between them are busy meanwhile: --at-once 1 has one pair measure at a time.

All agents have to run at once: a launcher that starts some when others have ended (pdsh without -f {count}, xargs without -P 0) leaves out the rest, and so is a machine that comes 10 s after the one before it.

The agents know this program, it them, and they each other by a token, which is good for as long as this runs. With Slurm it is in the environment; other launchers have it in their command line, where users of the machines can read it: who knows \
it can answer in the place of a machine.

Examples:
  tickmark fleet links survey
  tickmark fleet links survey --rounds 8 --time 200ms --at-once 100
  tickmark fleet links survey --network 10.1.0.0 --listen 10.0.0.1:7000
  tickmark fleet report survey                              what was found";

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
    /// Measure the links between a survey's machines, in pairs, and keep that with the survey
    #[command(after_help = LINKS_EXAMPLES)]
    Links(FleetLinks),
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
    #[command(flatten)]
    pub(crate) launching: Launching,
    /// Runs of each probe
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Time for all runs on a machine
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "8s")]
    pub(crate) budget: Nanos,
    /// A machine that takes longer ends, with what it has
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "120s")]
    pub(crate) limit: Nanos,
    /// Print the manifest of an Indexed Job of Kubernetes with this image, in which the agent is, and start nothing
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["launcher", "srun", "ship", "resume"], requires = "nodes")]
    pub(crate) manifest: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// How agents get to run.
#[derive(Debug, Args)]
pub(crate) struct Launching {
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
    /// How long the first machine may take to answer: a job may wait in a queue
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "600s")]
    pub(crate) patience: Nanos,
}

#[derive(Debug, Args)]
pub(crate) struct FleetLinks {
    /// The survey's folder
    #[arg(value_name = "SURVEY")]
    pub(crate) survey: PathBuf,
    /// With so many others each machine is measured; fewer than 3 say nothing of which link is slow
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,
    /// Time of the trips of a pair, and of its stream each way
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "100ms")]
    pub(crate) time: Nanos,
    /// So many pairs measure at once [default: all of a round]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) at_once: Option<u32>,
    /// Where the machines find this program, as ADDRESS:PORT [default: at all of its addresses, any port]
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:0", hide_default_value = true)]
    pub(crate) listen: std::net::SocketAddrV4,
    /// Measure in the network in which this address is [default: the one by which the machines come here]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) network: Option<std::net::Ipv4Addr>,
    #[command(flatten)]
    pub(crate) launching: Launching,
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

//! The command line. Options become defaulted structures of the commands here and go no further.

mod bill;
mod check;
mod clock_reads;
mod comms;
mod compare;
pub(crate) mod complete;
mod dose;
mod examples;
mod exchange;
mod exit;
mod fleet;
mod groups;
mod history;
mod http;
mod hz;
mod lab;
mod live;
pub(crate) mod questions;
mod recordings;
mod report;
mod sql;
mod stat;
mod timers;
mod values;
pub(crate) mod versus;
mod watch;

pub(crate) use bill::Bill;
pub(crate) use check::{Check, CheckFormat};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use clock_reads::ClockReads;
pub(crate) use comms::Comms;
pub(crate) use compare::{Compare, CompareFormat, FailOn};
pub(crate) use dose::Dose;
use examples::{
    COMPARE_EXAMPLES, DOCTOR_EXAMPLES, EXPERIMENT_EXAMPLES, EXPERIMENTS_EXAMPLES, EXPORT_EXAMPLES,
    IMPORT_EXAMPLES, RECORDINGS_EXAMPLES, RUN_EXAMPLES, SHOW_EXAMPLES, START, STAT_EXAMPLES, TICK_EXAMPLES,
    TIMERS_EXAMPLES,
};
pub(crate) use exchange::{Export, ExportFormat, Import, Lines, TableArgs};
pub(crate) use exit::exit;
pub(crate) use fleet::{
    Fleet, FleetCommand, FleetGather, FleetHealth, FleetLinks, FleetReport, FleetRun, Launching,
};
pub(crate) use groups::grouped;
pub(crate) use history::{BisectArgs, History};
pub(crate) use http::Http;
pub(crate) use hz::Hz;
pub(crate) use lab::{
    GuestArgs, Lab, LabBisect, LabBoot, LabConfigCost, LabExplain, LabGate, LabKernels, LabRun, Speed, caches,
};
pub(crate) use live::Live;
pub(crate) use recordings::{Change, Recordings};
pub(crate) use report::Report;
pub(crate) use sql::Sql;
pub(crate) use stat::{ColumnName, Stat};
use std::path::PathBuf;
use tickmark_wire::{Deny, Nanos, Priority};
pub(crate) use timers::{ScenarioOutput, Timers};
pub(crate) use values::{Cpus, Goal, LimitValue};
use values::{cpu, deny, duration, share};
pub(crate) use versus::Versus;
pub(crate) use watch::{Doctor, DoctorFormat, Tick};

/// Where the environment says that recordings are kept.
pub(crate) const STORE: &str = "TICKMARK_STORE";

/// Measures what timekeeping and communication cost on Linux: clock ticks, clock reads, timers, system calls, processes, messages.
#[derive(Debug, Parser)]
#[command(name = "tickmark", version, arg_required_else_help = true, after_help = START)]
pub(crate) struct Cli {
    /// Where recordings are kept, or a team's store as postgres://USER@HOST/DATABASE [default: tickmark in the user's data folder]
    #[arg(long, global = true, value_name = "DIR", env = STORE, hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure this machine, save the recording and show it
    #[command(after_help = RUN_EXAMPLES)]
    Run(Run),
    /// List every probe, and what it times
    #[command(
        after_help = "Examples:\n  tickmark list\n  tickmark list --syscalls lmbench\n  tickmark list clock 'op.*' --format json"
    )]
    List(List),
    /// Run every probe once at its smallest budget; save nothing
    #[command(
        after_help = "Examples:\n  tickmark verify\n  tickmark verify syscall --priority fifo:50\n  tickmark verify --deny io_uring_setup=ENOSYS"
    )]
    Verify(Verify),
    /// List, delete or rename recordings
    #[command(after_help = RECORDINGS_EXAMPLES)]
    Recordings(Recordings),
    /// Show a recording
    #[command(after_help = SHOW_EXAMPLES)]
    Show(Show),
    /// Compare recordings metric by metric
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Watch ticks, gaps, wake-ups, clock cost and load of every CPU as they happen
    #[command(after_help = live::LIVE_EXAMPLES)]
    Live(Live),
    /// Judge new recordings by the earlier ones of this machine, or by limits: a gate for a CI
    #[command(after_help = check::CHECK_EXAMPLES)]
    Check(Check),
    /// Show figures over time: when they changed, between which commits or recordings, by how much
    #[command(after_help = history::HISTORY_EXAMPLES)]
    History(History),
    /// Write recordings as one page with plots, that stands alone
    #[command(after_help = report::REPORT_EXAMPLES)]
    Report(Report),
    /// Interleaved A/B of a system setting, restored afterwards
    #[command(after_help = EXPERIMENT_EXAMPLES)]
    Experiment(Experiment),
    /// Two commands or more, interleaved: which is faster, by how much, how sure
    #[command(after_help = versus::VERSUS_EXAMPLES)]
    Versus(Box<Versus>),
    /// Five documents on timekeeping and communication: what each asks and found, and what was found here
    #[command(after_help = EXPERIMENTS_EXAMPLES)]
    Experiments(Experiments),
    /// Say what this machine loses and why, what to do, and prove that it helps
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(Doctor),
    /// Show what interrupts a CPU, each gap with its name, and what another HZ would cost
    #[command(after_help = TICK_EXAMPLES)]
    Tick(Tick),
    /// Show how late each way to wait wakes a program, and what is certain of the tail
    #[command(after_help = TIMERS_EXAMPLES)]
    Timers(Timers),
    /// Measure messages of every size, and what they cost the processor
    #[command(after_help = comms::COMMS_EXAMPLES)]
    Comms(Comms),
    /// Say whose CPU time a command is: its own, interrupts', the kernel's, others'
    #[command(after_help = bill::BILL_EXAMPLES)]
    Bill(Bill),
    /// Measure transactions over HTTP: what each costs server and client, and how long it takes
    #[command(after_help = http::HTTP_EXAMPLES)]
    Http(Http),
    /// Measure transactions of databases: SQLite, MariaDB or MySQL, PostgreSQL
    #[command(after_help = sql::SQL_EXAMPLES)]
    Sql(Sql),
    /// Measure many machines at once, and say which of them are bad
    #[command(after_help = fleet::FLEET_EXAMPLES)]
    Fleet(Fleet),
    /// Count how often a command reads clocks: which, and from where
    #[command(after_help = clock_reads::CLOCK_READS_EXAMPLES)]
    ClockReads(ClockReads),
    /// Make a server's clock reads slower while it serves: what that costs each transaction
    #[command(after_help = dose::DOSE_EXAMPLES)]
    Dose(Dose),
    /// Run a command at several HZ: what ticks cost it, what finer ones save it, and where they meet
    #[command(after_help = hz::HZ_EXAMPLES)]
    Hz(Hz),
    /// Build kernels that differ in one setting, boot them under QEMU, measure in them
    #[command(subcommand, after_help = lab::LAB_EXAMPLES)]
    Lab(Lab),
    /// Describe and compare columns of numbers: a corrected ministat
    #[command(after_help = STAT_EXAMPLES)]
    Stat(Stat),
    /// Read results of other programs into recordings: lmbench, hyperfine, sysbench, wrk, cyclictest ...
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(Import),
    /// Write a recording for other programs
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(Export),
    /// Say which command answers a question
    #[command(help_template = "{after-help}", after_help = questions::text())]
    Questions,
    /// Write the JSON Schema of a command's JSON
    #[command(
        after_help = "Examples:\n  tickmark schema\n  tickmark schema compare\n  tickmark schema lab run"
    )]
    Schema(Schema),
    /// Write completions for a shell to standard output
    #[command(
        after_help = "Examples:\n  tickmark completions bash > /etc/bash_completion.d/tickmark\n  tickmark completions fish > ~/.config/fish/completions/tickmark.fish"
    )]
    Completions(Completions),
    /// Write man pages into a folder
    #[command(after_help = "Examples:\n  tickmark man /usr/local/share/man/man1")]
    Man(Man),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Suites (`tickmark list` names them) or probes, by name or pattern [default: all]
    #[arg(value_name = "SUITE|PROBE", add = complete::probes())]
    pub(crate) select: Vec<String>,
    /// Runs of each probe, each a fresh process [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: Option<u32>,
    /// One run of each and nothing else: a metric takes about a second
    #[arg(long, conflicts_with = "runs")]
    pub(crate) once: bool,
    /// Total measuring time, such as 60s or 500ms [default: 60s for everything]; on a busy machine a probe takes up to four
    /// times its part, to get as much CPU time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Option<Nanos>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Name of the recording [default: the host's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Resume a recording that was interrupted
    #[arg(long, value_name = "REC", conflicts_with_all = ["select", "runs", "once", "budget", "cpu", "priority", "priority_optional", "slack", "small", "name"])]
    pub(crate) resume: Option<String>,
    /// Print every figure, and not the headlines alone
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Settings {
    /// Measure on this CPU [default: the quietest that is allowed]
    #[arg(long, value_name = "N", value_parser = cpu)]
    pub(crate) cpu: Option<u32>,
    /// Scheduling priority: other, or fifo:1 to fifo:98
    #[arg(long, value_name = "PRIORITY", default_value = "other")]
    pub(crate) priority: Priority,
    /// Fall back to ordinary priority if the requested one is refused
    #[arg(long)]
    pub(crate) priority_optional: bool,
    /// Timer slack, such as 1ns or 50us [default: the system's]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) slack: Option<Nanos>,
    /// Use little memory and small files even if there is room for more
    #[arg(long)]
    pub(crate) small: bool,
}

impl From<&Settings> for tickmark_wire::Settings {
    fn from(settings: &Settings) -> Self {
        Self {
            cpu: settings.cpu,
            priority: settings.priority,
            priority_optional: settings.priority_optional,
            slack: settings.slack,
            small: settings.small,
            ..Self::default()
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Output {
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Suites or probes, by name or pattern [default: all]
    #[arg(value_name = "SUITE|PROBE", add = complete::probes())]
    pub(crate) select: Vec<String>,
    /// Name the system calls that each probe needs
    #[arg(long)]
    pub(crate) syscalls: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Suites or probes, by name or pattern [default: all]
    #[arg(value_name = "SUITE|PROBE", add = complete::probes())]
    pub(crate) select: Vec<String>,
    /// Refuse a system call, such as openat or openat=ENOSYS [default: EPERM], and see which probes fail
    #[arg(long, value_name = "CALL[=ERROR]", value_parser = deny)]
    pub(crate) deny: Option<Deny>,
    /// Refuse every system call that `list --syscalls` does not name for the probe
    #[arg(long, conflicts_with = "deny")]
    pub(crate) only_needed: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Which recording
    #[arg(value_name = "REC", default_value = "last", add = complete::recordings())]
    pub(crate) recording: String,
    /// Only these metrics, in detail; by name or pattern
    #[arg(value_name = "METRIC", add = complete::probes())]
    pub(crate) metrics: Vec<String>,
    /// Also show the environment
    #[arg(long)]
    pub(crate) environment: bool,
    /// Print lmbench's tables: mean costs, one row per run
    #[arg(long, conflicts_with_all = ["metrics", "environment"])]
    pub(crate) lmbench: bool,
    /// Floors instead of mean costs, in lmbench's tables
    #[arg(long, requires = "lmbench")]
    pub(crate) floor: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Experiment {
    /// KNOB=A,B with two or more settings, a file, or an experiment that comes with tickmark
    #[arg(value_name = "KNOB=A,B|NAME", required_unless_present = "restore")]
    pub(crate) what: Option<String>,
    /// What to measure: suites or probes, by name or pattern [default: all]
    #[arg(value_name = "SUITE|PROBE", add = complete::probes())]
    pub(crate) select: Vec<String>,
    /// Blocks, each with every setting once in random order [default: 10; with --width up to 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) blocks: Option<u32>,
    /// Add so many blocks to the last experiment of these settings, probes and options, made since the last boot; the comparisons before
    /// and after share the 5 %
    #[arg(long, value_name = "N", conflicts_with = "blocks", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) more: Option<u32>,
    /// End when every confidence interval has at most this half-width, such as 0.5%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) width: Option<f64>,
    /// End after this time, with the block that is running
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) budget: Option<Nanos>,
    /// Also measure by a command: the one number that it prints
    #[arg(long, value_name = "COMMAND")]
    pub(crate) command: Option<String>,
    /// The command's number is better if higher
    #[arg(long, requires = "command")]
    pub(crate) higher_is_better: bool,
    /// The short form of an experiment that comes with tickmark, in some two minutes
    #[arg(long)]
    pub(crate) quick: bool,
    /// Skip the pilot, which estimates the smallest detectable effect
    #[arg(long)]
    pub(crate) no_pilot: bool,
    /// Changes below this do not matter [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) margin: Option<f64>,
    /// Exit with code 3 if a metric changed, changed beyond the margin, or got worse; with 5 if that cannot be judged
    #[arg(long, value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    /// Name of the recordings, before their setting [default: the knob]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Restore what a killed experiment left changed
    #[arg(long, conflicts_with_all = ["what", "select", "more"])]
    pub(crate) restore: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,
}

#[derive(Debug, Args)]
pub(crate) struct Experiments {
    /// Show this one from its last recordings [default: list all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Write it as a page to this file
    #[arg(short = 'o', long = "output", value_name = "FILE.html", requires = "name")]
    pub(crate) page: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Which command, or the name at the top of its JSON [default: list all]
    #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// The folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[cfg(test)]
mod tests;

//! The commands of the lab.

use super::complete::probes;
use super::values::{duration, phase, share, speed, write_file};
use super::{CompareFormat, FailOn, Output};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use tickmark_drive::lab::MOST_CPUS;
use tickmark_drive::target::AgentKind;
use tickmark_lab::Module;
use tickmark_wire::Nanos;

pub(super) const LAB_EXAMPLES: &str = "\
A kernel is ARCH:SETTING:SETTING..., with ARCH x86_64, arm64, riscv64 or powerpc, and the settings hz=100, 250, 300, 1000;
tick=periodic, idle; highres=on, off; preempt=none, voluntary, full; osnoise=on; lockdep=on; source=6.1, 6.12, the version of Debian's linux-source
(hz=100:tick=periodic:highres=on:preempt=none:source=6.1 by default). They are kept in the user's cache folder.

Examples:
  tickmark lab doctor
  tickmark lab kernels powerpc:hz=100 powerpc:hz=1000
  tickmark lab boot --kernel x86_64:hz=1000 tick.spin syscall
  tickmark lab boot --kernel ./bzImage --speed host
  tickmark lab boot --kernel ./bzImage syscall --max syscall.null=350
  tickmark lab run clock-tick-100-vs-1000";

pub(super) const GATE_EXAMPLES: &str = "\
Each kernel is booted once, on a processor whose time is a count of instructions, and each path is counted where nothing interrupts it: the same in every boot. Exit code 3: a path grew by more than --margin, or is above --max.

Examples:
  tickmark lab gate ./bzImage.main ./bzImage.mine
  tickmark lab gate x86_64:hz=100 x86_64:hz=100:preempt=full syscall
  tickmark lab gate ./bzImage.main ./bzImage.mine --max syscall.null=200 --format json";

pub(super) const EXPLAIN_EXAMPLES: &str = "\
The kernel is booted twice, on a processor whose time is a count of instructions; in the second boot a plugin of QEMU counts every instruction by function: its own, and with those that it calls (inclusive). Both boots must give the same output, and the counts must agree with the guest's clock.

MODEL is mpc860 (4 KiB each of instructions and data, 2 ways, lines of 16 bytes), mpc860p (16 KiB in 4 ways, 8 KiB in 2), or ISIZE:WAYS:DSIZE:WAYS:LINE in bytes.

Examples:
  tickmark lab explain syscall.null
  tickmark lab explain tick.spin --kernel powerpc:hz=100 --stacks tick.svg
  tickmark lab explain syscall.null --kernel ./bzImage.main --against ./bzImage.mine -o page.html
  tickmark lab explain tick.spin --kernel powerpc:hz=100 --cache mpc860";

pub(super) const BISECT_EXAMPLES: &str = "\
Each commit is built with the lab's configuration from what the one before left, in the user's cache folder, and booted once; those that do not build or boot are gone round. The tree itself is left alone. The functions that grew are told at the end.

Examples:
  tickmark lab bisect v6.1..v6.2 syscall.null --tree ~/linux
  tickmark lab bisect HEAD~20..HEAD switch.2p.0k --kernel powerpc:hz=1000";

pub(super) const CONFIG_COST_EXAMPLES: &str = "\
tickmark changes A into B one symbol at a time, with what follows from it (make olddefconfig), builds the configurations that it needs in the user's cache folder and boots each once. If two give the same count, those between them are skipped (--each measures all). What a symbol costs may depend on those before it.

Examples:
  tickmark lab config-cost x86_64 x86_64:osnoise=on syscall.signal.handle
  tickmark lab config-cost config.main config.mine syscall.null --tree ~/linux";

/// How fast the guest's processor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speed {
    /// Instructions take 2^shift ns.
    Mips(u8),
    /// That of KVM, or of TCG without counting instructions.
    Host,
}

/// Who measures in the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agent {
    /// tickmark's own agent.
    Rust,
    /// The small one in C.
    C,
}

impl From<Agent> for AgentKind {
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::Rust => Self::Rust,
            Agent::C => Self::C,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// Check what the lab needs: QEMU, compilers, kernel sources, agents
    #[command(after_help = "Examples:\n  tickmark lab doctor\n  tickmark lab doctor --format json")]
    Doctor(LabDoctor),
    /// Build kernels that differ in named settings
    #[command(after_help = LAB_EXAMPLES)]
    Kernels(LabKernels),
    /// Boot one guest and measure in it
    #[command(after_help = LAB_EXAMPLES)]
    Boot(LabBoot),
    /// Compare two kernels by the instructions of each path: exact, without repetitions
    #[command(after_help = GATE_EXAMPLES)]
    Gate(LabGate),
    /// Explain an operation or the tick by kernel function: calls, instructions, call tree; what makes it dearer in another kernel
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(LabExplain),
    /// Bisect a kernel's commits by the instructions of an operation: exact, one boot each
    #[command(after_help = BISECT_EXAMPLES)]
    Bisect(LabBisect),
    /// Attribute the difference between two kernel configurations to symbols, in instructions of an operation
    #[command(after_help = CONFIG_COST_EXAMPLES)]
    ConfigCost(LabConfigCost),
    /// Boot an experiment's settings on its machines, and compare
    #[command(after_help = LAB_EXAMPLES)]
    Run(LabRun),
}

#[derive(Debug, Args)]
pub(crate) struct LabDoctor {
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct LabKernels {
    /// Which [default: powerpc and x86_64, each at hz=100 and hz=1000]
    #[arg(value_name = "KERNEL")]
    pub(crate) kernels: Vec<String>,
    /// Build again what is in the cache, and compare the bytes
    #[arg(long)]
    pub(crate) again: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct LabBoot {
    /// What to measure: suites or probes, by name or pattern [default: all]
    #[arg(value_name = "SUITE|PROBE", add = probes())]
    pub(crate) select: Vec<String>,
    /// A kernel of the lab, or an image of your own
    #[arg(long, alias = "kernel-image", value_name = "KERNEL|IMAGE", default_value = "x86_64")]
    pub(crate) kernel: String,
    /// Million instructions a second: 1000, 500, 250, 125, 62.5, 31.25; or host: KVM if available, times not exact
    #[arg(long, value_name = "MIPS", default_value = "62.5", value_parser = speed)]
    pub(crate) speed: Speed,
    /// Who measures [default: rust on x86_64, else c]
    #[arg(long, value_enum)]
    pub(crate) agent: Option<Agent>,
    /// Memory in MiB [default: 256, on powerpc 128]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(8..=65536))]
    pub(crate) memory: Option<u32>,
    /// CPUs of the guest; where instructions are counted, they take turns
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_CPUS)))]
    pub(crate) cpus: u32,
    /// Extra kernel command line, such as clocksource=hpet
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub(crate) append: String,
    /// Write a file in the guest before anything is measured
    #[arg(long, value_name = "PATH=CONTENT", value_parser = write_file)]
    pub(crate) write: Vec<(String, String)>,
    /// Load a kernel module first: tickmark_timer, tickmark_timer_test, tickmark_clock, or a .ko file (compiled where a Kbuild lies beside it); its parameters follow it
    #[arg(long, value_name = "MODULE [NAME=VALUE]...")]
    pub(crate) module: Vec<Module>,
    /// Start each stream at this tick phase, such as 1/5
    #[arg(long, value_name = "K/N", value_parser = phase)]
    pub(crate) phase: Option<(u32, u32)>,
    /// Runs of each probe in the one boot [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: Option<u32>,
    /// Measuring time of a probe, in the guest's time [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) slice: Option<Nanos>,
    /// Limit of the boot, in real time [default: a minute of a processor and ten times the measuring time]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) limit: Option<Nanos>,
    /// Exit with 3 if an operation takes more instructions than this, without what interrupts it
    #[arg(long, value_name = "PROBE=INSTRUCTIONS", value_parser = path_limit)]
    pub(crate) max: Vec<(String, f64)>,
    /// Name of the recording [default: lab and the kernel]
    #[arg(long)]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct LabGate {
    /// The kernel that is judged by: of the lab, or an image of your own
    #[arg(value_name = "KERNEL|IMAGE")]
    pub(crate) base: String,
    /// The new one
    #[arg(value_name = "KERNEL|IMAGE")]
    pub(crate) new: String,
    /// What to measure: suites or probes, by name or pattern [default: syscall switch.2p.0k]
    #[arg(value_name = "SUITE|PROBE", add = probes())]
    pub(crate) select: Vec<String>,
    /// A path may grow by so many instructions
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = 0.5, value_parser = instructions)]
    pub(crate) margin: f64,
    /// A path of the new kernel takes at most so many
    #[arg(long, value_name = "PROBE=INSTRUCTIONS", value_parser = path_limit)]
    pub(crate) max: Vec<(String, f64)>,
    /// Predict what the changes cost on a real machine, by this recording of it: last, an id, a name
    #[arg(long, value_name = "REC")]
    pub(crate) price: Option<String>,
    /// Grade the prediction by this recording with the new kernel, of the same machine or of another one
    #[arg(long, value_name = "REC", requires = "price")]
    pub(crate) grade: Option<String>,
    /// Extra kernel command line of both
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub(crate) append: String,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The guest of one operation.
#[derive(Debug, Args)]
pub(crate) struct GuestArgs {
    /// Who measures [default: rust on x86_64, else c]
    #[arg(long, value_enum)]
    pub(crate) agent: Option<Agent>,
    /// Extra kernel command line
    #[arg(
        long,
        value_name = "WORDS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub(crate) append: String,
}

#[derive(Debug, Args)]
pub(crate) struct LabExplain {
    /// What to explain: one operation; tick.spin for the tick alone
    #[arg(value_name = "PROBE", add = probes())]
    pub(crate) probe: String,
    /// A kernel of the lab, or an image of your own
    #[arg(long, value_name = "KERNEL|IMAGE", default_value = "x86_64")]
    pub(crate) kernel: String,
    /// Another kernel: what makes the operation dearer there, by function
    #[arg(long, value_name = "KERNEL|IMAGE")]
    pub(crate) against: Option<String>,
    /// Write the call tree: a flame graph to FILE.svg, coloured by what differs where there is --against; else folded stacks
    #[arg(long, value_name = "FILE")]
    pub(crate) stacks: Option<PathBuf>,
    /// Simulate first-level caches, and count their misses
    #[arg(long, value_name = "MODEL", value_parser = caches)]
    pub(crate) cache: Option<String>,
    /// Write a page that stands alone: flame graphs, all functions
    #[arg(id = "file", long = "output", short = 'o', value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct LabBisect {
    /// Commits, the good one first
    #[arg(value_name = "GOOD..BAD")]
    pub(crate) range: String,
    /// What is counted: one operation
    #[arg(value_name = "PROBE", add = probes())]
    pub(crate) probe: String,
    /// The kernel's git tree
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) tree: PathBuf,
    /// The lab's configuration that each commit is built with
    #[arg(long, value_name = "KERNEL", default_value = "x86_64")]
    pub(crate) kernel: String,
    /// Ends of the range that differ by no more do not differ
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = 0.5, value_parser = instructions)]
    pub(crate) margin: f64,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct LabConfigCost {
    /// A kernel of the lab, or a .config file
    #[arg(value_name = "A")]
    pub(crate) first: String,
    /// The other one, of the same processor and version
    #[arg(value_name = "B")]
    pub(crate) second: String,
    /// What is counted: one operation
    #[arg(value_name = "PROBE", add = probes())]
    pub(crate) probe: String,
    /// Build the HEAD commit of this git tree, without what is not committed [default: Debian's source of that version]
    #[arg(long, value_name = "DIR")]
    pub(crate) tree: Option<PathBuf>,
    /// Measure each configuration, also between two that give the same count
    #[arg(long)]
    pub(crate) each: bool,
    /// Counts that differ by no more are the same
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = 0.5, value_parser = instructions)]
    pub(crate) margin: f64,
    #[command(flatten)]
    pub(crate) guest: GuestArgs,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// First-level caches: a processor by name (MPC860 PowerQUICC Family User's Manual, chapter 7), or sizes and ways.
pub(crate) fn caches(text: &str) -> Result<String, String> {
    let model = match text {
        "mpc860" => "4096:2:4096:2:16",
        "mpc860p" => "16384:4:8192:2:16",
        other => other,
    };
    let numbers: Vec<u64> = model.split(':').filter_map(|part| part.parse().ok()).collect();
    let is_good = |size: u64, ways: u64, line: u64| {
        ways > 0
            && line.is_power_of_two()
            && size <= 1 << 30
            && size.is_multiple_of(ways * line)
            && (size / (ways * line)).is_power_of_two()
    };
    match numbers[..] {
        [isize, iways, dsize, dways, line]
            if model.split(':').count() == 5
                && iways.max(dways).max(line) <= 1 << 16
                && is_good(isize, iways, line)
                && is_good(dsize, dways, line) =>
        {
            Ok(model.to_owned())
        }
        _ => Err("give mpc860, mpc860p, or ISIZE:WAYS:DSIZE:WAYS:LINE in bytes, such as 32768:8:32768:8:64, with a power of two of sets".to_owned()),
    }
}

/// A number of instructions.
fn instructions(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("{text:?} is no number of instructions"))
}

/// The most instructions of a path.
fn path_limit(text: &str) -> Result<(String, f64), String> {
    let (name, most) = text.rsplit_once('=').ok_or("give PROBE=INSTRUCTIONS, such as syscall.null=200")?;
    Ok((name.to_owned(), instructions(most)?))
}

#[derive(Debug, Args)]
pub(crate) struct LabRun {
    /// The experiment: a file that boots its settings, or one that comes with tickmark (apic-timer-module, clock-resolution, clock-tick-100-vs-1000, clock-tick-more-processors, clocksource, database-clock-reads, databases-and-clocks, hz-and-http, hz-and-packets, hz-prediction, kernel-6.1-vs-6.12, kernel-clock-reads, precise-timers-low-hz, tick-anatomy, tick-by-setting, tick-modes)
    #[arg(value_name = "FILE|NAME")]
    pub(crate) file: PathBuf,
    /// What to measure instead of what the file names
    #[arg(value_name = "SUITE|PROBE", add = probes())]
    pub(crate) select: Vec<String>,
    /// Only these machines of the file
    #[arg(long, value_name = "NAME")]
    pub(crate) machine: Vec<String>,
    /// Boots of each setting, those of guests each at a different phase of the tick [default: the file's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) blocks: Option<u32>,
    /// Measuring time of a probe in each boot, instead of the file's
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) slice: Option<Nanos>,
    /// Limit of each boot of a guest, in real time [default: a minute of a processor and ten times the measuring time]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) limit: Option<Nanos>,
    /// Changes below this do not matter [default: the file's, 1%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub(crate) margin: Option<f64>,
    /// Resume a matrix that was interrupted: any of its recordings
    #[arg(long, value_name = "REC")]
    pub(crate) resume: Option<String>,
    /// Exit with code 3 where a metric has changed, or got worse
    #[arg(long, value_enum)]
    pub(crate) fail_on: Option<FailOn>,
    /// How to print
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub(crate) format: CompareFormat,
}

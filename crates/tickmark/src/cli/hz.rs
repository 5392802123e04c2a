//! What a command is asked at several HZ.

use super::Output;
use super::Speed;
use super::values::{duration, share, speed};
use clap::Args;
use std::path::PathBuf;
use tickmark_wire::Nanos;

pub(super) const HZ_EXAMPLES: &str = "\
The command runs in guests under QEMU whose kernels differ in HZ alone, in each boot from another point of the tick; a kernel that is not in the
cache is built, which takes some minutes. A guest has the program and the libraries that it is linked with, and nothing that it loads later. A slower guest (--speed) is over sooner, and
each of its ticks takes longer. With --host it runs on a real machine, which --boot boots into each HZ; its kernel says whether it did.

Examples:
  tickmark hz -- ./server-bench --requests 1000          how long it takes at 100, 250, 300 and 1000 Hz
  tickmark hz --hz 100,1000 --blocks 4 -- ./load          two rates: which is better, without a curve
  tickmark hz --number after:rate= --higher -- ./load     by the number behind rate= that it prints
  tickmark hz --speed 62.5 --kernel x86_64:preempt=full -- ./load
  tickmark hz --hz 100,1000 --host root@board --boot 'grub-reboot linux-{hz}; reboot' -- /usr/bin/server-bench";

#[derive(Debug, Args)]
pub(crate) struct Hz {
    /// Boot kernels of these HZ: 100, 250, 300, 1000
    #[arg(long, value_name = "HZ", value_delimiter = ',', default_value = "100,250,300,1000")]
    pub(crate) hz: Vec<u32>,
    /// What the kernels share, as `tickmark lab kernels` has it
    #[arg(long, value_name = "KERNEL", default_value = "x86_64")]
    pub(crate) kernel: String,
    /// Million instructions a second: 1000, 500, 250, 125, 62.5, 31.25
    #[arg(long, value_name = "MIPS", default_value = "1000", value_parser = speed)]
    pub(crate) speed: Speed,
    /// Boots of each
    #[arg(long, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub(crate) blocks: u32,
    /// Memory of a guest in MiB
    #[arg(long, value_name = "MIB", default_value = "256", value_parser = clap::value_parser!(u32).range(8..=65536))]
    pub(crate) memory: u32,
    /// Give the guest this file: a program in /bin, anything else in /
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Vec<PathBuf>,
    /// Judge by a number that it prints and not by its time: only, or after:TEXT
    #[arg(long, value_name = "WHICH")]
    pub(crate) number: Option<String>,
    /// A higher number is better
    #[arg(long, requires = "number")]
    pub(crate) higher: bool,
    /// A smaller difference between the rates does not matter
    #[arg(long, value_name = "SHARE", default_value = "0.05%", value_parser = share)]
    pub(crate) margin: f64,
    /// Run it on this machine, by ssh, and not in guests
    #[arg(long, value_name = "HOST", requires = "boot", conflicts_with_all = ["kernel", "speed", "memory", "file", "limit"])]
    pub(crate) host: Option<String>,
    /// What boots that machine into an HZ, which stands for {hz} in it
    #[arg(long, value_name = "COMMAND", requires = "host")]
    pub(crate) boot: Option<String>,
    /// Options of ssh
    #[arg(long, value_name = "OPTION", requires = "host", allow_hyphen_values = true)]
    pub(crate) ssh: Vec<String>,
    /// What prints there which boot it is in [default: the kernel's boot_id]
    #[arg(long, value_name = "COMMAND", requires = "host")]
    pub(crate) identity: Option<String>,
    /// How long that machine may take to boot
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = duration)]
    pub(crate) boot_limit: Nanos,
    /// Limit of a boot, in real time
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = duration)]
    pub(crate) limit: Nanos,
    #[command(flatten)]
    pub(crate) output: Output,
    /// What to run
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

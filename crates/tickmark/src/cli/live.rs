//! What the live view is asked.

use super::values::{cpus, duration};
use super::{Cpus, Output};
use clap::Args;
use tickmark_wire::Nanos;

pub(super) const LIVE_EXAMPLES: &str = "\
A thread on each CPU sleeps most of the time: it is woken late by as much as any program of ordinary priority, and then looks at the clock for a moment, in which it sees gaps. What the kernel counts stands
beside it. All of it takes at most 2 % of one CPU, whatever the number of CPUs (of hundreds each is visited every few seconds), and the view says how much it took: it sees samples, and `tickmark tick` sees each gap.
As root, of at most 8 CPUs it says who had each, by the kernel's own events.

Keys: q ends, s sorts by the latest wake-up, b changes what the bars show (wake-ups, gaps, time lost, load, timer interrupts, clock reads), w shows who had each CPU in place of bars, t shows minutes instead of seconds, p pauses, arrows scroll.

Examples:
  tickmark live
  tickmark live --cpu 2-5
  tickmark live --duration 1h --format json > live.jsonl      an object a second, a line each";

#[derive(Debug, Args)]
pub(crate) struct Live {
    /// Watch these CPUs: 3, 0,2, 4-7 or all
    #[arg(long = "cpu", value_name = "LIST", value_delimiter = ',', value_parser = cpus, default_value = "all")]
    pub(crate) cpu: Vec<Cpus>,
    /// End after this time [default: with q or Ctrl-C]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Nanos>,
    #[command(flatten)]
    pub(crate) output: Output,
}

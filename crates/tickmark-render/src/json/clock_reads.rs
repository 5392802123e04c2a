//! Clock reads of a command.

use super::Page;
use crate::json_object;
use tickmark_analysis::clock_reads::Reads;

json_object! {
    /// How often a command reads clocks: which, and from where.
    pub struct ClockReads(reads: &Reads) {
        command: String = reads.command.clone(),
        runs: usize = reads.runs,
        /// Of a run, ns.
        time: f64 = reads.time,
        /// How often what --count names was done in a run.
        count: Option<f64> = reads.count,
        /// Why reads were not seen.
        not_seen: Vec<String> = reads.blind.clone(),
        /// `uprobes` or `preload`.
        by: &'static str = if reads.by_kernel { "uprobes" } else { "preload" },
        /// Calls of the C library's clock_gettime that the kernel counted (uprobes).
        kernel: Option<f64> = reads.kernel,
        system_calls: Option<Vec<CountPage>> = reads.system_calls.as_deref().map(each),
        calls: Vec<CountPage> = each(&reads.calls),
        clocks: Vec<CountPage> = each(&reads.clocks),
        sites: Vec<CountPage> = each(&reads.sites),
    }

    struct CountPage(name: &str, reads: f64) {
        name: String = name.to_owned(),
        reads: f64 = reads,
    }
}

fn each(all: &[(String, f64)]) -> Vec<CountPage> {
    all.iter().map(|(name, count)| CountPage::new(name, *count)).collect()
}

impl Page for ClockReads {
    const NAME: &'static str = "clock-reads";
}

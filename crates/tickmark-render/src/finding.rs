//! Notable findings of a recording, in words that say what to do.

use crate::noise::what;
use crate::number::{percent, time};
use crate::reason::{elsewhere, mark};
use crate::suggest::command;
use std::collections::BTreeMap;
use tickmark_analysis::report::{Finding, Mark, RowStatus};

pub(crate) fn text(finding: &Finding) -> String {
    match finding {
        Finding::NoVdso => {
            "this kernel has no vDSO: every clock read is a system call (vdso= on the command line?)"
                .to_owned()
        }
        Finding::KernelClock { clock, read, syscall, source } => format!(
            "a read of {clock} costs as much as its system call: {} and {}; clock source {source}",
            time(*read),
            time(*syscall)
        ),
        Finding::CostlyTick { share, cost, rate } => format!(
            "{} of the CPU time is lost to the tick: {} {rate:.0} times a second; a lower HZ or nohz_full avoids it",
            percent(*share),
            time(*cost)
        ),
        Finding::Noise { share, others, id } => {
            let each = others.iter().map(|(of, share)| format!("{} {}", what(of), percent(*share)));
            format!(
                "beside the tick {} of the CPU was lost in other gaps: {}; {} has each",
                percent(*share),
                each.collect::<Vec<_>>().join(", "),
                command(&format!("tick --of {id}"))
            )
        }
        Finding::PriorityRefused { priority, why } => {
            format!("priority {priority} was refused ({why}); measured at ordinary priority")
        }
        Finding::Slack { late, slack } => format!(
            "wake-up latency of clock_nanosleep is {}, of which timer slack allows up to {}; --slack 1ns or a real-time priority avoids that",
            time(*late),
            time(*slack)
        ),
        Finding::Contended { metrics, share, tasks } => format!(
            "up to {} of the CPU was not the probe's while {} measured: not the cost on an idle CPU; --priority fifo:50 keeps other tasks off, for 95 % of each second{}",
            percent(*share),
            names(metrics),
            by_whom(tasks, 3)
        ),
        Finding::Disturbed { metrics, share } => {
            format!("up to {} of the batches were disturbed for {}", percent(*share), names(metrics))
        }
        Finding::Steal { share } => {
            format!("the hypervisor took {} of the CPU time (steal)", percent(*share))
        }
        Finding::Frequency { low, high } => {
            format!(
                "a chain of multiplications ran as at {low:.2} to {high:.2} GHz: costs in ns moved with it"
            )
        }
        Finding::Backwards { steps } => format!("CLOCK_MONOTONIC went backwards between CPUs {steps} times"),
        Finding::Offset { nanos } => format!("CLOCK_MONOTONIC differs by {} between CPUs", time(*nanos)),
        Finding::Unsupported { metrics, why } => {
            format!("not supported here: {} ({})", names(metrics), reason(why.as_ref()))
        }
        Finding::Failed { metric, status: RowStatus::Timeout, why } => {
            format!("{metric} timed out: {}", reason(why.as_ref()))
        }
        Finding::Failed { metric, why, .. } => format!("{metric} failed: {}", reason(why.as_ref())),
        Finding::Incomplete { open, id, elsewhere: None } => {
            format!("{open} runs were not made yet: {}", command(&format!("run --resume {id}")))
        }
        Finding::Incomplete { open, elsewhere: Some(why), .. } => {
            format!("{open} runs were not made: {}", elsewhere(why))
        }
        Finding::Resumed { boots: 1, sessions } => format!("measured in {sessions} sessions"),
        Finding::Resumed { boots, sessions } => {
            format!("measured in {sessions} sessions over {boots} boots: the runs are not alike")
        }
        Finding::LeftOut { line } => line.clone(),
    }
}

fn reason(why: Option<&Mark>) -> String {
    why.map_or_else(|| "no reason is recorded".to_owned(), mark)
}

/// Which tasks had most CPU time, in s, so many at most; nothing where none is known.
pub(crate) fn by_whom(tasks: &BTreeMap<String, f64>, most: usize) -> String {
    let mut all: Vec<(&String, &f64)> = tasks.iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(a.1));
    let words: Vec<String> =
        all.iter().take(most).map(|(name, seconds)| format!("{name} {}", time(**seconds * 1e9))).collect();
    if words.is_empty() {
        return String::new();
    }
    format!("; busiest in the session, on any CPU: {}", words.join(", "))
}

/// Up to three names, and how many more.
fn names(all: &[String]) -> String {
    let more = all.len().saturating_sub(3);
    let some = all.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{some} and {more} more") } else { some }
}

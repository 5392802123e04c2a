//! Whose CPU time a command was.

use crate::noise::{Occupancy, summarize_occupancy};
use crate::sample::Sample;
use tickmark_stats::median;
use tickmark_store::Recording;
use tickmark_wire::{Arguments, names};

/// The items of a bill, in the order of the page; each is the name of its metric behind `bill.`.
pub const PARTS: [(&str, BillItem); 6] = [
    ("billed", BillItem::Billed),
    ("interrupts", BillItem::Interrupts),
    ("kernel_threads", BillItem::KernelThreads),
    ("others", BillItem::Others),
    ("no_task", BillItem::NoTask),
    ("unattributed", BillItem::Unattributed),
];

/// Whose a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BillItem {
    /// In the account of the command and of what it waited for.
    Billed,
    /// Interrupts in the account of whom they interrupted.
    Interrupts,
    /// Threads of the kernel, on behalf of whom is not known.
    KernelThreads,
    /// Tasks that are none of the command's.
    Others,
    /// In no task's account: steal, interrupts where these are kept apart, tasks that ended.
    NoTask,
    /// CPU time that the accounts have beyond the total.
    Unattributed,
}

/// A command's bill: medians of its runs, in ns.
#[derive(Debug)]
pub struct Bill {
    /// The command.
    pub command: String,
    /// How long it took beside the computing tasks, and without them.
    pub time: (f64, Option<f64>),
    /// The bill of an unwatched program, where one was measured.
    pub unwatched: Option<f64>,
    /// All that the computing tasks did not get.
    pub total: f64,
    /// Of that, and in each run.
    pub parts: Vec<(BillItem, f64, Vec<f64>)>,
    /// Runs beside the computing tasks.
    pub runs: usize,
    /// How often what is counted was done in a run, beside the computing tasks and without them.
    pub count: (Option<f64>, Option<f64>),
    /// Who had the CPUs in a run of its own, by the kernel's events; absent where they were not to be recorded, else the reason why they were not.
    pub recorded: Option<Result<Occupancy, String>>,
    /// True if it ran before it was looked at: then the interrupts that the machine has anyway are among those of the bill.
    pub ran_already: bool,
}

/// Of a command at most, in characters.
const LONGEST: usize = 60;

/// A command in one line, cut short.
pub(crate) fn shown(words: &str) -> String {
    let line =
        words.split(['\0', ' ', '\n', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} ...", &line[..at]),
        None => line,
    }
}

/// Whose it is.
fn subject(arguments: &Arguments) -> Option<String> {
    let argument = |name: &str| arguments.get(name).filter(|argument| !argument.is_empty());
    if let Some(pid) = argument("pid") {
        return Some(format!("process {pid}"));
    }
    argument("cgroup")
        .map(|folder| format!("cgroup {folder}"))
        .or_else(|| argument("words").map(|words| shown(words)))
}

/// The bill of a recording; none where it has none, and a reason where there is no figure.
#[must_use]
pub fn read_bill(recording: &Recording) -> Option<Result<Bill, String>> {
    let metric = |name: &str| recording.meta.plan.metrics.iter().find(|metric| metric.name.as_str() == name);
    let first = metric(names::BILL)?;
    let values = |name: &str| -> Vec<f64> {
        let sample = metric(name).map(|metric| Sample::from_recording(recording, metric));
        sample.into_iter().flat_map(|sample| sample.runs.into_iter().map(|run| run.value)).collect()
    };
    let middle = |name: &str| median(values(name));
    let part = |(name, what): (&str, BillItem)| {
        let each = values(&format!("bill.{name}"));
        Some((what, median(each.iter().copied())?, each))
    };
    let bill = || {
        let planned = recording.runs.iter().find(|run| run.planned.gives(&first.name))?;
        Some(Bill {
            command: subject(&planned.planned.arguments)?,
            time: (middle(names::BILL)?, middle(names::BILL_UNWATCHED)),
            unwatched: middle("bill.unwatched.billed"),
            total: middle("bill.total")?,
            parts: PARTS.into_iter().map(part).collect::<Option<_>>()?,
            runs: values(names::BILL).len(),
            count: (middle("bill.count"), middle("bill.unwatched.count")),
            recorded: summarize_occupancy(recording, names::BILL_EVENTS),
            ran_already: ["pid", "cgroup"]
                .iter()
                .any(|name| planned.planned.arguments.get(*name).is_some_and(|told| !told.is_empty())),
        })
    };
    let why = || {
        let failures = Sample::from_recording(recording, first).failures;
        failures.first().and_then(|run| run.reason()).unwrap_or("no run of it was made").to_owned()
    };
    Some(bill().ok_or_else(why))
}

//! Whose CPU time a command was, as text.

use crate::fold::wrapped;
use crate::grid::lines;
use crate::number::{percent, time};
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::bill::{Bill, BillItem};

const HEADING: Style = Style::new().bold();

pub(crate) fn name(what: BillItem) -> (&'static str, &'static str) {
    match what {
        BillItem::Billed => ("billed to it", "billed"),
        BillItem::Interrupts => ("interrupts charged to others", "interrupts"),
        BillItem::KernelThreads => ("threads of the kernel", "kernel_threads"),
        BillItem::Others => ("other tasks", "others"),
        BillItem::NoTask => ("no task's", "no_task"),
        BillItem::Unattributed => ("unattributed", "unattributed"),
    }
}

/// Title of an item.
pub(crate) fn title(what: BillItem) -> &'static str {
    name(what).0
}

/// A time that may be below zero.
pub(crate) fn signed_time(nanos: f64) -> String {
    signed(nanos, time)
}

fn signed(nanos: f64, text: fn(f64) -> String) -> String {
    if nanos < 0.0 { format!("-{}", text(-nanos)) } else { text(nanos) }
}

/// A row for each part: CPU time, and as a share of a CPU while the command ran.
#[must_use]
pub fn text(bill: &Bill) -> String {
    let mut out = format!("{HEADING}{}{HEADING:#}\n", bill.command);
    for line in wrapped(&answer(bill), 2) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    let took = bill.time.0;
    let several = bill.parts.iter().any(|(_, _, each)| each.len() > 1);
    let row = |(part, value, each): (&str, f64, &[f64])| {
        let ends = each.iter().copied().reduce(f64::min).zip(each.iter().copied().reduce(f64::max));
        let ends = ends.filter(|_| each.len() > 1);
        let runs = ends.map_or_else(String::new, |(low, high)| {
            format!("{} to {}", signed(low, time), signed(high, time))
        });
        let each = bill.count.0.filter(|count| *count > 0.0).map(|count| signed(value / count, time));
        let cells = [part.to_owned(), signed(value, time), signed(value / took, percent)];
        cells.into_iter().chain(each).chain(several.then_some(runs)).collect::<Vec<_>>()
    };
    let each = bill.count.0.filter(|count| *count > 0.0).map(|_| "for each");
    let middle = if several { "median" } else { "time" };
    let heading = ["CPU time", middle, "of one CPU"].into_iter().chain(each).chain(several.then_some("runs"));
    let heading: Vec<String> = heading.map(str::to_owned).collect();
    let last = heading.len() - usize::from(several);
    let parts = bill.parts.iter().map(|(what, value, each)| row((title(*what), *value, each)));
    let rows = std::iter::once(heading).chain([row(("total", bill.total, &[]))]).chain(parts);
    for (number, line) in lines(rows, 1..last).into_iter().enumerate() {
        let _ =
            if number == 0 { writeln!(out, "{HEADING}{line}{HEADING:#}") } else { writeln!(out, "{line}") };
    }
    if let Some(Ok(recorded)) = &bill.recorded {
        out.push('\n');
        out += &crate::witness::occupancy(recorded);
    }
    for line in wrapped(&notes(bill), 0) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The answer in a sentence: what is billed, the whole, and who had the most of the rest.
fn answer(bill: &Bill) -> String {
    let value = |item: BillItem| {
        bill.parts.iter().find(|(what, ..)| *what == item).map_or(0.0, |(_, value, _)| *value)
    };
    let billed = format!("{} of CPU time is billed to it", signed(value(BillItem::Billed), time));
    let largest = bill.parts.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
    if bill.total > 0.0 && value(BillItem::Billed) > bill.total {
        let took = signed(bill.total, time);
        return format!("{billed}, more than all that ran was measured to take ({took})");
    }
    if bill.total <= 0.0 || largest > bill.total {
        let left = value(BillItem::Unattributed);
        let left =
            if left == 0.0 { String::new() } else { format!(" ({} unattributed)", signed(left, time)) };
        return format!(
            "{billed}; the accounts of all that ran do not add up{left}: perhaps the command is too short, or other tasks ran; more runs (--runs) or a longer command tell more"
        );
    }
    let rest = bill.parts.iter().filter(|(what, ..)| *what != BillItem::Billed);
    let most = rest.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, value, _)| *value > 0.0);
    let most = most.map_or_else(String::new, |(what, value, _)| {
        format!(", most of the rest {}: {}", title(*what), time(*value))
    });
    format!("{billed}; in its {} all that ran took {}{most}", time(bill.time.0), time(bill.total))
}

fn notes(bill: &Bill) -> String {
    let took = if bill.ran_already { "It was looked at for" } else { "It took" };
    let mut text = format!("\n{took} {} beside the computing tasks", time(bill.time.0));
    if let Some(count) = bill.count.0 {
        let _ = write!(text, " and did {count:.0} of what is counted");
    }
    if let (Some(without), Some(billed)) = (bill.time.1, bill.unwatched) {
        let _ = write!(
            text,
            ", and {} without them, billed {}: they keep CPUs from idling, and change the system",
            time(without),
            time(billed)
        );
    }
    if let (Some(count), Some(billed)) = (bill.count.1.filter(|count| *count > 0.0), bill.unwatched) {
        let _ = write!(text, " (without them {count:.0}, billed {} for each)", time(billed / count));
    }
    if bill.ran_already {
        text += ". It ran before it was looked at: what interrupts cost here anyway, ticks among them, is in the total and in the interrupts";
    }
    text += ". total: what a task of the lowest priority (SCHED_IDLE) on each CPU did not get, with what it usually loses subtracted. billed: the account of the command and of what it waited for, \
             with interrupts that came while it ran. interrupts: came while those tasks computed, whoever they were for; negative where the command was billed for time that they had (a task that \
             another CPU wakes is billed from before it runs). no task's: steal, interrupts where the kernel keeps them apart, and tasks that ended unwaited for, or cannot be seen. Other tasks' work on the command's behalf is \
             theirs here.";
    match &bill.recorded {
        Some(Ok(recorded)) => text += &crate::witness::occupancy_notes(recorded),
        Some(Err(why)) => {
            let _ = write!(text, " Who had the CPUs, by name, was not recorded: {why}.");
        }
        None => {}
    }
    if bill.parts.iter().any(|(what, value, _)| *what == BillItem::Interrupts && *value < 0.0) {
        text += " The interrupts are negative here: overbilling is larger than they are.";
    }
    text
}

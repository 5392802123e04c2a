//! Why wake-ups were late, by the kernel's own events, as text.

use crate::fold::wrapped;
use crate::grid::fitting_table;
use crate::number::{count, percent, time};
use std::fmt::Write;
use tickmark_analysis::noise::{Cause, LateGroup, LateWake, LateWakes, Link, Quantile, Reason, WITHOUT};

/// Reasons that have a row, and of which the first screen tells.
const ROWS: usize = 8;
const TOLD: usize = 3;
/// Wake-ups that are told link by link, the latest.
const CHAINS: usize = 3;

/// In a sentence: how many of the latest wake-ups had which reason.
pub(crate) fn summary(late: &LateWakes) -> String {
    let (length, known) = late.beyond;
    if known == 0 {
        return format!(
            "Why late, by the kernel's events: none of {} has a known chain.",
            wakes(late.wake_ups)
        );
    }
    let one = |group: &LateGroup| match group.reason.link {
        Link::Switch => format!("{} {}", group.count, group_words(group)),
        _ => format!("{} by {}", group.count, group_words(group)),
    };
    let mut lines: Vec<String> = late.groups.iter().take(TOLD).map(one).collect();
    let others: usize = late.groups.iter().skip(TOLD).map(|group| group.count).sum();
    lines.extend((others > 0).then(|| format!("{others} for other reasons")));
    let unknown = late.unknown.len();
    lines.extend((unknown > 0).then(|| format!("{unknown} more without a known chain")));
    let later = if length > 0.0 { format!(" later than {}", time(length)) } else { String::new() };
    format!(
        "Why late, by the kernel's events: of {}{later} ({} in all) {}.",
        wakes(known),
        late.wake_ups,
        lines.join("; ")
    )
}

fn wakes(number: usize) -> String {
    count(u32::try_from(number).unwrap_or(u32::MAX), "wake-up")
}

/// The reasons with what the tail would be without each, and the chains of the latest.
pub(crate) fn tables(late: &LateWakes) -> String {
    let mut out = String::new();
    let shown: Vec<usize> = (0..WITHOUT.len()).filter(|at| late.quantiles[*at].is_some()).collect();
    let heading = ["why late", "wake-ups", "latest"].map(str::to_owned);
    let without = |at: &usize| format!("p{} without", WITHOUT[*at] * 100.0);
    let mut rows = vec![heading.into_iter().chain(shown.iter().map(without)).collect::<Vec<String>>()];
    for group in late.groups.iter().take(ROWS) {
        let first = [group_words(group), group.count.to_string(), time(group.longest)];
        let without = |at: &usize| tail(group.without[*at], late.above);
        rows.push(first.into_iter().chain(shown.iter().map(without)).collect());
    }
    let others: usize = late.groups.iter().skip(ROWS).map(|group| group.count).sum();
    if others > 0 {
        let mut row = vec![format!("{} other reasons", late.groups.len() - ROWS), others.to_string()];
        row.resize(rows[0].len(), String::new());
        rows.push(row);
    }
    fitting_table(&mut out, &rows, &[1, 2, 3, 4], &[2]);
    let _ = writeln!(out);
    for wake in late.latest.iter().take(CHAINS) {
        let _ = writeln!(out, "{}", wrapped(&chain(wake), 2).join("\n").trim_start());
    }
    out
}

/// A quantile of the latest.
pub(crate) fn tail(quantile: Option<Quantile>, above: f64) -> String {
    quantile.map_or_else(|| format!("< {}", time(above)), |known| time(known.value))
}

/// How the reasons came about, and what is not known.
pub(crate) fn notes(late: &LateWakes, confidence: f64) -> Vec<String> {
    let mut notes = vec![format!(
        "Why late: {}, in runs with the kernel's tracepoints recorded; the latencies above are from runs without. A reason is what most of the time from the wait's end to \
         the program's next reading of the clock was. Late interrupt: the timer's interrupt, or its soft interrupt, came late: the task had interrupts off (or, on PREEMPT_RT, a higher priority), an idle CPU was slow to leave its idle \
         state, or the CPU was outside of this kernel. p99 without: predicted for the same wake-ups, with its time of that cause subtracted from each.",
        late.title
    )];
    let usual = (0..WITHOUT.len()).filter_map(|at| Some((WITHOUT[at], late.quantiles[at]?)));
    let usual: Vec<String> = usual
        .map(|(q, known)| {
            let limits = match known.limits {
                [low, Some(high)] => {
                    let low = low.map_or_else(|| format!("less than {}", time(late.above)), time);
                    format!(" ({low} to {}, {})", time(high), percent(confidence))
                }
                [_, None] => String::new(),
            };
            format!("p{} {}{limits}", q * 100.0, time(known.value))
        })
        .collect();
    if !usual.is_empty() {
        notes.push(format!("With the events recorded: {}.", usual.join(", ")));
    }
    if late.latest.iter().any(|wake| wake.links.iter().any(|(link, _)| *link == Link::Idle)) {
        notes.push(
            "From an idle CPU: this kernel records nothing while a CPU is idle, nor what comes next; the timer's interrupt and the switch are not \
             told apart there."
                .to_owned(),
        );
    }
    if !late.unknown.is_empty() {
        notes.push(format!(
            "{} without a known chain: the program did not sleep, or events are missing (the kernel could not write {}). They are in all quantiles, unchanged.",
            wakes(late.unknown.len()),
            late.dropped
        ));
    }
    notes
}

/// One wake-up, link by link.
fn chain(wake: &LateWake) -> String {
    let link = |(link, length): &(Link, f64)| {
        let own = wake.parts.iter().filter(|(reason, _)| reason.link == *link);
        let most = own.max_by(|a, b| a.1.total_cmp(b.1)).and_then(|(reason, _)| reason.cause.as_ref());
        let most = most.filter(|cause| **cause != Cause::Outside || *link != Link::Return);
        let most = most.map_or_else(String::new, |cause| format!(" ({})", cause.words()));
        format!("{} {}{most}", step(*link), time(*length))
    };
    let links: Vec<String> = wake.links.iter().map(link).collect();
    format!("at {:.6} s, {} late: {}", wake.at / 1e9, time(wake.late), links.join(", "))
}

/// A link in words.
fn step(link: Link) -> &'static str {
    match link {
        Link::Slack => "timer slack",
        Link::Interrupt => "until the timer's interrupt",
        Link::Handler => "in the interrupt",
        Link::Elsewhere => "until another CPU woke the program",
        Link::Switch => "until the program had the CPU",
        Link::Return => "until it read the clock",
        Link::Idle => "from an idle CPU until the program read the clock",
    }
}

/// The reason of several wake-ups in words.
fn group_words(group: &LateGroup) -> String {
    match &group.reason.cause {
        Some(Cause::Task { name, .. }) if group.tasks > 1 => {
            reason_words(group.reason.link, &format!("{name} ({} tasks)", group.tasks))
        }
        _ => words(&group.reason),
    }
}

/// A reason in words.
pub(crate) fn words(reason: &Reason) -> String {
    match (reason.link, &reason.cause) {
        (Link::Idle, None) => "a wake-up from an idle CPU".to_owned(),
        (link, None) => step(link).to_owned(),
        (Link::Switch, Some(Cause::Idle)) => "the switch from idle".to_owned(),
        (Link::Return, Some(Cause::Outside)) => "the way back into the program".to_owned(),
        (Link::Switch, Some(cause)) if !matches!(cause, Cause::Task { .. }) => {
            format!("{}, before the switch to it", cause.words())
        }
        (link, Some(cause)) => reason_words(link, &cause.words()),
    }
}

fn reason_words(link: Link, what: &str) -> String {
    match link {
        Link::Interrupt => format!("late interrupt ({what})"),
        Link::Handler => format!("{what} in the timer's interrupt"),
        Link::Elsewhere => format!("late wake-up by another CPU (here: {what})"),
        Link::Switch => format!("waited for {what}"),
        Link::Slack | Link::Return | Link::Idle => format!("{what} on the way back into the program"),
    }
}

/// What kept the kernel's events from being recorded.
pub(crate) fn without_events(why: &str) -> String {
    format!("Why wake-ups were late is not known: {why}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn reasons_and_chains_are_told() {
        let task = |thread| Cause::Task { name: "make".to_owned(), thread, cgroup: None, real_time: false };
        let waited = Reason { link: Link::Switch, cause: Some(task(7)) };
        let slack = Reason { link: Link::Slack, cause: None };
        let late = Reason { link: Link::Interrupt, cause: Some(Cause::Idle) };
        let soft = Reason { link: Link::Switch, cause: Some(Cause::SoftInterrupt("RCU".to_owned())) };
        let known = |value| Some(Quantile { value, limits: [Some(value * 0.9), Some(value * 1.2)] });
        let group = |reason: &Reason, tasks, count, longest| LateGroup {
            reason: reason.clone(),
            tasks,
            count,
            longest,
            without: [None, known(longest / 3.0)],
        };
        let groups = vec![
            group(&waited, 3, 31, 2_400_000.0),
            group(&slack, 1, 12, 130_000.0),
            group(&late, 1, 9, 400_000.0),
            group(&soft, 1, 2, 230_000.0),
        ];
        let parts = [(waited, 390_000.0), (slack, 50_000.0), (late, 9_000.0)];
        let wake = LateWake {
            at: 1.25e9,
            late: 460_000.0,
            links: vec![
                (Link::Slack, 50_000.0),
                (Link::Interrupt, 9_000.0),
                (Link::Switch, 390_000.0),
                (Link::Return, 11_000.0),
            ],
            parts: parts.into_iter().collect::<BTreeMap<Reason, f64>>(),
        };
        let page = LateWakes {
            title: "clock_nanosleep".to_owned(),
            wake_ups: 12_000,
            above: 80_000.0,
            beyond: (100_000.0, 54),
            slack: 50_000.0,
            quantiles: [None, known(900_000.0)],
            groups,
            latest: vec![wake],
            unknown: vec![90_000.0; 2],
            dropped: 5,
        };
        let all = [summary(&page), tables(&page), notes(&page, 0.95).join("\n"), without_events("EPERM")];
        insta::assert_snapshot!(all.join("\n\n"));
    }
}

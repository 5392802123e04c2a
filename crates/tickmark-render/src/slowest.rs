//! What had the server's CPU during the slowest requests, as text.

use crate::fold::wrapped;
use crate::grid::fitting_table;
use crate::late::tail;
use crate::number::{count, time};
use std::fmt::Write;
use tickmark_analysis::noise::{Cause, Slowest, SlowestGroup, WITHOUT};

/// Causes that have a row, and of which the sentence tells.
const ROWS: usize = 6;
const TOLD: usize = 3;

/// In a sentence and a table.
pub(crate) fn block(out: &mut String, slowest: &Slowest) {
    let _ = writeln!(out);
    for line in wrapped(&summary(slowest), 2) {
        let _ = writeln!(out, "{line}");
    }
    if slowest.groups.is_empty() {
        return;
    }
    let shown: Vec<usize> =
        (0..WITHOUT.len()).filter(|at| slowest.unknown == 0 && slowest.quantiles[*at].is_some()).collect();
    let heading = ["had the server's CPU", "requests", "longest"].map(str::to_owned);
    let without = |at: &usize| format!("p{} without", WITHOUT[*at] * 100.0);
    let mut rows = vec![heading.into_iter().chain(shown.iter().map(without)).collect::<Vec<String>>()];
    for group in slowest.groups.iter().take(ROWS) {
        let first = [words(group), group.count.to_string(), time(group.longest)];
        let without = |at: &usize| tail(group.without[*at], slowest.above);
        rows.push(first.into_iter().chain(shown.iter().map(without)).collect());
    }
    let usual = ["(all of them, as they were)".to_owned(), slowest.kept.to_string(), String::new()];
    let own = |at: &usize| tail(slowest.quantiles[*at], slowest.above);
    rows.push(usual.into_iter().chain(shown.iter().map(own)).collect());
    fitting_table(out, &rows, &[1, 2, 3, 4], &[2]);
}

fn summary(slowest: &Slowest) -> String {
    let requests = |number: usize| count(u32::try_from(number).unwrap_or(u32::MAX), "request");
    let one = |group: &SlowestGroup| format!("{} while {} had its CPU", group.count, words(group));
    let mut lines: Vec<String> = slowest.groups.iter().take(TOLD).map(one).collect();
    let others: usize = slowest.groups.iter().skip(TOLD).map(|group| group.count).sum();
    lines.extend((others > 0).then(|| format!("{others} for others")));
    lines.extend(
        (slowest.unexplained > 0)
            .then(|| format!("{} for the server itself, its queue or its client", slowest.unexplained)),
    );
    lines.extend((slowest.unknown > 0).then(|| format!("{} for what is not known", slowest.unknown)));
    let missing = match slowest.dropped {
        0 => String::new(),
        dropped => format!(
            " {dropped} events were dropped: what had the CPU after that is not known, nor what p99 would be without it."
        ),
    };
    format!(
        "Why slow, by the kernel's events: of the {} above {} ({} in all) the server waited in {}.{missing}",
        requests(slowest.kept),
        time(slowest.above),
        slowest.requests,
        lines.join("; ")
    )
}

fn words(group: &SlowestGroup) -> String {
    match &group.cause {
        Cause::Task { name, .. } if group.tasks > 1 => format!("{name} ({} tasks)", group.tasks),
        cause => cause.words(),
    }
}

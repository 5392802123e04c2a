//! Transactions over HTTP, as text.

use crate::fold::wrapped;
use crate::grid::table;
use crate::number::{count, percent, time, value};
use anstyle::Style;
use std::fmt::Write;
use tickmark_analysis::http::{FULL, HttpSummary, LATE, Limit, Load};
use tickmark_analysis::report::Unit;
use tickmark_analysis::sample::Spread;
use tickmark_stats::Estimate;

const HEADING: Style = Style::new().bold();
/// Quantiles of latencies, by the name of each.
pub(crate) const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
pub(crate) const TIMES: [(&str, &str); 3] =
    [("service latency", "service"), (RESPONSE, "response"), ("lateness of the client", "late")];
pub(crate) const RESPONSE: &str = "response latency";

fn rate(rate: f64) -> String {
    value(rate, None, Unit::Rate)
}

/// A block for each load, and the notes.
#[must_use]
pub fn text(all: &[Load]) -> String {
    blocks(all, block, &notes(all))
}

/// The text that `block` makes of each load under its title, or the reason why there is no figure; and the notes.
pub(crate) fn blocks<T>(all: &[Load<T>], block: fn(&mut String, &T), notes: &str) -> String {
    let mut out = String::new();
    for load in all {
        let _ = writeln!(out, "{HEADING}{}{HEADING:#}", load.title);
        match &load.summary {
            Ok(summary) => block(&mut out, summary),
            Err(why) => out += &(wrapped(&format!("no figure: {why}"), 0).join("\n") + "\n"),
        }
        out.push('\n');
    }
    for line in wrapped(notes, 0) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The answer in a sentence: how many, what each costs and takes, and what was the limit.
fn answer(observed: &HttpSummary) -> String {
    let mut parts = Vec::new();
    if !observed.limit.refuses_rate() {
        parts.push(rate(observed.rate.point));
    }
    parts.extend(Some(limit(observed)).filter(|limit| !limit.is_empty()));
    let [server, client] = observed.cpu.each_ref().map(Option::as_ref);
    parts.push(match (server, client) {
        (Some(server), Some(client)) => {
            format!(
                "each transaction costs the server {} of CPU time and the client {}",
                time(server.point),
                time(client.point)
            )
        }
        (Some(server), None) => {
            format!("each transaction costs the server {} of CPU time", time(server.point))
        }
        (None, Some(client)) => {
            format!("each transaction costs the client {} of CPU time", time(client.point))
        }
        (None, None) => return parts.join(", "),
    });
    let refused = observed.limit.refuses_response();
    let latency = observed.times[1].as_ref().filter(|_| !refused).or(observed.times[0].as_ref());
    parts.extend(
        latency.map(|times| format!("99 of 100 answers take at most {}", time(times.quantile(0.99)))),
    );
    let missed = observed.missed.unwrap_or(0.0);
    parts.extend((observed.failed > 0.0).then(|| format!("{} failed", percent(observed.failed))));
    parts.extend((missed > 0.0).then(|| format!("{} were due and not sent", percent(missed))));
    parts.join("; ")
}

fn block(out: &mut String, observed: &HttpSummary) {
    for line in wrapped(&answer(observed), 2) {
        let _ = writeln!(out, "{line}");
    }
    let ends = |all: &Estimate, text: fn(f64) -> String| {
        let (low, high) = (text(all.interval.low), text(all.interval.high));
        if observed.runs > 1 { format!("{low} to {high}") } else { String::new() }
    };
    let none = String::new;
    let interval = observed.rate.confidence;
    let heading = [
        "for each transaction",
        "median",
        &format!("{} interval", percent(interval)),
        "in the kernel",
        "waited",
    ]
    .map(str::to_owned);
    let mut rows = vec![heading.to_vec()];
    for (at, name) in ["CPU time, server", "CPU time, client"].into_iter().enumerate() {
        if let Some(cpu) = &observed.cpu[at] {
            let system = observed.system[at].map_or_else(none, percent);
            let waited = observed.waited[at].map_or_else(none, time);
            rows.push(vec![name.to_owned(), time(cpu.point), ends(cpu, time), system, waited]);
        }
    }
    for (name, count) in
        ["context switches", "interrupts", "clock reads, client"].into_iter().zip(observed.counts)
    {
        if let Some(count) = count {
            rows.push(vec![name.to_owned(), format!("{count:.2}"), none(), none(), none()]);
        }
    }
    let shown = if observed.limit.refuses_rate() { "refused".to_owned() } else { rate(observed.rate.point) };
    rows.push(vec!["transactions".to_owned(), shown, ends(&observed.rate, rate), none(), none()]);
    // Columns without a figure are none.
    for column in [4, 3, 2] {
        if rows[1..].iter().all(|row| row[column].is_empty()) {
            rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    let columns = rows[0].len();
    table(out, rows, 1..columns);
    latencies(out, observed);
    if observed.failed > 0.0 {
        let kinds: Vec<String> =
            observed.faults.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let _ =
            writeln!(out, "failed: {} of all; in all runs {}", percent(observed.failed), kinds.join(", "));
    }
    if let Some(missed) = observed.missed.filter(|missed| *missed > 0.0) {
        let _ = writeln!(out, "due and not sent until the end: {}", percent(missed));
    }
    match &observed.slowest {
        Some(Ok(slowest)) => crate::slowest::block(out, slowest),
        Some(Err(why)) => {
            let why = format!("Why the slowest were slow is not known: {why}.");
            for line in wrapped(&why, 0) {
                let _ = writeln!(out, "{line}");
            }
        }
        None => {}
    }
}

fn latencies(out: &mut String, observed: &HttpSummary) {
    let row = |(times, (name, _)): (&Option<Spread>, (&str, &str))| {
        let times = times.as_ref()?;
        if name == RESPONSE && observed.limit.refuses_response() {
            return Some(vec![name.to_owned(), "refused".to_owned()]);
        }
        let all = QUANTILES.iter().map(|(_, q)| time(times.quantile(*q))).chain([time(times.most)]);
        Some(std::iter::once(name.to_owned()).chain(all).collect::<Vec<_>>())
    };
    let rows: Vec<_> = observed.times.iter().zip(TIMES).filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    let heading =
        [""].into_iter().chain(QUANTILES.map(|(name, _)| name)).chain(["max"]).map(str::to_owned).collect();
    table(out, std::iter::once(heading).chain(rows), 1..6);
}

/// Beside the rate.
fn limit(observed: &HttpSummary) -> String {
    match observed.limit {
        Limit::Client => "the client was the limit".to_owned(),
        Limit::Late => "the client was late".to_owned(),
        Limit::Server => "the server was the limit".to_owned(),
        Limit::Shared => "client and server share one CPU, which was the limit".to_owned(),
        Limit::None => String::new(),
    }
}

fn notes(all: &[Load]) -> String {
    let observed = || all.iter().filter_map(|load| load.summary.as_ref().ok());
    let mut text = String::new();
    if let Some(runs) = observed().map(|observed| observed.runs).max() {
        let _ = write!(
            text,
            "Medians of {}, with the interval that holds the median of such runs. ",
            count(runs as u32, "run")
        );
    }
    text += "CPU time is that of all processes of each side, soft interrupts that came while they ran included; it holds on a machine where others run, too. Transactions a second hold only for a \
             machine as idle as this one. Waited: runnable without a CPU.";
    if observed().any(|observed| observed.limit == Limit::Client) {
        let _ = write!(
            text,
            " Refused: the client used or waited for {} of its CPU or more, so that the server could have done more; the interval is that of what the client did.",
            percent(FULL)
        );
    }
    if observed().any(|observed| observed.limit == Limit::Late) {
        let _ = write!(
            text,
            " Refused: the client's own lateness is more than {} of the response latency (99th percentiles): give it a real-time priority (--priority fifo:50) or a CPU of its own.",
            percent(LATE)
        );
    }
    if observed().any(|observed| observed.times[1].is_some()) {
        text += " Service latency begins when a request is sent, response latency when it is due: what waits for a connection waits in it. Lateness of the client is no wait for a connection. What \
                 failed has no latency.";
    }
    text
}

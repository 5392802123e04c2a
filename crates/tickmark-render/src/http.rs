//! Transactions over HTTP, as text and JSON.

use crate::grid::{table, wrapped};
use crate::number::{count, percent, time, value};
use anstyle::Style;
use serde_json::{Value, json};
use std::fmt::Write;
use tickmark_analysis::http::{FULL, HttpSummary, LATE, Limit, Load};
use tickmark_analysis::report::Unit;
use tickmark_analysis::sample::Spread;
use tickmark_stats::Estimate;

const HEADING: Style = Style::new().bold();
/// Quantiles of latencies, by the name of each.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
const TIMES: [(&str, &str); 3] =
    [("service latency", "service"), (RESPONSE, "response"), ("lateness of the client", "late")];
const RESPONSE: &str = "response latency";

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

fn block(out: &mut String, seen: &HttpSummary) {
    let ends = |all: &Estimate, text: fn(f64) -> String| {
        let (low, high) = (text(all.interval.low), text(all.interval.high));
        if seen.runs > 1 { format!("{low} to {high}") } else { String::new() }
    };
    let of = |at: usize| {
        let system = seen.system[at].map(|share| format!("{} in the kernel", percent(share)));
        let waited = seen.waited[at].map(|waited| format!("and {} runnable without a CPU", time(waited)));
        system.into_iter().chain(waited).collect::<Vec<_>>().join(", ")
    };
    let interval = seen.rate.confidence;
    let heading =
        ["for each transaction", "median", &format!("{} interval", percent(interval)), ""].map(str::to_owned);
    let mut rows = vec![heading.to_vec()];
    for (at, name) in ["CPU time, server", "CPU time, client"].into_iter().enumerate() {
        if let Some(cpu) = &seen.cpu[at] {
            rows.push(vec![name.to_owned(), time(cpu.point), ends(cpu, time), of(at)]);
        }
    }
    for (name, count) in
        ["context switches", "interrupts", "clock reads, client"].into_iter().zip(seen.counts)
    {
        if let Some(count) = count {
            rows.push(vec![name.to_owned(), format!("{count:.2}"), String::new(), String::new()]);
        }
    }
    let shown = if seen.limit.refuses_rate() { "refused".to_owned() } else { rate(seen.rate.point) };
    rows.push(vec!["transactions".to_owned(), shown, ends(&seen.rate, rate), limit(seen)]);
    table(out, rows, [1, 2]);
    latencies(out, seen);
    if seen.failed > 0.0 {
        let kinds: Vec<String> = seen.faults.iter().map(|(name, count)| format!("{count} {name}")).collect();
        let _ = writeln!(out, "failed: {} of all; in all runs {}", percent(seen.failed), kinds.join(", "));
    }
    if let Some(missed) = seen.missed.filter(|missed| *missed > 0.0) {
        let _ = writeln!(out, "due and not sent until the end: {}", percent(missed));
    }
}

fn latencies(out: &mut String, seen: &HttpSummary) {
    let row = |(times, (name, _)): (&Option<Spread>, (&str, &str))| {
        let times = times.as_ref()?;
        if name == RESPONSE && seen.limit.refuses_response() {
            return Some(vec![name.to_owned(), "refused".to_owned()]);
        }
        let all = QUANTILES.iter().map(|(_, q)| time(times.quantile(*q))).chain([time(times.most)]);
        Some(std::iter::once(name.to_owned()).chain(all).collect::<Vec<_>>())
    };
    let rows: Vec<_> = seen.times.iter().zip(TIMES).filter_map(row).collect();
    if rows.is_empty() {
        return;
    }
    let heading =
        [""].into_iter().chain(QUANTILES.map(|(name, _)| name)).chain(["max"]).map(str::to_owned).collect();
    table(out, std::iter::once(heading).chain(rows), 1..6);
}

/// Beside the rate.
fn limit(seen: &HttpSummary) -> String {
    match seen.limit {
        Limit::Client => "the client was the limit".to_owned(),
        Limit::Late => "the client was late".to_owned(),
        Limit::Server => "the server was the limit".to_owned(),
        Limit::Shared => "their one CPU was the limit".to_owned(),
        Limit::None => String::new(),
    }
}

fn notes(all: &[Load]) -> String {
    let seen = || all.iter().filter_map(|load| load.summary.as_ref().ok());
    let mut text = String::new();
    if let Some(runs) = seen().map(|seen| seen.runs).max() {
        let _ = write!(
            text,
            "Medians of {}, with the interval that holds the median of such runs. ",
            count(runs as u32, "run")
        );
    }
    text += "CPU time is that of all processes of each side, soft interrupts that came while they ran included; it holds on a machine where others run, too. Transactions a second hold only for a \
             machine as idle as this one.";
    if seen().any(|seen| seen.limit == Limit::Client) {
        let _ = write!(
            text,
            " Refused: the client used or waited for {} of its CPU or more, so that the server could have done more; the interval is that of what the client did.",
            percent(FULL)
        );
    }
    if seen().any(|seen| seen.limit == Limit::Late) {
        let _ = write!(
            text,
            " Refused: the client's own lateness is more than {} of the response latency (99th percentiles): give it a real-time priority (--priority fifo:50) or a CPU of its own.",
            percent(LATE)
        );
    }
    if seen().any(|seen| seen.times[1].is_some()) {
        text += " Service latency begins when a request is sent, response latency when it is due: what waits for a connection waits in it. Lateness of the client is no wait for a connection. What \
                 failed has no latency.";
    }
    text
}

/// The same for programs, in ns.
#[must_use]
pub fn json(all: &[Load]) -> Value {
    let estimate = |all: &Option<Estimate>| {
        all.as_ref().map(|all| json!({ "median": all.point, "low": all.interval.low, "high": all.interval.high, "confidence": all.confidence }))
    };
    let times = |times: &Option<Spread>| {
        let times = times.as_ref()?;
        let quantiles: std::collections::BTreeMap<_, _> =
            QUANTILES.iter().map(|(name, q)| (*name, times.quantile(*q))).collect();
        Some(json!({ "count": times.count, "mean": times.mean, "max": times.most, "quantiles": quantiles }))
    };
    let seen = |seen: &HttpSummary| {
        let [server, client] = &seen.cpu;
        let both = |values: [Option<f64>; 2]| json!({ "server": values[0], "client": values[1] });
        let latency: std::collections::BTreeMap<_, _> = seen
            .times
            .iter()
            .zip(TIMES)
            .map(|(all, (title, name))| {
                let refused = title == RESPONSE && seen.limit.refuses_response();
                (name, times(all).filter(|_| !refused))
            })
            .collect();
        let faults: std::collections::BTreeMap<_, _> = seen.faults.iter().cloned().collect();
        let limit = match seen.limit {
            Limit::Client => "client",
            Limit::Server => "server",
            Limit::Shared => "shared_cpu",
            Limit::Late => "late",
            Limit::None => "none",
        };
        json!({
            "runs": seen.runs, "rate": estimate(&Some(seen.rate).filter(|_| !seen.limit.refuses_rate())), "reached": estimate(&Some(seen.rate)), "limit": limit,
            "cpu": { "server": estimate(server), "client": estimate(client) }, "system_share": both(seen.system), "waited": both(seen.waited), "busy": both(seen.busy),
            "switches": seen.counts[0], "interrupts": seen.counts[1], "clock_reads": seen.counts[2], "failed": seen.failed, "faults": faults, "missed": seen.missed, "latency": latency,
        })
    };
    let load = |load: &Load| {
        let error = load.summary.as_ref().err();
        json!({ "metric": load.metric, "title": load.title, "told": load.arguments, "seen": load.summary.as_ref().ok().map(seen), "error": error })
    };
    json!({ "loads": all.iter().map(load).collect::<Vec<_>>() })
}

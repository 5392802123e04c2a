//! wrk and wrk2: each run in a file is a run. wrk2's corrected and uncorrected latencies are metrics of their own.

use super::number::{percentile, unit};
use super::{begin, each_run, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.contains("Requests/sec:") && text.contains(" test @ ")
}

/// Which latencies a distribution lists.
fn distribution(line: &str) -> Option<&'static str> {
    line.trim_start().starts_with("Latency Distribution").then(|| match line {
        line if line.contains("Uncorrected") => "uncorrected",
        line if line.contains("HdrHistogram") => "corrected",
        _ => "latency",
    })
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    each_run(name, text, |line| line.contains(" test @ "), run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let is_wrk2 = text.lines().any(|line| distribution(line) == Some("corrected"));
    let mut found = begin(if is_wrk2 { "wrk2" } else { "wrk" }, name);
    let (mut round, mut latencies) = (0, None);
    let mut wrong = None;
    found.take_lines(text, |found, line| {
        let put = |found: &mut Imported, metric: &str, unit, better, value: Printed| {
            found.figure(metric, unit, better, round, value);
        };
        if let Some((_, url)) = line.split_once(" test @ ") {
            (round, latencies) = (round + 1, None);
            found.know("wrk.url", url, name);
            return true;
        }
        if let Some(which) = distribution(line) {
            latencies = Some(which);
            return true;
        }
        if line.contains("Detailed Percentile spectrum") {
            latencies = None;
            return true;
        }
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            ["Requests/sec:", rate] => match Printed::parse(rate.as_bytes()) {
                Some(rate) => put(found, "wrk.requests", Unit::Rate, Better::Higher, rate),
                None => wrong = Some(format!("{rate} is no rate")),
            },
            // Its KB and MB are powers of 1,024.
            ["Transfer/sec:", rate] => match binary(rate) {
                Some(bytes) => put(found, "wrk.transfer", Unit::Throughput, Better::Higher, bytes),
                None => return false,
            },
            ["Latency", average, _, most, _] => {
                for (which, nanos) in [("avg", time(average)), ("max", time(most))] {
                    if let Some(nanos) = nanos {
                        put(found, &format!("wrk.latency.{which}"), Unit::Time, Better::Lower, nanos);
                    }
                }
            }
            [percent, at] if latencies.is_some() && percent.ends_with('%') => {
                let share = percent.trim_end_matches('%');
                let metric = match latencies {
                    Some("uncorrected") => "wrk.latency_uncorrected",
                    _ => "wrk.latency",
                };
                match time(at).filter(|_| share.parse::<f64>().is_ok()) {
                    Some(nanos) => put(
                        found,
                        &format!("{metric}.{}", percentile(share)),
                        Unit::Time,
                        Better::Lower,
                        nanos,
                    ),
                    None => return false,
                }
            }
            [threads, "threads", "and", connections, "connections"] => {
                found.know("wrk.threads", threads, name);
                found.know("wrk.connections", connections, name);
            }
            ["Thread", "Stats", ..] | ["Req/Sec", ..] | [_, "requests", "in", ..] => {}
            // The lines of wrk2's spectrum and its calibration.
            ["Thread", "calibration:", ..]
            | ["#[Mean" | "#[Max" | "#[Buckets", ..]
            | ["Value", "Percentile", ..] => {}
            ["-----", ..] | [_, _, _, "inf"] => {}
            [_, _, _, last] if last.parse::<f64>().is_ok() => {}
            // "Non-2xx or 3xx responses: 7", "Socket errors: connect 0, read 49, write 0, timeout 458".
            _ => {
                let Some((what, counts)) = line.split_once(':') else { return false };
                let metric = match what.trim() {
                    "Non-2xx or 3xx responses" => "wrk.errors.status",
                    "Socket errors" => "wrk.errors.socket",
                    _ => return false,
                };
                let sum: f64 = counts.split(',').filter_map(first_number).map(|count| count.value).sum();
                put(found, metric, Unit::Count, Better::Lower, sum.into());
            }
        }
        true
    });
    wrong.map_or(Ok(found), Err)
}

/// A number and a unit of powers of 1,024.
fn binary(text: &str) -> Option<Printed> {
    let end = text.find(|c: char| c.is_ascii_alphabetic())?;
    let word = match &text[end..] {
        "B" => "B".to_owned(),
        word => word.replace('B', "iB"),
    };
    unit(&word).and_then(|(_, factor)| Some(Printed::parse(&text.as_bytes()[..end])? * factor))
}

/// 635.91us, 12.92ms, 1.2s, 2.00m, 1.1h: in ns.
fn time(text: &str) -> Option<Printed> {
    match text.strip_suffix('m') {
        Some(minutes) => Some(Printed::parse(minutes.as_bytes())? * 60e9),
        None => super::number::time(text),
    }
}

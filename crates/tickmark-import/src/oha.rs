//! oha and hey: `oha --output-format json`, and the text that both print.

use super::json::{number, page};
use super::number::{percentile, time};
use super::{begin, first_number, named};
use crate::Imported;
use tickmark_wire::{Better, Unit};

/// Requests that the end of the time cut off: no error of the server.
const AT_THE_END: &str = "aborted due to deadline";

pub(super) fn recognizes(text: &str) -> bool {
    let json = text.trim_start().starts_with('{') && text.contains("\"latencyPercentiles\"");
    json || (text.contains("Requests/sec:") && text.contains("Slowest:") && text.contains("Fastest:"))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    if text.trim_start().starts_with('{') { from_json(name, text) } else { Ok(from_text(name, text)) }
}

fn from_json(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = page(text)?;
    let mut found = begin("oha", name);
    let summary = &page["summary"];
    for (key, metric) in
        [("slowest", "oha.latency.max"), ("fastest", "oha.latency.min"), ("average", "oha.latency.mean")]
    {
        if let Some(seconds) = number(&summary[key]) {
            found.time(metric, seconds, 1e9);
        }
    }
    for (key, value) in page["latencyPercentiles"].as_object().into_iter().flatten() {
        if let Some(seconds) = number(value) {
            found.time(&format!("oha.latency.{}", percentile(key.trim_start_matches('p'))), seconds, 1e9);
        }
    }
    for (key, metric, unit, better) in [
        ("requestsPerSec", "oha.requests", Unit::Rate, Better::Higher),
        ("sizePerSec", "oha.transfer", Unit::Throughput, Better::Higher),
        ("successRate", "oha.success", Unit::Share, Better::Higher),
    ] {
        if let Some(value) = number(&summary[key]) {
            found.repeat(metric, unit, better, value);
        }
    }
    let errors: f64 = page["errorDistribution"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(what, _)| what.as_str() != AT_THE_END)
        .filter_map(|(_, count)| number(count))
        .sum();
    found.repeat("oha.errors", Unit::Count, Better::Lower, errors);
    Ok(vec![found])
}

fn from_text(name: &str, text: &str) -> Vec<Imported> {
    let tool = if text.contains("Success rate:") { "oha" } else { "hey" };
    let mut found = begin(tool, name);
    let mut failed = 0.0;
    found.take_lines(text, |found, line| {
        let line = line.trim();
        // "  50% in 0.0012 secs", "  50.00% in 0.0012 sec".
        if let Some((percent, value)) = line.split_once("% in ") {
            // Of few requests hey prints those that it cannot know so.
            if percent.trim() == "0" {
                return true;
            }
            let nanos = time(value).or_else(|| first_number(value).map(|seconds| seconds * 1e9));
            if let Some(nanos) = nanos {
                found.time(&format!("{tool}.latency.{}", percentile(percent)), nanos, 1.0);
            }
            return true;
        }
        let Some((key, value)) = line.split_once(':') else {
            // "[200] 950 responses", "[10] connection error"; bars of the histogram have a sign behind them.
            let bracket = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            if let Some((code, what)) = bracket {
                let (code, count) = (first_number(code), first_number(what));
                if what.contains("responses") {
                    if code.zip(count).is_some_and(|(code, _)| code.value >= 400.0) {
                        failed += count.map_or(0.0, |count| count.value);
                    }
                } else if what.trim() != AT_THE_END {
                    failed += code.map_or(0.0, |code| code.value);
                }
                return true;
            }
            return line.contains('|') || line.contains('\u{25a0}') || line.is_empty();
        };
        let number = first_number(value);
        match (key.trim(), number) {
            ("Requests/sec", Some(rate)) => {
                found.repeat(&format!("{tool}.requests"), Unit::Rate, Better::Higher, rate);
            }
            ("Success rate", Some(percent)) => {
                found.repeat(&format!("{tool}.success"), Unit::Share, Better::Higher, percent * 0.01);
            }
            (what @ ("Slowest" | "Fastest" | "Average"), Some(seconds)) => {
                let what = match what {
                    "Slowest" => "max",
                    "Fastest" => "min",
                    _ => "mean",
                };
                found.time(&format!("{tool}.latency.{what}"), time(value).unwrap_or(seconds * 1e9), 1.0);
            }
            ("Total" | "Total data" | "Size/request" | "Size/sec", _) => {}
            // "DNS-lookup:  0.0001 secs, 0.0000 secs, 0.0002 secs": average, fastest, slowest.
            _ => {
                let parts: Vec<_> = value
                    .split(',')
                    .filter_map(|part| {
                        // oha's times have units of their own.
                        let seconds =
                            |part: &str| first_number(part.strip_suffix(" secs")?).map(|value| value * 1e9);
                        seconds(part).or_else(|| time(part))
                    })
                    .collect();
                let [average, fastest, slowest] = parts[..] else { return !value.contains("sec") };
                for (what, nanos) in [("mean", average), ("min", fastest), ("max", slowest)] {
                    found.time(&format!("{tool}.{}.{what}", named(key)), nanos, 1.0);
                }
            }
        }
        true
    });
    found.repeat(&format!("{tool}.errors"), Unit::Count, Better::Lower, failed);
    vec![found]
}

//! `vegeta report`, text and JSON.

use super::json::{number, page};
use super::number::{go_duration as duration, percentile};
use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    let json =
        text.trim_start().starts_with('{') && text.contains("\"latencies\"") && text.contains("\"99th\"");
    json || (text.contains("Latencies") && text.contains("[min, mean, 50"))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("vegeta", name);
    if !text.trim_start().starts_with('{') {
        found.take_lines(text, terminal);
        return Ok(vec![found]);
    }
    let page = page(text)?;
    let latencies = &page["latencies"];
    for (key, value) in latencies.as_object().into_iter().flatten() {
        let what = match key.as_str() {
            "total" => continue,
            what @ ("min" | "mean" | "max") => what.to_owned(),
            percent => percentile(percent.trim_end_matches("th")),
        };
        if let Some(nanos) = number(value) {
            found.time(&format!("vegeta.latency.{what}"), nanos, 1.0);
        }
    }
    for (key, metric, unit, better) in [
        ("rate", "vegeta.rate", Unit::Rate, Better::Neither),
        ("throughput", "vegeta.throughput", Unit::Rate, Better::Higher),
        ("success", "vegeta.success", Unit::Share, Better::Higher),
        ("requests", "vegeta.requests", Unit::Count, Better::Neither),
    ] {
        if let Some(value) = number(&page[key]) {
            found.repeat(metric, unit, better, value);
        }
    }
    let errors = page["errors"].as_array().map_or(0, Vec::len);
    if errors > 0 {
        found.repeat("vegeta.kinds_of_errors", Unit::Count, Better::Lower, errors as f64);
    }
    Ok(vec![found])
}

/// `Latencies     [min, mean, 50, 90, 95, 99, max]  1.1ms, 2ms, ...`.
fn terminal(found: &mut Imported, line: &str) -> bool {
    let Some((title, rest)) = line.split_once('[') else { return line.trim().is_empty() };
    let Some((heads, values)) = rest.split_once(']') else { return false };
    for (head, value) in heads.split(',').map(str::trim).zip(values.split(',').map(str::trim)) {
        match (title.trim(), head) {
            ("Latencies", "min" | "mean" | "max") => {
                let Some(nanos) = duration(value) else { continue };
                found.time(&format!("vegeta.latency.{head}"), nanos, 1.0);
            }
            ("Latencies", percent) => {
                let Some(nanos) = duration(value) else { continue };
                found.time(&format!("vegeta.latency.{}", percentile(percent)), nanos, 1.0);
            }
            ("Requests", "throughput") => {
                let Some(rate) = first_number(value) else { continue };
                found.repeat("vegeta.throughput", Unit::Rate, Better::Higher, rate);
            }
            ("Requests", "rate") => {
                let Some(rate) = first_number(value) else { continue };
                found.repeat("vegeta.rate", Unit::Rate, Better::Neither, rate);
            }
            ("Success", _) => {
                let Some(percent) = first_number(value) else { continue };
                found.repeat("vegeta.success", Unit::Share, Better::Higher, percent * 0.01);
            }
            _ => {}
        }
    }
    true
}

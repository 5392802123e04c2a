//! fio: its JSON, and the rates and mean latencies of its text; each job and direction is a metric.

use super::json::{number, text_of};
use super::number::{label, percentile, quantity, unit};
use super::{begin, first_number};
use crate::Imported;
use serde_json::Value;
use std::collections::BTreeMap;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    let json = text.contains("\"fio version\"") && text.contains("\"jobs\"");
    json || (text.contains("(groupid=") && text.lines().any(|line| direction(line).is_some()))
}

/// Direction and figures of `  read: IOPS=12.3k, BW=48.1MiB/s (50.4MB/s)(...)`.
fn direction(line: &str) -> Option<(&str, &str)> {
    let (what, rest) = line.split_once(": IOPS=")?;
    ["read", "write", "trim"].contains(&what.trim()).then_some((what.trim(), rest))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let at = text.find("\"fio version\"").and_then(|at| text[..at].rfind('{'));
    let Some(at) = at else { return Ok(vec![from_text(name, text)]) };
    // Warnings stand before its JSON, and several runs may follow each other.
    let mut all = Vec::new();
    for page in serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>() {
        match page {
            Ok(page) => all.push(from_page(name, &page)?),
            Err(error) if all.is_empty() => return Err(format!("no complete JSON: {error}")),
            // Messages of its end.
            Err(_) => break,
        }
    }
    Ok(all)
}

fn from_page(name: &str, page: &Value) -> Result<Imported, String> {
    let mut found = begin(&text_of(&page["fio version"]), name);
    found.is_one_replicate = true;
    let settings = ["bs", "rw", "iodepth", "ioengine", "numjobs", "size", "direct"];
    let mut know = |options: &Value| {
        for key in settings {
            found.know(&format!("fio.{key}"), &text_of(&options[key]), name);
        }
    };
    know(&page["global options"]);
    if let [job] = &page["jobs"].as_array().ok_or("no list of jobs")?[..] {
        know(&job["job options"]);
    }
    let mut titles = BTreeMap::<String, usize>::new();
    for job in page["jobs"].as_array().ok_or("no list of jobs")? {
        // Jobs of one name run at once: each is a figure of its own.
        let name = label(&text_of(&job["jobname"]));
        let count = titles.entry(name.clone()).or_default();
        *count += 1;
        let title = if *count > 1 { format!("{name}.job={count}") } else { name };
        if number(&job["error"]).is_some_and(|error| error != 0.0) {
            found.remarks.push(format!("job {title} ended with error {}", job["error"]));
        }
        for what in ["read", "write", "trim"] {
            let own = &job[what];
            if number(&own["total_ios"]).or(number(&own["iops"])).is_none_or(|count| count <= 0.0) {
                continue;
            }
            let metric = |figure: &str| format!("fio.{title}.{what}.{figure}");
            if let Some(rate) = number(&own["iops"]) {
                found.repeat(&metric("iops"), Unit::Rate, Better::Higher, rate);
            }
            if let Some(bytes) = number(&own["bw_bytes"]).or(number(&own["bw"]).map(|kib| kib * 1024.0)) {
                found.repeat(&metric("throughput"), Unit::Throughput, Better::Higher, bytes);
            }
            // Version 2 has microseconds.
            for (key, part, nanos) in [
                ("lat_ns", "latency", 1.0),
                ("clat_ns", "completion", 1.0),
                ("lat", "latency", 1e3),
                ("clat", "completion", 1e3),
            ] {
                for (figure, value) in own[key].as_object().into_iter().flatten() {
                    match (figure.as_str(), number(value)) {
                        ("min" | "max" | "mean", Some(value)) => {
                            found.time(&metric(&format!("{part}.{figure}")), value, nanos);
                        }
                        ("stddev", Some(value)) => {
                            found.time(&metric(&format!("{part}.deviation")), value, nanos);
                        }
                        _ => {}
                    }
                }
                for (percent, value) in own[key]["percentile"].as_object().into_iter().flatten() {
                    if let Some(value) = number(value).filter(|_| percent.parse::<f64>().is_ok()) {
                        found.time(&metric(&format!("{part}.{}", percentile(percent))), value, nanos);
                    }
                }
            }
        }
    }
    Ok(found)
}

/// 12.3k, 1234, 1.2M.
fn scaled(text: &str) -> Option<f64> {
    let number = first_number(text)?.value;
    let factor = match text.trim().chars().last()? {
        'k' => 1e3,
        'M' | 'm' => 1e6,
        _ => 1.0,
    };
    Some(number * factor)
}

fn from_text(name: &str, text: &str) -> Imported {
    let version = text.lines().find_map(|line| line.strip_prefix("fio-"));
    let mut found =
        begin(&version.map_or("fio".to_owned(), |version| format!("fio-{}", version.trim())), name);
    found.is_one_replicate = true;
    let (mut job, mut what) = ("job".to_owned(), String::new());
    found.take_lines(text, |found, line| {
        if let Some((title, _)) = line.split_once(": (groupid=") {
            job = label(title);
            return true;
        }
        if let Some((kind, rest)) = direction(line) {
            what = format!("fio.{job}.{kind}");
            let rate = rest.split(',').next().and_then(scaled);
            let bytes =
                rest.split_once("BW=").and_then(|(_, bytes)| quantity(bytes.split([' ', '(']).next()?));
            if let Some(rate) = rate {
                found.repeat(&format!("{what}.iops"), Unit::Rate, Better::Higher, rate);
            }
            if let Some((bytes, unit)) = bytes {
                found.repeat(&format!("{what}.throughput"), unit, Better::Higher, bytes);
            }
            return true;
        }
        let trimmed = line.trim_start();
        let part = [("lat (", "latency"), ("clat (", "completion")]
            .into_iter()
            .find_map(|(head, part)| Some((trimmed.strip_prefix(head)?, part)));
        if let Some((rest, part)) = part.filter(|(rest, _)| rest.contains("avg=") && !what.is_empty()) {
            let (_, nanos) = unit(rest.split(')').next().unwrap_or_default()).unwrap_or((Unit::Time, 1e3));
            for (key, figure) in [("min=", "min"), ("max=", "max"), ("avg=", "mean"), ("stdev=", "deviation")]
            {
                let value = rest.split_once(key).and_then(|(_, value)| scaled(value.split(',').next()?));
                if let Some(value) = value {
                    found.time(&format!("{what}.{part}.{figure}"), value, nanos);
                }
            }
        }
        true
    });
    found
        .remarks
        .push("fio's text has more figures than are taken; --output-format=json has all of them".to_owned());
    found
}

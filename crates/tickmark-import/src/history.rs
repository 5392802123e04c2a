//! Histories of continuous benchmarks: data.js of github-action-benchmark, conbench's results, and Bencher's metric format. Each commit is a
//! recording with its time.

use super::begin;
use super::json::{number, numbers, page, text_of};
use super::number::{label, unit_or_word};
use crate::Imported;
use jiff::Timestamp;
use serde_json::Value;
use tickmark_wire::{Better, Unit};

const PREFIX: &str = "window.BENCHMARK_DATA";

fn is_conbench(text: &str) -> bool {
    let text = text.trim_start();
    (text.starts_with('[') || (text.starts_with('{') && text.contains("\"data\"")))
        && text.contains("\"stats\"")
        && text.contains("\"tags\"")
        && text.contains("\"timestamp\"")
}

fn is_bencher(text: &str) -> bool {
    // Its values have bounds beside them and nothing else.
    let page = || serde_json::from_str::<Value>(text).ok();
    let is_value = |value: &Value| {
        let known = ["value", "lower_value", "upper_value"];
        value.as_object().is_some_and(|all| {
            all.contains_key("value") && all.keys().all(|key| known.contains(&key.as_str()))
        })
    };
    let is_benchmark =
        |value: &Value| value.as_object().is_some_and(|all| !all.is_empty() && all.values().all(is_value));
    text.trim_start().starts_with('{')
        && text.contains("\"value\"")
        && page().is_some_and(|page| page.as_object().is_some_and(|all| all.values().all(is_benchmark)))
}

pub(super) fn recognizes(text: &str) -> bool {
    text.trim_start().starts_with(PREFIX) || is_conbench(text) || is_bencher(text)
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let trimmed = text.trim_start();
    if let Some(rest) = trimmed.strip_prefix(PREFIX) {
        let json = rest.trim_start().trim_start_matches('=').trim().trim_end_matches(';');
        return github(&page(json)?);
    }
    if is_conbench(trimmed) { conbench(&page(text)?) } else { bencher(name, &page(text)?) }
}

/// `{"entries": {SUITE: [{"commit": ..., "date": ms, "tool": ..., "benches": [{"name", "value", "unit", "range"}]}]}}`.
fn github(page: &Value) -> Result<Vec<Imported>, String> {
    let mut all = Vec::new();
    for (suite, commits) in page["entries"].as_object().ok_or("no entries")? {
        for commit in commits.as_array().into_iter().flatten() {
            let mut found = begin(format!("github-action-benchmark {}", text_of(&commit["tool"])).trim(), "");
            (found.host, found.is_one_replicate) = (suite.clone(), true);
            found.at = number(&commit["date"]).and_then(|ms| Timestamp::from_millisecond(ms as i64).ok());
            found.know("commit.id", &text_of(&commit["commit"]["id"]), "data.js");
            found.know("commit.time", &text_of(&commit["commit"]["timestamp"]), "data.js");
            for bench in commit["benches"].as_array().into_iter().flatten() {
                let Some(value) = number(&bench["value"]) else {
                    found.left_out.push(format!("{}: no value", bench["name"]));
                    continue;
                };
                let (unit, factor, better) =
                    unit_or_word(text_of(&bench["unit"]).split('\t').next().unwrap_or_default());
                // Its tools for which more is better name no unit of time.
                let better = match text_of(&commit["tool"]).as_str() {
                    "customBiggerIsBetter" | "benchmarkjs" => Better::Higher,
                    "customSmallerIsBetter" => Better::Lower,
                    _ => better,
                };
                found.repeat(&label(&text_of(&bench["name"])), unit, better, value * factor);
            }
            all.push(found);
        }
    }
    Ok(all)
}

/// `[{"timestamp", "tags": {"name"}, "stats": {"data": [...], "unit": "s"}, "github": {"commit"}, "run_id"}]`, or the same as `data` with `commit.sha` and
/// `hardware.name`: the results of one run make a recording.
fn conbench(page: &Value) -> Result<Vec<Imported>, String> {
    let mut all: Vec<(String, Imported)> = Vec::new();
    for one in page.as_array().or(page["data"].as_array()).into_iter().flatten() {
        let run = text_of(&one["run_id"]);
        let at = all.iter().position(|(known, _)| *known == run).unwrap_or_else(|| {
            let mut found = begin("conbench", "conbench");
            found.is_one_replicate = true;
            found.at = timestamp(&text_of(&one["timestamp"]));
            for commit in [&one["github"]["commit"], &one["commit"]["sha"]] {
                found.know("commit.id", &text_of(commit), "results");
            }
            for host in [&one["machine_info"]["name"], &one["hardware"]["name"]] {
                found.know("host.name", &text_of(host), "results");
            }
            all.push((run.clone(), found));
            all.len() - 1
        });
        let found = &mut all[at].1;
        let mut metric = format!("conbench.{}", label(&text_of(&one["tags"]["name"])));
        for (tag, value) in
            one["tags"].as_object().into_iter().flatten().filter(|(tag, _)| *tag != "name" && *tag != "id")
        {
            metric += &format!(".{}={}", label(tag), label(&text_of(value)));
        }
        let stats = &one["stats"];
        let (unit, factor, better) = unit_or_word(&text_of(&stats["unit"]).replace("i/s", "ops/s"));
        let mut values = numbers(&stats["data"]);
        if values.is_empty() {
            values.extend(number(&stats["mean"]));
        }
        values.into_iter().for_each(|value| found.repeat(&metric, unit, better, value * factor));
    }
    Ok(all.into_iter().map(|(_, found)| found).collect())
}

/// `{"benchmark": {"latency": {"value", "lower_value", "upper_value"}}}`.
fn bencher(name: &str, page: &Value) -> Result<Vec<Imported>, String> {
    let mut found = begin("Bencher", name);
    found.is_one_replicate = true;
    for (benchmark, measures) in page.as_object().ok_or("no benchmarks")? {
        for (measure, value) in measures.as_object().into_iter().flatten() {
            let Some(value) = number(&value["value"]) else { continue };
            let (unit, better) = match measure.as_str() {
                "latency" | "build-time" => (Unit::Time, Better::Lower),
                "throughput" => (Unit::Rate, Better::Higher),
                "file-size" => (Unit::Bytes, Better::Lower),
                _ => (Unit::Count, Better::Neither),
            };
            // Its latencies are in ns, its build times in s.
            let factor = if measure == "build-time" { 1e9 } else { 1.0 };
            found.repeat(&format!("{}.{}", label(benchmark), label(measure)), unit, better, value * factor);
        }
    }
    Ok(vec![found])
}

/// A time such as 2026-11-27T08:07:22Z, with an offset or without one (then UTC), or a day; also as git and mail programs write it.
pub(super) fn timestamp(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let civil = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok();
    let git = || jiff::Zoned::strptime("%Y-%m-%d %H:%M:%S %z", text).ok();
    let mail = || jiff::fmt::rfc2822::parse(text).ok();
    let zoned = || civil().or_else(git).or_else(mail).map(|zoned| zoned.timestamp());
    text.parse().ok().or_else(zoned)
}

//! `--benchmark_format=json` of Google Benchmark: each run of a benchmark is a repetition. Aggregates are left out where the repetitions
//! are there.

use super::begin;
use super::json::{number, page};
use super::number::{label, unit};
use crate::Imported;
use serde_json::Value;
use tickmark_wire::{Better, Unit};

/// Members of a benchmark that are no counters of the user's.
const OWN: [&str; 10] = [
    "real_time",
    "cpu_time",
    "iterations",
    "repetitions",
    "repetition_index",
    "threads",
    "family_index",
    "per_family_instance_index",
    "bytes_per_second",
    "items_per_second",
];

pub(super) fn is(text: &str) -> bool {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    text.trim_start().starts_with('{') && has("real_time") && (has("cpu_time") || has("run_name"))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = page(text)?;
    let context = &page["context"];
    let version = context["library_version"].as_str().unwrap_or_default().trim_start_matches('v');
    let mut found = begin(format!("Google Benchmark {version}").trim(), name);
    found.is_one_replicate = true;
    found.know("host.name", context["host_name"].as_str().unwrap_or_default(), name);
    found.know("benchmark.executable", context["executable"].as_str().unwrap_or_default(), name);
    found.know("benchmark.build", context["library_build_type"].as_str().unwrap_or_default(), name);
    let all = page["benchmarks"].as_array().ok_or("no list of benchmarks")?;
    // Before version 1.4 aggregates had no type, but their name.
    let suffixes = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
    let is_named_so = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        one["run_type"].is_null() && suffixes.iter().any(|suffix| name.ends_with(suffix))
    };
    let is_aggregate = |one: &&Value| {
        one["run_type"] == "aggregate" || one.get("aggregate_name").is_some() || is_named_so(one)
    };
    let only_aggregates = all.iter().all(|one| is_aggregate(&one));
    for one in all {
        let title = one["run_name"].as_str().or(one["name"].as_str()).unwrap_or("?");
        if let Some(why) = one["error_message"].as_str().or(one["skip_message"].as_str()) {
            found.left_out.push(format!("{title}: not measured: {why}"));
            continue;
        }
        if is_aggregate(&one) && !(only_aggregates && one["aggregate_name"] == "mean") {
            continue;
        }
        let metric = |what: &str| format!("benchmark.{}.{what}", label(title));
        let (_, nanos) = unit(one["time_unit"].as_str().unwrap_or("ns"))
            .filter(|(unit, _)| *unit == Unit::Time)
            .ok_or("a time_unit that is no time")?;
        for what in ["real_time", "cpu_time"] {
            if let Some(value) = number(&one[what]) {
                found.time(&metric(what), value, nanos);
            }
        }
        for (what, unit) in [("bytes_per_second", Unit::Throughput), ("items_per_second", Unit::Rate)] {
            if let Some(value) = number(&one[what]) {
                found.repeat(&metric(what), unit, Better::Higher, value);
            }
        }
        let counters = one.as_object().into_iter().flatten().filter(|(key, _)| !OWN.contains(&key.as_str()));
        for (key, value) in counters.filter_map(|(key, value)| Some((key, number(value)?))) {
            found.repeat(&metric(&label(key)), Unit::Count, Better::Neither, value);
        }
    }
    if only_aggregates {
        found.remarks.push(
            "only aggregates: the means are taken, and how far repetitions spread is not known".to_owned(),
        );
    }
    Ok(vec![found])
}

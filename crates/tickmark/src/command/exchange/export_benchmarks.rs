//! A recording in the formats of other benchmark tools, so that benchstat and others read it: benchfmt, and Google Benchmark's JSON.

use super::export::figures;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use tickmark_analysis::report::Unit;
use tickmark_store::Recording;

/// One value of a run.
struct Figure {
    metric: String,
    /// Unit as the export names it.
    unit: String,
    is_more_better: bool,
    value: f64,
}

/// The values of all runs, by round.
fn values(recording: &Recording) -> Vec<Figure> {
    let (heads, rows) = figures(recording);
    let at = |name: &str| heads.iter().position(|head| *head == name).unwrap_or_default();
    let [metric, unit, better, value] = ["metric", "unit", "better", "value"].map(at);
    let figure = |row: &Vec<Value>| {
        Some(Figure {
            metric: row[metric].as_str()?.to_owned(),
            unit: row[unit].as_str()?.to_owned(),
            is_more_better: row[better] == "higher",
            value: row[value].as_f64()?,
        })
    };
    rows.iter().filter_map(figure).collect()
}

/// The unit that Go's tools know, for a unit of an export.
fn benchfmt_unit(unit: &str) -> &str {
    match unit {
        "ns" => "ns/op",
        "1/s" => "op/s",
        other => other,
    }
}

/// The name of a benchmark, which begins with a capital letter.
fn benchfmt_name(metric: &str) -> String {
    let name: String = metric.chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// benchfmt (<https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md>): a line for each value.
pub(super) fn benchfmt(recording: &Recording) -> String {
    let mut text = String::new();
    for (key, fact) in [("goos", "go.goos"), ("goarch", "go.goarch"), ("pkg", "go.pkg"), ("cpu", "cpu.model")]
    {
        if let Some(value) = recording.environment().and_then(|facts| facts.get(fact)) {
            let _ = writeln!(text, "{key}: {value}");
        }
    }
    let _ = writeln!(text, "recording: {}\nname: {}", recording.meta.id, recording.meta.name);
    let all = values(recording);
    let units: BTreeMap<&str, bool> =
        all.iter().map(|figure| (benchfmt_unit(&figure.unit), figure.is_more_better)).collect();
    for (unit, _) in units.iter().filter(|(unit, more)| **more && **unit != "B/s") {
        let _ = writeln!(text, "Unit {unit} better=higher");
    }
    for Figure { metric, unit, value, .. } in &all {
        let _ = writeln!(text, "Benchmark{} 1 {value} {}", benchfmt_name(metric), benchfmt_unit(unit));
    }
    text
}

/// `--benchmark_format=json` of Google Benchmark: the times; how many values of other units were left out.
pub(super) fn google(recording: &Recording) -> (Value, usize) {
    let all = values(recording);
    let mut repetitions: BTreeMap<&str, usize> = BTreeMap::new();
    for figure in &all {
        *repetitions.entry(&figure.metric).or_default() += 1;
    }
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    let mut benchmarks = Vec::new();
    for figure in all.iter().filter(|figure| figure.unit == json!(Unit::Nanoseconds)) {
        let index = made.entry(figure.metric.as_str()).or_default();
        *index += 1;
        benchmarks.push(json!({
            "name": figure.metric,
            "run_name": figure.metric,
            "run_type": "iteration",
            "repetitions": repetitions[figure.metric.as_str()],
            "repetition_index": *index - 1,
            "threads": 1,
            "iterations": 1,
            "real_time": figure.value,
            "time_unit": "ns",
        }));
    }
    let left_out = all.len() - benchmarks.len();
    let facts = recording.environment();
    let context = json!({
        "date": recording.meta.created.to_string(),
        "host_name": facts.and_then(|facts| facts.get("host.name")).unwrap_or_default(),
        "executable": recording.meta.name,
        "library_build_type": "release",
    });
    (json!({ "context": context, "benchmarks": benchmarks }), left_out)
}

//! Google Benchmark's results as JSON, CSV or the console's table: each run of a benchmark is a repetition. Aggregates are left out where the
//! repetitions are there.

use super::begin;
use super::json::{number, page};
use super::number::{label, unit};
use crate::Imported;
use crate::number::first_number;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tickmark_wire::{Better, Printed, Unit};

/// Members of a benchmark that are no counters of the user's.
const OWN: [&str; 14] = [
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
    "name",
    "label",
    "time_unit",
    "error_occurred",
];

/// The first columns of its CSV.
const CSV: &str = "name,iterations,real_time,cpu_time,time_unit";

/// Its JSON; lines of its standard error may stand before it.
fn json_page(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if text.starts_with('{') {
        return Some(text);
    }
    text.find("\n{").map(|at| &text[at..])
}

/// True of the heads of the console's table.
fn is_console(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.starts_with(&["Benchmark", "Time", "CPU", "Iterations"])
}

pub(super) fn recognizes(text: &str) -> bool {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    (json_page(text).is_some() && has("real_time") && (has("cpu_time") || has("run_name")))
        || text.lines().any(|line| line.starts_with(CSV) || is_console(line))
}

/// The page as its JSON has it.
fn parse(text: &str) -> Result<Value, String> {
    if let Some(text) = json_page(text) {
        return page(text);
    }
    let rows = match text.find(CSV) {
        Some(at) => from_csv(&text[at..])?,
        None => text.lines().skip_while(|line| !is_console(line)).filter_map(from_console).collect(),
    };
    Ok(json!({ "benchmarks": rows }))
}

/// Each line of the CSV as an object; empty cells are none.
fn from_csv(text: &str) -> Result<Vec<Value>, String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let heads = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let cells = heads.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
        let row = cells.map(|(head, cell)| (head.to_owned(), Value::from(cell))).collect();
        rows.push(Value::Object(row));
    }
    Ok(rows)
}

/// A line of the console: `BM_Copy/64  0.003 us  0.003 us  9142866 bytes_per_second=21.2G/s ops=355M/s label`.
fn from_console(line: &str) -> Option<Value> {
    let line = line.trim_end();
    // A long number leaves one blank behind the longest name: the time is the first number with a unit behind it.
    let unit_at = [" ns ", " us ", " ms ", " s "].iter().filter_map(|unit| line.find(unit)).min();
    let name = match unit_at {
        Some(at) => line[..at].rsplit_once(' ')?.0.trim_end(),
        None => line.split("  ").next()?,
    };
    let rest = &line[name.len()..];
    if let Some((_, why)) = line.split_once("ERROR OCCURRED: ") {
        return Some(json!({ "name": name, "error_message": why.trim_matches('\'') }));
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [real, unit, cpu, _, iterations, counters @ ..] = &words[..] else { return None };
    first_number(real)?;
    let mut row = json!({
        "name": name, "real_time": real, "cpu_time": cpu, "time_unit": unit, "iterations": iterations,
    });
    for (key, value) in counters.iter().filter_map(|word| word.split_once('=')) {
        // Bytes are counted in powers of 1,024, everything else in powers of 1,000.
        let base: f64 = if key == "bytes_per_second" || value.contains('i') { 1024.0 } else { 1000.0 };
        // An inverted rate ends with its seconds.
        let plain = value.trim_end_matches("/s").trim_end_matches('s').trim_end_matches('i');
        let letter = plain.chars().next_back().map(|letter| if letter == 'K' { 'k' } else { letter });
        let power_in = |prefixes: &str| Some(prefixes.find(letter?)? as i32 + 1);
        let factor = match (power_in("kMGTPEZY"), power_in("munpfazy")) {
            (Some(power), _) => base.powi(power),
            (None, Some(power)) => 1000f64.powi(-power),
            (None, None) => 1.0,
        };
        let number = first_number(value)? * factor;
        row[key] = json!(number.value);
    }
    Some(row)
}

/// A number with the worth of its last digit, where it was printed as text.
fn printed(value: &Value) -> Option<Printed> {
    value
        .as_str()
        .map_or_else(|| number(value).map(Printed::from), |text| Printed::parse(text.trim().as_bytes()))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = parse(text)?;
    let context = &page["context"];
    let version = context["library_version"].as_str().unwrap_or_default().trim_start_matches('v');
    let mut found = begin(format!("Google Benchmark {version}").trim(), name);
    found.is_one_replicate = true;
    found.know("host.name", context["host_name"].as_str().unwrap_or_default(), name);
    found.at = super::history::timestamp(context["date"].as_str().unwrap_or_default());
    found.know("benchmark.executable", context["executable"].as_str().unwrap_or_default(), name);
    found.know("benchmark.build", context["library_build_type"].as_str().unwrap_or_default(), name);
    let all = page["benchmarks"].as_array().ok_or("no list of benchmarks")?;
    // Before version 1.4 aggregates had no type, but their name.
    let suffixes = ["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"];
    let names: BTreeSet<&str> = all.iter().filter_map(|one| one["name"].as_str()).collect();
    let is_named_so = |one: &Value| {
        let name = one["name"].as_str().unwrap_or_default();
        // They come together; one alone is a benchmark of that name.
        let has = |base: &str, suffix: &str| names.contains(format!("{base}{suffix}").as_str());
        let are_together = |base: &str| has(base, "_mean") && has(base, "_stddev") || has(base, "_BigO");
        let base = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix));
        one["run_type"].is_null() && base.is_some_and(are_together)
    };
    let is_aggregate = |one: &&Value| {
        one["run_type"] == "aggregate" || one.get("aggregate_name").is_some() || is_named_so(one)
    };
    let only_aggregates = all.iter().all(|one| is_aggregate(&one));
    for one in all {
        let own = one["name"].as_str().unwrap_or("?");
        let is_mean = one["aggregate_name"] == "mean" || own.ends_with("_mean");
        let plain = if is_mean && only_aggregates { own.trim_end_matches("_mean") } else { own };
        let title = one["run_name"].as_str().unwrap_or(plain);
        if let Some(why) = one["error_message"].as_str().or(one["skip_message"].as_str()) {
            found.left_out.push(format!("{title}: not measured: {why}"));
            continue;
        }
        if is_aggregate(&one) && !(only_aggregates && is_mean) {
            continue;
        }
        let metric = |what: &str| format!("benchmark.{}.{what}", label(title));
        let (_, nanos) = unit(one["time_unit"].as_str().unwrap_or("ns"))
            .filter(|(unit, _)| *unit == Unit::Time)
            .ok_or("a time_unit that is no time")?;
        for what in ["real_time", "cpu_time"] {
            if let Some(value) = printed(&one[what]) {
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

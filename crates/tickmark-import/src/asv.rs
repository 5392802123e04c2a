//! airspeed velocity (asv): `results/MACHINE/COMMIT-ENVIRONMENT.json`, a file for each commit, of versions 1 and 2.

use super::begin;
use super::json::{number, numbers, python_page, text_of};
use super::number::label;
use crate::Imported;
use jiff::Timestamp;
use serde_json::Value;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"commit_hash\"") && text.contains("\"results\"")
}

pub(super) fn read(_: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = python_page(text)?;
    let params = &page["params"];
    let mut found = begin("asv", "");
    found.is_one_replicate = true;
    found.host = text_of(&params["machine"]);
    found.at = number(&page["date"]).and_then(|ms| Timestamp::from_millisecond(ms as i64).ok());
    let source = "results";
    found.know("commit.id", &text_of(&page["commit_hash"]), source);
    found.know("host.name", &text_of(&params["machine"]), source);
    found.know("cpu.model", &text_of(&params["cpu"]), source);
    found.know("kernel.release", text_of(&params["os"]).trim_start_matches("Linux "), source);
    found.know("python.version", &text_of(&params["python"]), source);
    found.know("asv.environment", &text_of(&page["env_name"]), source);
    let columns: Vec<String> = page["result_columns"].as_array().into_iter().flatten().map(text_of).collect();
    let place = |name: &str| columns.iter().position(|column| column == name);
    for (benchmark, value) in page["results"].as_object().ok_or("no results")? {
        let cell = |name: &str| match value {
            Value::Array(cells) if !columns.is_empty() => place(name).and_then(|at| cells.get(at)),
            other => other.get(name).or((name == "result").then_some(other)),
        };
        let results = match cell("result") {
            Some(Value::Array(all)) => all.clone(),
            // A benchmark that failed.
            Some(Value::Null) | None => continue,
            Some(one) => vec![one.clone()],
        };
        let (unit, factor, better) = meaning(benchmark);
        let lists = cell("params").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let samples = cell("samples").and_then(Value::as_array);
        for (at, result) in results.iter().enumerate() {
            let metric = format!("asv.{}{}", label(benchmark), parameters(lists, at));
            let mut values = samples.and_then(|all| all.get(at)).map_or_else(Vec::new, numbers);
            if values.is_empty() {
                values.extend(number(result));
            }
            values.into_iter().for_each(|value| found.repeat(&metric, unit, better, value * factor));
        }
    }
    Ok(vec![found])
}

/// The parameters of a result: the last list goes round fastest.
fn parameters(lists: &[Value], mut at: usize) -> String {
    let mut words = Vec::new();
    for list in lists.iter().rev().filter_map(Value::as_array).filter(|list| !list.is_empty()) {
        words.push(format!(".{}", label(&text_of(&list[at % list.len()]))));
        at /= list.len();
    }
    words.into_iter().rev().collect()
}

/// What a benchmark's name says of its values: the first word of its last part is the kind.
fn meaning(benchmark: &str) -> (Unit, f64, Better) {
    let last = benchmark.rsplit('.').next().unwrap_or(benchmark).to_lowercase();
    match last.split('_').next().unwrap_or_default() {
        kind if kind.starts_with("time") || kind.starts_with("raw") => (Unit::Time, 1e9, Better::Lower),
        kind if kind.starts_with("mem") || kind.starts_with("peakmem") => (Unit::Bytes, 1.0, Better::Lower),
        _ => (Unit::Count, 1.0, Better::Neither),
    }
}

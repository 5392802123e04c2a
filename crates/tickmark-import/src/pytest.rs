//! `--benchmark-json` of pytest-benchmark: each round is a repetition in one process.

use super::begin;
use super::json::{number, numbers, page, text_of};
use super::number::label;
use crate::Imported;

pub(super) fn recognizes(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"machine_info\"") && text.contains("\"benchmarks\"")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = page(text)?;
    let mut found = begin(format!("pytest-benchmark {}", text_of(&page["version"])).trim(), name);
    found.is_one_replicate = true;
    let machine = &page["machine_info"];
    found.know("host.name", &text_of(&machine["node"]), name);
    found.know("cpu.model", &text_of(&machine["cpu"]["brand_raw"]), name);
    found.know("python.version", &text_of(&machine["python_version"]), name);
    found.know("commit.id", &text_of(&page["commit_info"]["id"]), name);
    let mut alone = false;
    let all = page["benchmarks"].as_array().ok_or("no list of benchmarks")?;
    for one in all {
        let name = one["name"].as_str().ok_or("a benchmark without a name")?;
        let is_unique = all.iter().filter(|other| other["name"] == name).count() == 1;
        let full = if is_unique { name } else { one["fullname"].as_str().unwrap_or(name) };
        let metric = format!("pytest.{}", label(full));
        let stats = &one["stats"];
        for seconds in numbers(&stats["data"]) {
            found.time(&metric, seconds, 1e9);
        }
        if !found.series.contains_key(&metric) {
            alone = true;
            for what in ["mean", "median", "min", "max", "stddev"] {
                if let Some(seconds) = number(&stats[what]) {
                    let name = if what == "mean" { metric.clone() } else { format!("{metric}.{what}") };
                    found.time(&name, seconds, 1e9);
                }
            }
        }
    }
    if alone {
        found
            .remarks
            .push("the file has no rounds but their summary: --benchmark-save-data keeps them".to_owned());
    }
    Ok(vec![found])
}

//! pyperf's JSON: each run is a process, and a run of the recording with the mean of its values.

use super::begin;
use super::json::{numbers, page, text_of};
use super::number::label;
use crate::Imported;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"benchmarks\"")
        && text.contains("\"runs\"")
        && text.contains("\"metadata\"")
        && (text.contains("\"warmups\"") || text.contains("\"perf_version\""))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = page(text)?;
    let mut found = begin("pyperf", name);
    for one in page["benchmarks"].as_array().ok_or("no list of benchmarks")? {
        let metadata = |key: &str| {
            [&one["metadata"][key], &page["metadata"][key]]
                .into_iter()
                .map(text_of)
                .find(|text| !text.is_empty())
                .unwrap_or_default()
        };
        for (key, fact) in [
            ("hostname", "host.name"),
            ("cpu_model_name", "cpu.model"),
            ("python_version", "python.version"),
            ("perf_version", "pyperf.version"),
        ] {
            found.know(fact, &metadata(key), name);
        }
        let metric = format!("pyperf.{}", label(&metadata("name")));
        let (unit, factor, better) = match metadata("unit").as_str() {
            "byte" => (Unit::Bytes, 1.0, Better::Lower),
            "integer" => (Unit::Count, 1.0, Better::Neither),
            _ => (Unit::Time, 1e9, Better::Lower),
        };
        for run in one["runs"].as_array().into_iter().flatten() {
            let values = numbers(&run["values"]);
            // A run that calibrates has warm-ups alone.
            if !values.is_empty() {
                found.repeat(
                    &metric,
                    unit,
                    better,
                    values.iter().sum::<f64>() / values.len() as f64 * factor,
                );
            }
        }
    }
    Ok(vec![found])
}

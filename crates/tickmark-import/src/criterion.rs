//! Criterion's folder: `sample.json` of a benchmark (each sample a repetition in one process), or its `estimates.json`.

use super::begin;
use super::json::{number, numbers, page};
use super::number::label;
use crate::Imported;

pub(super) fn recognizes(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('{')
        && ((text.contains("\"sampling_mode\"") && text.contains("\"iters\""))
            || (text.contains("\"point_estimate\"") && text.contains("\"median_abs_dev\"")))
}

/// `name` is the path behind the folder `criterion`, without `new` and the file.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page = page(text)?;
    let mut found = begin("criterion", "criterion");
    found.is_one_replicate = true;
    let metric = format!("criterion.{}", label(name));
    let (iterations, times) = (numbers(&page["iters"]), numbers(&page["times"]));
    if iterations.len() != times.len() || iterations.iter().any(|count| *count <= 0.0) {
        return Err("its lists of iterations and of times do not fit each other".to_owned());
    }
    for (count, time) in iterations.iter().zip(&times) {
        found.time(&metric, time / count, 1.0);
    }
    if times.is_empty() {
        for what in ["mean", "median"] {
            let value =
                number(&page[what]["point_estimate"]).ok_or_else(|| format!("no estimate of the {what}"))?;
            found.time(&format!("{metric}.{what}"), value, 1.0);
        }
        found.remarks.push("estimates alone: sample.json beside it has the samples".to_owned());
    }
    Ok(vec![found])
}

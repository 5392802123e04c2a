//! `hyperfine --export-json`: each command is a recording, each of its times a run.

use super::begin;
use crate::Imported;
use serde_json::Value;
use tickmark_wire::{Better, Unit};

pub(super) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"results\"") && text.contains("\"times\"")
}

pub(super) fn read(_: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let results = page["results"].as_array().ok_or("no results")?;
    let one = |result: &Value| -> Result<Imported, String> {
        let mut found = begin("hyperfine", "");
        found.host = result["command"].as_str().unwrap_or("command").to_owned();
        for (round, time) in (1..).zip(result["times"].as_array().into_iter().flatten()) {
            let seconds = time
                .as_f64()
                .ok_or_else(|| format!("run {round} of {:?} has the time {time}", found.host))?;
            found.figure("hyperfine.time", Unit::Time, Better::Lower, round, seconds * 1e9);
        }
        // Means over all runs of a command: one figure.
        for part in ["user", "system"] {
            if let Some(seconds) = result[part].as_f64() {
                found.figure(&format!("hyperfine.{part}"), Unit::Time, Better::Lower, 1, seconds * 1e9);
            }
        }
        let failed = result["exit_codes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|code| code.as_i64() != Some(0))
            .count();
        if failed > 0 {
            found.figure("hyperfine.failed", Unit::Count, Better::Lower, 1, failed as f64);
        }
        for (name, value) in result["parameters"].as_object().into_iter().flatten() {
            found.know(
                &format!("hyperfine.parameter.{name}"),
                value.as_str().unwrap_or_default(),
                "parameters",
            );
        }
        Ok(found)
    };
    results.iter().map(one).collect()
}

//! hyperfine's exports: each command is a recording. JSON has the time of each run; CSV and markdown have the mean alone.

use super::{begin, quantity};
use crate::Imported;
use serde_json::Value;
use tickmark_wire::{Better, Unit};

const CSV: &str = "command,mean,stddev,median,user,system,min,max";
const MARKDOWN: &str = "| Command | Mean [";

pub(super) fn recognizes(text: &str) -> bool {
    let text = text.trim_start();
    let json = text.starts_with('{')
        && ["\"results\"", "\"times\"", "\"command\""].iter().all(|key| text.contains(key));
    json || text.starts_with(CSV) || text.starts_with(MARKDOWN)
}

pub(super) fn read(_: &str, text: &str) -> Result<Vec<Imported>, String> {
    match text.trim_start() {
        csv if csv.starts_with(CSV) => from_csv(csv),
        markdown if markdown.starts_with(MARKDOWN) => from_markdown(markdown),
        text => from_json(text),
    }
}

/// A command of which single times are not known.
fn summarized(command: &str) -> Imported {
    let mut found = begin("hyperfine", "");
    (found.host, found.is_one_replicate) = (command.to_owned(), true);
    found.remarks.push(
        "this export has no single times; --export-json has them, and shows how far runs spread".to_owned(),
    );
    found
}

fn from_csv(text: &str) -> Result<Vec<Imported>, String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let heads = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut all = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let mut found = summarized(record.get(0).unwrap_or_default());
        for (head, value) in heads.iter().zip(&record).skip(1) {
            match (head, value.parse::<f64>()) {
                (parameter, _) if parameter.starts_with("parameter_") => {
                    found.know(
                        &format!("hyperfine.{}", parameter.replacen('_', ".", 1)),
                        value,
                        "parameters",
                    );
                }
                ("mean", Ok(seconds)) => found.time("hyperfine.time", seconds, 1e9),
                (what, Ok(seconds)) => found.time(&format!("hyperfine.{what}"), seconds, 1e9),
                (what, Err(_)) => found.left_out.push(format!("{what}: {value:?} is no number")),
            }
        }
        all.push(found);
    }
    Ok(all)
}

fn from_markdown(text: &str) -> Result<Vec<Imported>, String> {
    let unit = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(unit, _)| unit);
    let mut all = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let Some((command, figures)) = line[3..].rsplit_once("` |") else { continue };
        let mut found = summarized(&command.replace("\\|", "|"));
        for (what, cell) in ["time", "min", "max"].into_iter().zip(figures.split('|')) {
            let number = cell.split('\u{b1}').next().unwrap_or_default().trim();
            if let Some((nanos, _)) = quantity(&format!("{number}{unit}")) {
                found.time(&format!("hyperfine.{what}"), nanos, 1.0);
            }
        }
        all.push(found);
    }
    Ok(all)
}

fn from_json(text: &str) -> Result<Vec<Imported>, String> {
    let page: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let results = page["results"].as_array().ok_or("no results")?;
    let one = |result: &Value| -> Result<Imported, String> {
        let mut found = begin("hyperfine", "");
        found.host = result["command"].as_str().unwrap_or("command").to_owned();
        // It runs all of one command, then all of the next.
        found.is_one_replicate = true;
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

//! Files in the layouts of hyperfine: JSON, CSV, a table in markdown. Its times are in seconds.

use super::subjects::Subject as RequestedSubject;
use crate::cli;
use crate::error::Error;
use serde_json::{Value, json};
use std::path::Path;
use tickmark_analysis::versus::{Subject, Versus};
use tickmark_stats::{median, spread};
use tickmark_wire::names;

/// Writes those that were asked for.
pub(super) fn write(
    options: &cli::Versus,
    versus: &Versus,
    requested: &[RequestedSubject],
) -> Result<(), Error> {
    let all: Vec<Summary<'_>> = versus
        .subjects
        .iter()
        .zip(requested)
        .filter_map(|(own, requested)| Summary::new(own, requested))
        .collect();
    if let Some(path) = &options.export_json {
        let text = serde_json::to_string_pretty(&json(&all)).map_err(|error| Error::Output(error.into()))?;
        write_file(path, &(text + "\n"))?;
    }
    if let Some(path) = &options.export_csv {
        write_file(path, &csv(&all)?)?;
    }
    if let Some(path) = &options.export_markdown {
        write_file(path, &markdown(&all))?;
    }
    Ok(())
}

fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    let written = tickmark_tables::destination::write(path, text.as_bytes());
    written.map_err(|error| Error::Refused(format!("{}: {error}", path.display())))
}

/// A command, as hyperfine sums it up.
struct Summary<'a> {
    label: &'a str,
    times: Vec<f64>,
    mean: f64,
    deviation: f64,
    median: f64,
    user: f64,
    system: f64,
    subject: &'a Subject,
    parameters: &'a [(String, String)],
}

impl<'a> Summary<'a> {
    fn new(subject: &'a Subject, requested: &'a RequestedSubject) -> Option<Self> {
        let seconds = |metric: &str| subject.all(metric).into_iter().map(|ns| ns / 1e9).collect::<Vec<f64>>();
        let mean = |metric: &str| spread(&seconds(metric)).map(|spread| spread.mean);
        let times = seconds(names::COMMAND_TIME);
        let summary = spread(&times)?;
        Some(Self {
            label: &subject.label,
            mean: summary.mean,
            deviation: summary.deviation,
            median: median(times.iter().copied())?,
            user: mean("command.user")?,
            system: mean("command.system")?,
            times,
            subject,
            parameters: &requested.parameters,
        })
    }

    fn least(&self) -> f64 {
        self.times.iter().copied().fold(f64::MAX, f64::min)
    }

    fn most(&self) -> f64 {
        self.times.iter().copied().fold(f64::MIN, f64::max)
    }
}

fn json(all: &[Summary<'_>]) -> Value {
    let one = |summary: &Summary<'_>| {
        let codes = summary.subject.all(names::COMMAND_CODE);
        let codes: Vec<i64> = if codes.is_empty() {
            vec![0; summary.times.len()]
        } else {
            codes.iter().map(|code| *code as i64).collect()
        };
        let memory: Vec<u64> =
            summary.subject.all("command.resident").iter().map(|bytes| *bytes as u64).collect();
        let mut object = json!({
            "command": summary.label,
            "mean": summary.mean,
            "stddev": (summary.times.len() > 1).then_some(summary.deviation),
            "median": summary.median,
            "user": summary.user,
            "system": summary.system,
            "min": summary.least(),
            "max": summary.most(),
            "times": summary.times,
            "memory_usage_byte": memory,
            "exit_codes": codes,
        });
        if !summary.parameters.is_empty() {
            let named =
                summary.parameters.iter().map(|(name, value)| (name.clone(), Value::from(value.clone())));
            object["parameters"] = Value::Object(named.collect());
        }
        object
    };
    json!({ "results": all.iter().map(one).collect::<Vec<_>>() })
}

fn csv(all: &[Summary<'_>]) -> Result<String, Error> {
    let wrong = |error: csv::Error| Error::Output(error.into());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut named: Vec<&str> = Vec::new();
    for (name, _) in all.iter().flat_map(|one| one.parameters) {
        if !named.contains(&name.as_str()) {
            named.push(name);
        }
    }
    let head = ["command", "mean", "stddev", "median", "user", "system", "min", "max"].map(str::to_owned);
    writer
        .write_record(head.into_iter().chain(named.iter().map(|name| format!("parameter_{name}"))))
        .map_err(wrong)?;
    for one in all {
        let numbers = [one.mean, one.deviation, one.median, one.user, one.system, one.least(), one.most()];
        let cells = std::iter::once(one.label.to_owned()).chain(numbers.map(|number| number.to_string()));
        let value = |name: &&str| {
            let own = one.parameters.iter().find(|(own, _)| own == name);
            own.map_or(String::new(), |(_, value)| value.clone())
        };
        writer.write_record(cells.chain(named.iter().map(value))).map_err(wrong)?;
    }
    let text =
        writer.into_inner().map_err(|error| Error::Output(std::io::Error::other(error.to_string())))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn markdown(all: &[Summary<'_>]) -> String {
    let longest = all.iter().map(|one| one.mean).fold(0.0, f64::max);
    let (factor, unit) = if longest < 1.0 { (1e3, "ms") } else { (1.0, "s") };
    let fastest = all.iter().map(|one| one.mean).fold(f64::MAX, f64::min);
    let mut text = format!(
        "| Command | Mean [{unit}] | Min [{unit}] | Max [{unit}] | Relative |\n|:---|---:|---:|---:|---:|\n"
    );
    for one in all {
        let shown = |value: f64| format!("{:.1}", value * factor);
        text.push_str(&format!(
            "| `{}` | {} ± {} | {} | {} | {:.2} |\n",
            one.label.replace('|', "\\|"),
            shown(one.mean),
            shown(one.deviation),
            shown(one.least()),
            shown(one.most()),
            one.mean / fastest
        ));
    }
    text
}

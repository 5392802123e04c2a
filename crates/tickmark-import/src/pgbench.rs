//! pgbench: each run in a file is a run.

use super::number::label;
use super::{begin, each_run, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.contains("transaction type:") && text.contains("tps = ")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    // The version stands before the first line of a run; of old versions there is none.
    let begins = if text.lines().any(|line| line.starts_with("pgbench (")) {
        "pgbench ("
    } else {
        "transaction type:"
    };
    each_run(name, text, |line| line.starts_with(begins), run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let version = text.lines().find_map(|line| line.strip_prefix("pgbench (")?.split([' ', ')']).next());
    let mut found =
        begin(&version.map_or("pgbench".to_owned(), |version| format!("pgbench {version}")), name);
    let (mut round, mut are_statements) = (0, false);
    let mut statements = Vec::<String>::new();
    found.take_lines(text, |found, line| {
        if line.starts_with("transaction type:") {
            round += 1;
        }
        // "statement latencies in milliseconds and failures:", then a line of each: latency, failures, its text.
        if line.starts_with("statement latencies in milliseconds") {
            are_statements = true;
            return true;
        }
        if are_statements && let Some((latency, statement)) = statement(line) {
            // One statement may stand in a script twice.
            let name = label(statement);
            let before = statements.iter().filter(|known| **known == name).count();
            let again = if before > 0 { format!(".again={before}") } else { String::new() };
            let metric = format!("pgbench.statement.{name}{again}");
            statements.push(name);
            found.figure(&metric, Unit::Time, Better::Lower, round, latency * 1e6);
            return true;
        }
        if let Some((what, value)) = line.split_once(" = ") {
            let Some(number) = first_number(value) else { return false };
            let (metric, unit, better, factor) = match what.trim() {
                // Before version 14 both were printed.
                "tps" if value.contains("including") => {
                    ("pgbench.tps_with_connecting", Unit::Rate, Better::Higher, 1.0)
                }
                "tps" => ("pgbench.tps", Unit::Rate, Better::Higher, 1.0),
                "latency average" => ("pgbench.latency.mean", Unit::Time, Better::Lower, 1e6),
                "latency stddev" => ("pgbench.latency.deviation", Unit::Time, Better::Lower, 1e6),
                "initial connection time" => ("pgbench.connecting", Unit::Time, Better::Lower, 1e6),
                _ => return false,
            };
            found.figure(metric, unit, better, round, number * factor);
            return true;
        }
        let Some((key, value)) = line.split_once(": ") else {
            return !line.starts_with(' ') && !line.contains(" ms");
        };
        let number = first_number(value);
        match (key.trim(), number) {
            ("number of transactions actually processed", Some(count)) => {
                found.figure("pgbench.transactions", Unit::Count, Better::Neither, round, count);
            }
            ("number of failed transactions", Some(count)) => {
                found.figure("pgbench.failed", Unit::Count, Better::Lower, round, count);
            }
            (
                "transaction type"
                | "scaling factor"
                | "query mode"
                | "number of clients"
                | "number of threads"
                | "duration"
                | "maximum number of tries",
                _,
            ) => {
                found.know(&format!("pgbench.{}", key.replace(' ', "_")), value.trim(), name);
            }
            ("number of transactions per client" | "transaction type " | "starting vacuum...end.", _) => {}
            _ => return key.starts_with("progress") || key.contains("NOTICE"),
        }
        true
    });
    if text.contains("progress: ") {
        found.remarks.push("lines of progress are left out: they are parts of the run".to_owned());
    }
    Ok(found)
}

/// Latency in ms and text of `         0.051           0  SELECT abalance ...`; before version 15 there are no failures.
fn statement(line: &str) -> Option<(Printed, &str)> {
    let (latency, rest) = line.trim().split_once(' ')?;
    let rest = rest.trim_start();
    let text = match rest.split_once(' ') {
        Some((failures, text)) if failures.bytes().all(|byte| byte.is_ascii_digit()) => text.trim_start(),
        _ => rest,
    };
    (line.starts_with(' ') && latency.contains('.')).then(|| Some((first_number(latency)?, text)))?
}

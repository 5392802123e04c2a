//! sysbench, all tests, also of version 0.4: each run in a file is a run of its test; several tests are metrics of their own.

use super::number::percentile;
use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

const MIB: f64 = 1_048_576.0;

/// Labels of the tests' own lines, and what they are called here.
const TESTS: [(&str, &str); 8] = [
    ("CPU speed:", "cpu"),
    ("Prime numbers limit", "cpu"),
    ("File operations", "fileio"),
    ("random IO test", "fileio"),
    ("SQL statistics:", "oltp"),
    ("OLTP test statistics:", "oltp"),
    ("transferred (", "memory"),
    ("memory speed test", "memory"),
];

pub(super) fn is(text: &str) -> bool {
    let ended = text.contains("total time:") || text.contains("time elapsed:");
    text.lines().any(|line| line.starts_with("sysbench ")) && ended
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let version =
        text.lines().find_map(|line| line.strip_prefix("sysbench ")?.split([' ', ':']).next()).unwrap_or("?");
    let mut found = begin(&format!("sysbench {version}"), name);
    let lines: Vec<&str> = text.lines().collect();
    let mut starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("sysbench ")).collect();
    starts.dedup();
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([lines.len()]).collect();
    for (start, end) in starts.into_iter().zip(ends) {
        run(&mut found, name, start, &lines[start..end]);
    }
    if found.series.iter().any(|(metric, series)| {
        metric.contains(".latency.") && series.values.iter().any(|value| value.value == 0.0)
    }) {
        found.remarks.push("a latency of 0.00 ms is below 10 us: the output has two decimals".to_owned());
    }
    Ok(vec![found])
}

fn run(found: &mut Imported, name: &str, first: usize, lines: &[&str]) {
    let has = |label: &str| lines.iter().any(|line| line.contains(label));
    let test = TESTS.iter().find(|(label, _)| has(label)).map_or("test", |(_, test)| *test);
    let mut in_per_request = false;
    let whole = lines.join("\n");
    let before = found.left_out.len();
    found.take_lines(&whole, |found, line| {
        let mut put = |what: &str, unit, better, value: Printed| {
            found.repeat(&format!("sysbench.{test}.{what}"), unit, better, value);
        };
        if let Some((_, rate)) = line.split_once("transferred (") {
            let Some(rate) = first_number(rate) else { return false };
            put("throughput", Unit::Throughput, Better::Higher, rate * MIB);
            return true;
        }
        let Some((label, value)) = line.split_once(':') else { return true };
        let (label, number) = (label.trim(), first_number(value));
        let bracket = || value.split_once('(').and_then(|(_, rate)| first_number(rate));
        // "approx.  95 percentile" of version 0.4, "95th percentile" since.
        if let Some(percent) = label.strip_suffix("percentile") {
            let (Some(percent), Some(millis)) = (first_number(percent), number) else { return false };
            put(
                &format!("latency.{}", percentile(&percent.value.to_string())),
                Unit::Time,
                Better::Lower,
                millis * 1e6,
            );
            return true;
        }
        let (what, unit, better, value) = match label {
            "Number of threads" => {
                found.know("sysbench.threads", value.trim(), name);
                return true;
            }
            "per-request statistics" | "Latency (ms)" => {
                in_per_request = true;
                return true;
            }
            "events per second" | "events/s (eps)" => ("events", Unit::Rate, Better::Higher, number),
            "total time" | "time elapsed" => {
                ("time", Unit::Time, Better::Lower, number.map(|seconds| seconds * 1e9))
            }
            "transactions" => ("transactions", Unit::Rate, Better::Higher, bracket()),
            "queries" | "read/write requests" => ("queries", Unit::Rate, Better::Higher, bracket()),
            "Total operations" | "Operations performed" => {
                ("operations", Unit::Rate, Better::Higher, bracket())
            }
            "ignored errors" => ("ignored_errors", Unit::Count, Better::Lower, number),
            "reconnects" => ("reconnects", Unit::Count, Better::Lower, number),
            "reads/s" => ("reads", Unit::Rate, Better::Higher, number),
            "writes/s" => ("writes", Unit::Rate, Better::Higher, number),
            "fsyncs/s" => ("fsyncs", Unit::Rate, Better::Higher, number),
            "read, MiB/s" => ("read", Unit::Throughput, Better::Higher, number.map(|rate| rate * MIB)),
            "written, MiB/s" => ("written", Unit::Throughput, Better::Higher, number.map(|rate| rate * MIB)),
            "min" | "avg" | "max" if in_per_request => {
                put(
                    &format!("latency.{label}"),
                    Unit::Time,
                    Better::Lower,
                    match number {
                        Some(millis) => millis * 1e6,
                        None => return false,
                    },
                );
                return true;
            }
            "sum"
            | "events (avg/stddev)"
            | "execution time (avg/stddev)"
            | "total number of events"
            | "total time taken by event execution" => return true,
            "read"
            | "write"
            | "other"
            | "total"
            | "block size"
            | "total size"
            | "operation"
            | "scope"
            | "Block size"
            | "Memory block size"
            | "Memory transfer size" => return true,
            "Number of IO requests"
            | "Read/Write ratio for combined random IO test"
            | "Prime numbers limit"
            | "Maximum prime number checked in CPU test"
            | "Extra file open flags" => return true,
            _ => return number.is_none() || value.trim().is_empty(),
        };
        let Some(value) = value else { return false };
        put(what, unit, better, value);
        true
    });
    // Their numbers are of the part.
    for line in &mut found.left_out[before..] {
        if let Some((number, rest)) = line.strip_prefix("line ").and_then(|line| line.split_once(':'))
            && let Ok(number) = number.parse::<usize>()
        {
            *line = format!("line {}:{rest}", number + first);
        }
    }
}

//! sysbench, all tests, also of version 0.4: each run in a file is a run of its test; several tests are metrics of their own.

use super::number::percentile;
use super::{begin, each_run, first_number, named};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

const MIB: f64 = 1_048_576.0;

/// Labels of the tests' own lines, and what they are called here.
const TESTS: [(&str, &str); 13] = [
    ("CPU speed:", "cpu"),
    ("Prime numbers limit", "cpu"),
    ("File operations", "fileio"),
    ("random IO test", "fileio"),
    ("Extra file open flags", "fileio"),
    ("IOPS=", "fileio"),
    ("Total transferred", "fileio"),
    ("thread subsystem", "threads"),
    ("mutex", "mutex"),
    ("SQL statistics:", "oltp"),
    ("OLTP test statistics:", "oltp"),
    ("transferred (", "memory"),
    ("memory speed test", "memory"),
];

pub(super) fn recognizes(text: &str) -> bool {
    let ended = ["total time:", "time elapsed:", "Latency (ms):"].iter().any(|label| text.contains(label));
    text.lines().any(|line| line.starts_with("sysbench ")) && ended
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    each_run(name, text, |line| line.starts_with("sysbench "), run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let version =
        text.lines().find_map(|line| line.strip_prefix("sysbench ")?.split([' ', ':']).next()).unwrap_or("?");
    let mut found = begin(&format!("sysbench {version}"), name);
    figures(&mut found, name, text);
    if found.series.iter().any(|(metric, series)| {
        metric.contains(".latency.") && series.values.iter().any(|value| value.value == 0.0)
    }) {
        found.remarks.push("a latency of 0.00 ms is below 10 us: the output has two decimals".to_owned());
    }
    Ok(found)
}

fn figures(found: &mut Imported, name: &str, text: &str) {
    let has = |label: &str| text.contains(label);
    let test = TESTS.iter().find(|(label, _)| has(label)).map_or("test", |(_, test)| *test);
    found.know("sysbench.test", test, name);
    let mut in_per_request = false;
    found.take_lines(text, |found, line| {
        let mut put = |what: &str, unit, better, value: Printed| {
            found.repeat(&format!("sysbench.{test}.{what}"), unit, better, value);
        };
        if let Some((_, rate)) = line.split_once("transferred (") {
            let Some(rate) = first_number(rate) else { return false };
            put("throughput", Unit::Throughput, Better::Higher, rate * MIB);
            return true;
        }
        // Version 1.1: "read:  IOPS=2120.50 33.13 MiB/s (34.74 MB/s)".
        if let Some((what, rest)) = line.split_once("IOPS=") {
            let (Some(rate), what) = (first_number(rest), what.trim().trim_end_matches(':')) else {
                return false;
            };
            let (rates, bytes) = match what {
                "read" => ("reads", "read"),
                "write" => ("writes", "written"),
                "fsync" => ("fsyncs", ""),
                _ => return false,
            };
            put(rates, Unit::Rate, Better::Higher, rate);
            let throughput = rest
                .split_once(' ')
                .and_then(|(_, rest)| first_number(rest))
                .filter(|_| rest.contains("MiB/s"));
            if let Some(throughput) = throughput.filter(|_| !bytes.is_empty()) {
                put(bytes, Unit::Throughput, Better::Higher, throughput * MIB);
            }
            return true;
        }
        // Version 0.4: "Read 93.797Mb  Written 62.531Mb  Total transferred 156.33Mb  (5.3247Mb/sec)", "340.78 Requests/sec executed".
        if let Some((_, rate)) =
            line.split_once("Total transferred").and_then(|(_, rest)| rest.split_once('('))
        {
            let Some(rate) = first_number(rate) else { return false };
            let scale = if line.contains("Gb/sec") {
                1024.0 * MIB
            } else if line.contains("Kb/sec") {
                1024.0
            } else {
                MIB
            };
            put("throughput", Unit::Throughput, Better::Higher, rate * scale);
            return true;
        }
        if line.contains("Requests/sec executed") {
            let Some(rate) = first_number(line) else { return false };
            put("operations", Unit::Rate, Better::Higher, rate);
            return true;
        }
        // "Doing random r/w test", "Block size 16KiB", "Using synchronous I/O mode".
        for (head, fact) in [
            ("Doing ", "sysbench.doing"),
            ("Block size ", "sysbench.block_size"),
            ("Using ", "sysbench.mode"),
        ] {
            if let Some(rest) = line.strip_prefix(head) {
                found.know(fact, rest.trim(), name);
                return true;
            }
        }
        let Some((label, value)) = line.split_once(':') else {
            return !line.contains("sec") || line.starts_with("sysbench ");
        };
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
            "block size"
            | "total size"
            | "operation"
            | "scope"
            | "Block size"
            | "Memory block size"
            | "Memory transfer size"
            | "Read/Write ratio for combined random IO test"
            | "Prime numbers limit"
            | "Maximum prime number checked in CPU test"
            | "Extra file open flags" => {
                let words = named(label);
                found.know(&format!("sysbench.{words}"), value.trim(), name);
                return true;
            }
            "read" | "write" | "other" | "total" | "Number of IO requests" => return true,
            _ => return number.is_none() || value.trim().is_empty(),
        };
        let Some(value) = value else { return false };
        put(what, unit, better, value);
        true
    });
}

//! Reads sysbench's output; each file is a run.

use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Unit};

pub(super) fn is(text: &str) -> bool {
    let ended = text.contains("total time:") || text.contains("time elapsed:");
    text.lines().take(5).any(|line| line.starts_with("sysbench ")) && ended
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let version =
        text.lines().find_map(|line| line.strip_prefix("sysbench ")?.split(' ').next()).unwrap_or("?");
    let mut found = begin(&format!("sysbench {version}"), name);
    // Its tests share labels: each has its own metrics.
    let tests = [
        ("CPU speed:", "cpu"),
        ("File operations", "fileio"),
        ("SQL statistics:", "oltp"),
        ("MiB transferred", "memory"),
    ];
    let test = tests.iter().find(|(label, _)| text.contains(label)).map_or("test", |(_, test)| *test);
    for line in text.lines() {
        let Some((label, value)) = line.split_once(':') else {
            // "10240.00 MiB transferred (10321.64 MiB/sec)"
            if let Some((_, rate)) = line.split_once("transferred (")
                && let Some(rate) = first_number(rate)
            {
                found.figure(
                    &format!("sysbench.{test}.throughput"),
                    Unit::Throughput,
                    Better::Higher,
                    1,
                    rate * 1_048_576.0,
                );
            }
            continue;
        };
        let in_brackets = || value.split_once('(').and_then(|(_, rate)| first_number(rate));
        let plain = || first_number(value);
        let (metric, unit, better, known) = match label.trim() {
            "Number of threads" => {
                found.know("sysbench.threads", value.trim(), name);
                continue;
            }
            "events per second" | "events/s (eps)" => ("events", Unit::Rate, Better::Higher, plain()),
            "total time" | "time elapsed" => ("time", Unit::Time, Better::Lower, plain().map(|s| s * 1e9)),
            "transactions" => ("transactions", Unit::Rate, Better::Higher, in_brackets()),
            "queries" => ("queries", Unit::Rate, Better::Higher, in_brackets()),
            "Total operations" => ("operations", Unit::Rate, Better::Higher, in_brackets()),
            "reads/s" => ("reads", Unit::Rate, Better::Higher, plain()),
            "writes/s" => ("writes", Unit::Rate, Better::Higher, plain()),
            "read, MiB/s" => {
                ("read", Unit::Throughput, Better::Higher, plain().map(|rate| rate * 1_048_576.0))
            }
            "written, MiB/s" => {
                ("written", Unit::Throughput, Better::Higher, plain().map(|rate| rate * 1_048_576.0))
            }
            // Under "Latency (ms)".
            "min" => ("latency.min", Unit::Time, Better::Lower, plain().map(|ms| ms * 1e6)),
            "avg" => ("latency.avg", Unit::Time, Better::Lower, plain().map(|ms| ms * 1e6)),
            "max" => ("latency.max", Unit::Time, Better::Lower, plain().map(|ms| ms * 1e6)),
            "95th percentile" => ("latency.p95", Unit::Time, Better::Lower, plain().map(|ms| ms * 1e6)),
            "99th percentile" => ("latency.p99", Unit::Time, Better::Lower, plain().map(|ms| ms * 1e6)),
            _ => continue,
        };
        if let Some(known) = known {
            found.figure(&format!("sysbench.{test}.{metric}"), unit, better, 1, known);
        }
    }
    Ok(vec![found])
}

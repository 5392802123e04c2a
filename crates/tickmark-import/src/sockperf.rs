//! Reads sockperf's output, or the file of `--full-log`; each file is a run. Its latency is half of the round trip, or by `--full-rtt` all
//! of it.

use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.contains("sockperf: ") && (text.contains("observation") || text.contains(" Message Rate is "))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    super::each_run(name, text, |line| line.contains("Starting test..."), run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let mut found = begin("sockperf", name);
    let whole = text.contains("--full-rtt") || text.contains("Round trip is");
    let what_is_timed = if whole { "round_trip" } else { "latency" };
    for line in text.lines().filter(|line| line.contains("sockperf: ")) {
        // Of its throughput test: "Summary: Message Rate is 136492 [msg/sec]", "Summary: BandWidth is 1.822 MBps (14.579 Mbps)", of
        // 1,048,576 bytes each.
        // With --giga-size 1,000 times as many.
        let bytes = if line.contains("GBps") { 1_048_576_000.0 } else { 1_048_576.0 };
        let sums = [
            ("Message Rate is ", "messages", Unit::Rate, 1.0),
            ("BandWidth is ", "bandwidth", Unit::Throughput, bytes),
        ];
        for (label, what, unit, factor) in sums {
            if let Some(value) = line.split_once(label).and_then(|(_, value)| first_number(value)) {
                found.figure(&format!("sockperf.{what}"), unit, Better::Higher, 1, value * factor);
            }
        }
        // "---> percentile 99.000 =  100.858", "---> <MAX> observation = 1842.273", "avg-latency=46.990 (std-dev=37.568)".
        let (what, value) = match line.split_once('=') {
            Some((_, rest)) if line.contains("avg-latency=") => {
                ("mean".to_owned(), rest.split_once("avg-latency=").map_or("", |(_, value)| value))
            }
            Some((head, value)) if head.contains("percentile") => {
                let percent = head.split_whitespace().next_back().unwrap_or_default();
                let percent = percent.trim_end_matches('0').trim_end_matches('.');
                (format!("p{}", percent.replace('.', "_")), value)
            }
            Some((head, value)) if head.contains("<MAX>") => ("max".to_owned(), value),
            Some((head, value)) if head.contains("<MIN>") => ("min".to_owned(), value),
            _ => {
                lost(&mut found, line);
                continue;
            }
        };
        if let Some(micros) = first_number(value) {
            let nanos: Printed = micros * 1e3;
            found.figure(&format!("sockperf.{what_is_timed}.{what}"), Unit::Time, Better::Lower, 1, nanos);
        }
    }
    let header = text.lines().find_map(|line| line.split_once("parameters: "));
    if let Some((_, parameters)) = header {
        found.know("sockperf.parameters", parameters.trim(), name);
    }
    Ok(found)
}

/// "# dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0".
fn lost(found: &mut Imported, line: &str) {
    for part in line.split(';') {
        let named = ["dropped", "duplicated", "out-of-order"].into_iter().find(|kind| part.contains(kind));
        let count = part.split_once('=').and_then(|(_, count)| first_number(count));
        if let Some((kind, count)) = named.zip(count) {
            let metric = format!("sockperf.{}", kind.replace('-', "_"));
            found.figure(&metric, Unit::Count, Better::Lower, 1, count);
        }
    }
}

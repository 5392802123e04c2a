//! ab (ApacheBench): each run in a file is a run.

use super::{begin, each_run, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.contains("Requests per second:") && text.contains("Concurrency Level:")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    each_run(name, text, |line| line.starts_with("This is ApacheBench"), run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let version =
        text.split_once("ApacheBench, Version ").and_then(|(_, rest)| rest.split_whitespace().next());
    let mut found = begin(&version.map_or("ab".to_owned(), |version| format!("ab {version}")), name);
    let mut in_percentiles = false;
    found.take_lines(text, |found, line| {
        if line.starts_with("Percentage of the requests") {
            in_percentiles = true;
            return true;
        }
        if line.starts_with("This is ApacheBench") {
            in_percentiles = false;
            return true;
        }
        if let Some((percent, rest)) = line.trim().split_once('%').filter(|_| in_percentiles)
            && let (Ok(percent), Some(millis)) = (percent.parse::<u32>(), first_number(rest))
        {
            found.time(
                &if percent == 100 { "ab.latency.max".to_owned() } else { format!("ab.latency.p{percent}") },
                millis,
                1e6,
            );
            return true;
        }
        if line.starts_with("Copyright") || line.starts_with("Licensed") {
            return true;
        }
        let Some((key, rest)) = line.split_once(':') else {
            return !line.contains("finished") && line.trim().parse::<f64>().is_err();
        };
        let number = first_number(rest);
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (key.trim(), number) {
            ("Requests per second", Some(rate)) => {
                found.repeat("ab.requests", Unit::Rate, Better::Higher, rate);
            }
            ("Time per request", Some(millis)) if rest.contains("concurrent") => {
                found.time("ab.time_a_request", millis, 1e6);
            }
            ("Time per request", Some(millis)) => found.time("ab.latency.mean", millis, 1e6),
            ("Transfer rate", Some(rate)) => {
                found.repeat("ab.transfer", Unit::Throughput, Better::Higher, rate * 1024.0);
            }
            ("Failed requests", Some(count)) => found.repeat("ab.failed", Unit::Count, Better::Lower, count),
            ("Non-2xx responses", Some(count)) => {
                found.repeat("ab.errors.status", Unit::Count, Better::Lower, count);
            }
            ("Time taken for tests", Some(seconds)) => {
                found.repeat("ab.duration", Unit::Time, Better::Neither, seconds * 1e9);
            }
            ("Complete requests", Some(count)) => {
                found.repeat("ab.complete", Unit::Count, Better::Neither, count);
            }
            (what @ ("Connect" | "Processing" | "Waiting" | "Total"), _) => {
                // min, mean, deviation, median, max; ms.
                let numbers: Vec<Printed> =
                    words.iter().filter_map(|word| Printed::parse(word.as_bytes())).collect();
                if let [least, mean, _, median, most] = numbers[..] {
                    for (figure, value) in [("min", least), ("mean", mean), ("median", median), ("max", most)]
                    {
                        found.time(&format!("ab.{}.{figure}", what.to_lowercase()), value, 1e6);
                    }
                }
            }
            (
                fact @ ("Concurrency Level" | "Document Path" | "Document Length" | "Server Software"
                | "Server Hostname" | "Server Port"),
                _,
            ) => {
                found.know(&format!("ab.{}", fact.to_lowercase().replace(' ', "_")), rest.trim(), name);
            }
            (
                "Total transferred"
                | "HTML transferred"
                | "Keep-Alive requests"
                | "Write errors"
                | "SSL/TLS Protocol",
                _,
            ) => {}
            _ => return false,
        }
        true
    });
    Ok(found)
}

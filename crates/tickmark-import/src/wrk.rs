//! Reads wrk's output; each file is a run.

use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn is(text: &str) -> bool {
    text.contains("Requests/sec:") && text.contains(" test @ ")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("wrk", name);
    let mut distribution = false;
    for line in text.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        match fields[..] {
            ["Requests/sec:", rate] => {
                let rate = Printed::parse(rate.as_bytes()).ok_or_else(|| format!("{rate} is no rate"))?;
                found.figure("wrk.requests", Unit::Rate, Better::Higher, 1, rate);
            }
            ["Transfer/sec:", rate] => {
                if let Some(bytes) =
                    scaled(rate, &[("KB", 1024.0), ("MB", 1_048_576.0), ("GB", 1_073_741_824.0), ("B", 1.0)])
                {
                    found.figure("wrk.transfer", Unit::Throughput, Better::Higher, 1, bytes);
                }
            }
            ["Latency", "Distribution", ..] => distribution = true,
            ["Latency", average, _, most, _] => {
                let both = [("avg", average), ("max", most)];
                for (which, nanos) in both.into_iter().filter_map(|(which, text)| Some((which, time(text)?)))
                {
                    found.figure(&format!("wrk.latency.{which}"), Unit::Time, Better::Lower, 1, nanos);
                }
            }
            [percent, at] if distribution => {
                let share = percent.strip_suffix('%').filter(|number| number.parse::<f64>().is_ok());
                if let (Some(share), Some(nanos)) = (share, time(at)) {
                    found.figure(
                        &format!("wrk.latency.p{}", share.replace('.', "_")),
                        Unit::Time,
                        Better::Lower,
                        1,
                        nanos,
                    );
                }
            }
            _ => {}
        }
        if let Some((_, url)) = line.split_once(" test @ ") {
            found.know("wrk.url", url, name);
        }
        if let [threads, "threads", "and", connections, "connections"] = fields[..] {
            found.know("wrk.threads", threads, name);
            found.know("wrk.connections", connections, name);
        }
        // "Non-2xx or 3xx responses: 7", "Socket errors: connect 0, read 49, write 0, timeout 458".
        if let Some((what, counts)) = line.split_once(':') {
            let metric = match what.trim() {
                "Non-2xx or 3xx responses" => "wrk.errors.status",
                "Socket errors" => "wrk.errors.socket",
                _ => continue,
            };
            let sum: f64 = counts.split(',').filter_map(first_number).map(|count| count.value).sum();
            found.figure(metric, Unit::Count, Better::Lower, 1, sum);
        }
    }
    Ok(vec![found])
}

/// 635.91us, 12.92ms, 1.2s, 2.00m: in ns.
fn time(text: &str) -> Option<Printed> {
    scaled(text, &[("us", 1e3), ("ms", 1e6), ("m", 60e9), ("h", 3600e9), ("s", 1e9)])
}

/// A number with the first of these units that it ends with.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<Printed> {
    units
        .iter()
        .find_map(|(unit, factor)| Some(Printed::parse(text.strip_suffix(unit)?.as_bytes())? * *factor))
}

//! stress-ng: its table of metrics (`--metrics`), its YAML, and the latencies of `--cyclic`.

use super::number::{label, percentile};
use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("stress-ng: "))
        || (text.contains("bogo-ops-per-second-real-time:") && text.contains("stressor:"))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("stress-ng", name);
    let mut stressor = String::new();
    found.take_lines(text, |found, line| {
        if let Some((key, value)) = line
            .trim_start()
            .trim_start_matches("- ")
            .split_once(": ")
            .filter(|_| !line.starts_with("stress-ng"))
        {
            return yaml(found, &mut stressor, key.trim(), value.trim());
        }
        let Some((_, rest)) = line.split_once(']') else { return !line.starts_with("stress-ng") };
        let rest = rest.trim();
        if let Some(rest) = rest.strip_prefix("cyclic:") {
            return cyclic(found, rest.trim());
        }
        let words: Vec<&str> = rest.split_whitespace().collect();
        let numbers: Vec<Printed> =
            words.iter().skip(1).map_while(|word| Printed::parse(word.as_bytes())).collect();
        if let ([stressor, ..], [operations, real, user, system, by_real, by_cpu, ..]) =
            (&words[..], &numbers[..])
            && !stressor.ends_with(':')
        {
            let metric = |what: &str| format!("stress_ng.{}.{what}", label(stressor));
            found.repeat(&metric("operations"), Unit::Count, Better::Neither, *operations);
            for (what, seconds) in [("real", real), ("user", user), ("system", system)] {
                found.repeat(&metric(what), Unit::Time, Better::Neither, *seconds * 1e9);
            }
            found.repeat(&metric("rate"), Unit::Rate, Better::Higher, *by_real);
            found.repeat(&metric("rate_by_cpu_time"), Unit::Rate, Better::Higher, *by_cpu);
            return true;
        }
        // "info: [1] setting to a 600 second run" and other lines of its own.
        [
            "setting",
            "dispatching",
            "successful",
            "stressor",
            "skipped",
            "passed",
            "failed",
            "metrics",
            "(secs)",
        ]
        .iter()
        .any(|word| rest.starts_with(word))
    });
    Ok(vec![found])
}

fn yaml(found: &mut Imported, stressor: &mut String, key: &str, value: &str) -> bool {
    if key == "stressor" {
        *stressor = label(value);
        return true;
    }
    let number = Printed::parse(value.as_bytes());
    let (what, unit, better, factor) = match key {
        "bogo-ops" => ("operations", Unit::Count, Better::Neither, 1.0),
        "bogo-ops-per-second-real-time" => ("rate", Unit::Rate, Better::Higher, 1.0),
        "bogo-ops-per-second-usr-sys-time" => ("rate_by_cpu_time", Unit::Rate, Better::Higher, 1.0),
        "wall-clock-time" => ("real", Unit::Time, Better::Neither, 1e9),
        "user-time" => ("user", Unit::Time, Better::Neither, 1e9),
        "system-time" => ("system", Unit::Time, Better::Neither, 1e9),
        "cpu-usage-per-instance" => ("cpu", Unit::Share, Better::Neither, 0.01),
        "max-rss" => ("memory", Unit::Bytes, Better::Lower, 1024.0),
        "hostname" => {
            found.know("host.name", value.trim_matches('"'), "system-info");
            return true;
        }
        "release" => {
            found.know("kernel.release", value.trim_matches('"'), "system-info");
            return true;
        }
        _ => return number.is_none() || stressor.is_empty(),
    };
    let Some(number) = number.filter(|_| !stressor.is_empty()) else { return false };
    found.repeat(&format!("stress_ng.{stressor}.{what}"), unit, better, number * factor);
    true
}

/// `mean: 3826.39 ns, mode: 2968 ns`, `min: 2603 ns, max: 2073993 ns, std.dev. 29163.42`, `25.00%:  2968 ns`.
fn cyclic(found: &mut Imported, rest: &str) -> bool {
    let mut taken = rest.starts_with("latency percentiles") || rest.starts_with("sched ");
    if let Some((_, samples)) = rest.split_once(" delay, ") {
        if let Some(samples) = first_number(samples) {
            found.repeat("stress_ng.cyclic.late.count", Unit::Count, Better::Neither, samples);
        }
        return true;
    }
    for part in rest.split(", ") {
        let (what, value) = part
            .split_once(':')
            .or(part.split_once("std.dev.").map(|(_, value)| ("deviation", value)))
            .unwrap_or_default();
        let what = what.trim();
        let name = match what {
            "min" | "max" | "mode" | "deviation" => what.to_owned(),
            "mean" => "avg".to_owned(),
            percent => match percent.strip_suffix('%') {
                Some(percent) => percentile(percent),
                None => continue,
            },
        };
        if let Some(nanos) = first_number(value) {
            found.time(&format!("stress_ng.cyclic.late.{name}"), nanos, 1.0);
            taken = true;
        }
    }
    taken
}

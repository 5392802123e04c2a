//! oslat: minimum, average and maximum of each core, and of all of them.

use super::begin;
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("oslat V")) && text.contains("Maximum:")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let version = text.lines().find_map(|line| line.strip_prefix("oslat V")).unwrap_or_default();
    let mut found = begin(format!("oslat {}", version.trim()).trim(), name);
    found.is_one_replicate = true;
    let mut cores: Vec<String> = Vec::new();
    found.take_lines(text, |found, line| {
        let Some((label, rest)) = line.split_once(':') else {
            return ["oslat V", "Pre-heat", "Test "].iter().any(|word| line.starts_with(word));
        };
        let numbers: Vec<Printed> =
            rest.split_whitespace().map_while(|word| Printed::parse(word.as_bytes())).collect();
        match label.trim() {
            "Core" => cores = rest.split_whitespace().map(str::to_owned).collect(),
            what @ ("Minimum" | "Average" | "Maximum") => {
                let what = match what {
                    "Minimum" => "min",
                    "Average" => "avg",
                    _ => "max",
                };
                for (core, value) in cores.iter().zip(&numbers) {
                    found.time(&format!("oslat.{what}.cpu={core}"), *value, 1e3);
                }
                let values = numbers.iter().copied();
                let all = match what {
                    "min" => values.min_by(|a, b| a.value.total_cmp(&b.value)),
                    "max" => values.max_by(|a, b| a.value.total_cmp(&b.value)),
                    _ => None,
                };
                if let Some(all) = all {
                    found.time(&format!("oslat.{what}"), all, 1e3);
                }
            }
            "Total runtime" | "Thread priority" | "Workload" | "CPU list" => {
                found.know(
                    &format!("oslat.{}", label.trim().to_lowercase().replace(' ', "_")),
                    rest.trim(),
                    name,
                );
            }
            "Duration" => {
                for (core, seconds) in cores.iter().zip(&numbers) {
                    found.repeat(
                        &format!("oslat.duration.cpu={core}"),
                        Unit::Time,
                        Better::Neither,
                        *seconds * 1e9,
                    );
                }
            }
            "Counter Freq" | "Max-Min" | "CPU for main thread" | "Workload mem" | "Preheat cores" => {}
            // Bins of the histogram.
            label => return label.ends_with("(us)"),
        }
        true
    });
    Ok(vec![found])
}

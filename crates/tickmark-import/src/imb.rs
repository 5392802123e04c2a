//! Intel MPI Benchmarks: each benchmark and column is a metric for each size of messages.

use super::number::label;
use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.contains("Intel(R) MPI Benchmarks")
        || (text.contains("# Benchmarking ") && text.contains("#repetitions"))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("IMB", name);
    found.is_one_replicate = true;
    let (mut benchmark, mut processes, mut heads): (String, String, Vec<&str>) = Default::default();
    let mut mode = String::new();
    found.take_lines(text, |found, line| {
        let line = line.trim();
        if line.contains("#repetitions") {
            heads = line.split_whitespace().map(|head| head.trim_start_matches('#')).collect();
            return true;
        }
        if let Some(rest) = line.strip_prefix('#') {
            if let Some(title) = rest.trim().strip_prefix("Benchmarking ") {
                (benchmark, heads, processes) = (label(title), Vec::new(), String::new());
                mode.clear();
            } else if let Some(word) = rest.trim().strip_prefix("MODE:") {
                // IMB-EXT and IMB-IO measure each benchmark in two modes.
                mode = format!(".mode={}", label(&word.trim().to_ascii_lowercase()));
            } else if let Some((_, count)) =
                rest.split_once("#processes =").or(rest.split_once("processes ="))
            {
                processes = first_number(count)
                    .map_or_else(String::new, |count| format!(".processes={}", count.value));
            }
            return true;
        }
        let numbers: Option<Vec<Printed>> =
            line.split_whitespace().map(|word| Printed::parse(word.as_bytes())).collect();
        let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else { return line.is_empty() };
        if numbers.len() != heads.len() || benchmark.is_empty() {
            return false;
        }
        let size = heads
            .iter()
            .zip(&numbers)
            .find(|(head, _)| **head == "bytes")
            .map_or_else(String::new, |(_, size)| format!(".size={}", size.value));
        for (head, value) in heads.iter().zip(&numbers) {
            let (what, unit, factor, better) = match *head {
                "t[usec]" => ("time", Unit::Time, 1e3, Better::Lower),
                "t_min[usec]" => ("min", Unit::Time, 1e3, Better::Lower),
                "t_max[usec]" => ("max", Unit::Time, 1e3, Better::Lower),
                "t_avg[usec]" => ("avg", Unit::Time, 1e3, Better::Lower),
                "t_ovrl[usec]" => ("overlapped", Unit::Time, 1e3, Better::Lower),
                "t_pure[usec]" => ("pure", Unit::Time, 1e3, Better::Lower),
                "t_CPU[usec]" => ("cpu", Unit::Time, 1e3, Better::Lower),
                "overlap[%]" => ("overlap", Unit::Share, 0.01, Better::Higher),
                "Mbytes/sec" => ("throughput", Unit::Throughput, 1e6, Better::Higher),
                "Msg/sec" => ("messages", Unit::Rate, 1.0, Better::Higher),
                _ => continue,
            };
            found.repeat(
                &format!("imb.{benchmark}.{what}{mode}{processes}{size}"),
                unit,
                better,
                *value * factor,
            );
        }
        true
    });
    if found.series.keys().any(|metric| metric.contains(".throughput")) {
        found
            .remarks
            .push("Mbytes/sec is taken for 10^6 bytes a second; IMB before 2018 meant 2^20".to_owned());
    }
    Ok(vec![found])
}

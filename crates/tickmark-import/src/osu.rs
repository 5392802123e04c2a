//! OSU's micro-benchmarks: each test and column is a metric for each size of messages.

use super::number::{label, unit};
use super::{begin, named};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("# OSU "))
}

/// The name in a title such as "# OSU MPI Multi-threaded Latency Test v5.6".
fn test(title: &str) -> String {
    let words = title.trim_start_matches("# OSU ").split_whitespace();
    let words = words
        .take_while(|word| !word.starts_with('v') || !word[1..].starts_with(|c: char| c.is_ascii_digit()));
    let left_out = ["MPI", "OpenSHMEM", "UPC", "UPC++", "NCCL", "Test", "Benchmark"];
    named(&words.filter(|word| !left_out.contains(word)).collect::<Vec<_>>().join("_").replace('-', "_"))
}

/// A column's head: its name, and its unit.
fn column(head: &str) -> (String, Unit, f64, Better) {
    if let Some((unit, factor)) = unit(head).filter(|(unit, _)| *unit == Unit::Throughput) {
        return ("throughput".to_owned(), unit, factor, Better::Higher);
    }
    let (name, word) =
        head.split_once('(').map_or((head, ""), |(name, word)| (name, word.trim_end_matches(')')));
    let (unit, factor) =
        unit(word).unwrap_or((if name.contains("/s") { Unit::Rate } else { Unit::Count }, 1.0));
    let better = match unit {
        Unit::Time => Better::Lower,
        Unit::Throughput | Unit::Rate => Better::Higher,
        _ => Better::Neither,
    };
    (named(&name.replace("/s", "").replace('-', "_")), unit, factor, better)
}

/// Heads have single blanks within them, and several between.
fn heads(text: &str) -> Vec<(String, Unit, f64, Better)> {
    text.split("  ").map(str::trim).filter(|head| !head.is_empty()).map(column).collect()
}

/// Validation since version 7: 1 of "Pass", 0 of "Fail".
fn validation(word: &str) -> Option<Printed> {
    let value = match word {
        "Pass" => 1.0,
        "Fail" => 0.0,
        _ => return None,
    };
    Some(Printed { value, step: 0.0 })
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("OSU", name);
    found.is_one_replicate = true;
    let (mut prefix, mut columns, mut has_size) = (String::new(), Vec::new(), true);
    let mut parameters = String::new();
    found.take_lines(text, |found, line| {
        if line.starts_with("# OSU ") {
            (prefix, columns) = (format!("osu.{}", label(&test(line))), Vec::new());
            parameters.clear();
            return true;
        }
        // "# [ pairs: 2 ] [ window size: 64 ]"
        if line.starts_with("# [") {
            let each = line.split(['[', ']']).filter_map(|part| part.split_once(':'));
            parameters = each.map(|(key, value)| format!(".{}={}", named(key), label(value))).collect();
            return true;
        }
        if let Some(rest) = line.strip_prefix("# Size") {
            (has_size, columns) = (true, heads(rest));
            return true;
        }
        if columns.is_empty() && line.starts_with('#') && line.contains("(us)") {
            // Barriers have no size.
            (has_size, columns) = (false, heads(line.trim_start_matches('#')));
            return true;
        }
        if let Some(fact) = line.strip_prefix('#') {
            if let Some((key, value)) = fact.split_once(':') {
                found.know(&format!("osu.{}", named(key)), value.trim(), name);
            }
            return true;
        }
        let numbers: Option<Vec<Printed>> = line
            .split_whitespace()
            .map(|word| Printed::parse(word.as_bytes()).or(validation(word)))
            .collect();
        let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
            return line.trim().is_empty();
        };
        let (size, values) = match has_size {
            true => (format!(".size={}", numbers[0].value), &numbers[1..]),
            false => (String::new(), &numbers[..]),
        };
        if columns.is_empty() || values.len() != columns.len() {
            return false;
        }
        for ((what, unit, factor, better), value) in columns.iter().zip(values) {
            if what == "validation" {
                if value.value == 0.0 {
                    found
                        .remarks
                        .push(format!("a message of size {} failed its validation", numbers[0].value));
                }
                continue;
            }
            found.repeat(&format!("{prefix}.{what}{parameters}{size}"), *unit, *better, *value * *factor);
        }
        true
    });
    Ok(vec![found])
}

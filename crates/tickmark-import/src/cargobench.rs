//! Text of Rust's benchmarks: `cargo bench` (libtest, any unit an iteration), criterion's summary on the terminal, and divan's tree.

use super::number::{label, time, unit_or_word};
use super::{begin, first_number, quantity};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

/// Name, and what stands behind `bench:`, of `test name ... bench:  2,835 ns/iter (+/- 14)`.
fn libtest(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.trim_start().strip_prefix("test ")?.split_once(" ... bench:")?;
    Some((name.trim(), rest.trim()))
}

/// The middle of criterion's `time:   [1.0 ns 1.1 ns 1.2 ns]`, and what stands before it.
fn criterion(line: &str) -> Option<(&str, [String; 3])> {
    let (name, rest) = line.split_once("time:")?;
    let words: Vec<&str> = rest.trim().strip_prefix('[')?.strip_suffix(']')?.split_whitespace().collect();
    let [a, b, c, d, e, f] = words[..] else { return None };
    time(&format!("{a}{b}"))?;
    Some((name.trim(), [[a, b], [c, d], [e, f]].map(|pair| pair.concat())))
}

fn is_divan(line: &str) -> bool {
    ["fastest", "slowest", "median", "mean", "samples"].iter().all(|head| line.contains(head))
        && line.contains('\u{2502}')
}

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| libtest(line).is_some() || criterion(line).is_some() || is_divan(line))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let tool = if text.lines().any(is_divan) {
        "divan"
    } else if text.lines().any(|line| libtest(line).is_some()) {
        "cargo bench"
    } else {
        "criterion"
    };
    let mut found = begin(tool, name);
    found.is_one_replicate = true;
    let (mut before, mut path): (&str, Vec<String>) = ("", Vec::new());
    // "Running benches/sum.rs (target/...)": of several, each has its name before its benchmarks'.
    let target = |line: &str| {
        let rest = line.trim_start().strip_prefix("Running ")?;
        let file = rest.trim_start_matches("unittests ").split_whitespace().next()?;
        Some(label(file.rsplit('/').next()?.trim_end_matches(".rs")))
    };
    let several = text.lines().filter(|line| target(line).is_some()).count() > 1;
    let mut prefix = String::new();
    found.take_lines(text, |found, line| {
        if let Some(target) = target(line) {
            if several {
                prefix = format!("{target}.");
            }
            return true;
        }
        if let Some((benchmark, rest)) = libtest(line) {
            let Some(number) = first_number(rest) else { return false };
            let word = rest.split_whitespace().nth(1).unwrap_or_default();
            let (unit, factor, better) = unit_or_word(word);
            found.repeat(&format!("bench.{prefix}{}", label(benchmark)), unit, better, number * factor);
            if let Some(rate) =
                rest.split_once("= ").and_then(|(_, rate)| quantity(rate.trim_end_matches(']')))
            {
                found.repeat(
                    &format!("bench.{prefix}{}.throughput", label(benchmark)),
                    rate.1,
                    Better::Higher,
                    rate.0,
                );
            }
        } else if let Some((benchmark, [low, middle, high])) = criterion(line) {
            let metric =
                format!("criterion.{prefix}{}", label(if benchmark.is_empty() { before } else { benchmark }));
            for (what, text) in [("", middle), (".low", low), (".high", high)] {
                if let Some(nanos) = time(&text) {
                    found.time(&format!("{metric}{what}"), nanos, 1.0);
                }
            }
        } else if is_divan(line) {
            path = vec![line.split_whitespace().next().unwrap_or_default().to_owned()];
        } else if !path.is_empty()
            && (divan(found, &mut path, &prefix, line) || divan_counter(found, &path, &prefix, line))
        {
        } else {
            before = line.trim();
            return [
                "running ",
                "test result",
                "Timer precision",
                "Benchmarking",
                "Found ",
                "time: ",
                "thrpt: ",
            ]
            .iter()
            .any(|word| line.trim_start().starts_with(word))
                || line.contains("change:")
                || ["mild", "severe"].iter().any(|word| line.ends_with(word))
                || line.contains("thrpt:");
        }
        true
    });
    Ok(vec![found])
}

/// Takes a line of divan's tree: `│  ├─ name   1.2 ns  │ 3 ns  │ 1.5 ns  │ 1.6 ns  │ 100  │ 100`.
fn divan(found: &mut Imported, path: &mut Vec<String>, prefix: &str, line: &str) -> bool {
    let Some(at) = line.find("\u{251c}\u{2500} ").or(line.find("\u{2570}\u{2500} ")) else { return false };
    let depth = line[..at].chars().count() / 3 + 1;
    let mut cells = line[at..]
        .trim_start_matches(['\u{251c}', '\u{2570}', '\u{2500}', ' '])
        .split('\u{2502}')
        .map(str::trim);
    let first = cells.next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let (name, fastest) = match words[..] {
        [ref name @ .., number, unit] if time(&format!("{number}{unit}")).is_some() => {
            (name.join(" "), time(&format!("{number}{unit}")))
        }
        _ => (first.to_owned(), None),
    };
    path.truncate(depth);
    path.push(label(&name));
    let metric = format!("divan.{prefix}{}", path[1..].join("."));
    let values = [fastest].into_iter().chain(cells.map(time));
    for (what, nanos) in ["fastest", "slowest", "median", "mean"].into_iter().zip(values) {
        if let Some(nanos) = nanos {
            found.repeat(&format!("{metric}.{what}"), Unit::Time, Better::Lower, nanos);
        }
    }
    true
}

/// Takes the line of a counter below a benchmark of divan's tree: `│  │   58.7 GB/s  │ 883.5 MB/s  │ 51.4 GB/s  │ 23.8 GB/s  │  │`.
fn divan_counter(found: &mut Imported, path: &[String], prefix: &str, line: &str) -> bool {
    let cells: Vec<&str> = line.split('\u{2502}').map(str::trim).collect();
    // Bars of the tree stand before the first of the six columns.
    let Some(columns) = cells.len().checked_sub(6).map(|from| &cells[from..]) else { return false };
    let values: Vec<(Printed, Unit, f64)> = columns.iter().take(4).filter_map(|cell| counter(cell)).collect();
    if values.len() < 4 || path.len() < 2 {
        return false;
    }
    let metric = format!("divan.{prefix}{}", path[1..].join("."));
    for (what, (number, unit, factor)) in ["fastest", "slowest", "median", "mean"].into_iter().zip(values) {
        let (name, better) = match unit {
            Unit::Throughput => ("throughput", Better::Higher),
            Unit::Rate => ("items", Better::Higher),
            Unit::Bytes => ("bytes", Better::Lower),
            _ => ("count", Better::Lower),
        };
        found.repeat(&format!("{metric}.{name}.{what}"), unit, better, number * factor);
    }
    true
}

/// A value of a counter: bytes or items or cycles a second, or what an allocator did.
fn counter(cell: &str) -> Option<(Printed, Unit, f64)> {
    let number = first_number(cell)?;
    let word = cell.split_whitespace().nth(1).unwrap_or_default();
    if word.is_empty() {
        return Some((number, Unit::Count, 1.0));
    }
    let items = |word: &str| match word {
        "item/s" | "char/s" => Some(1.0),
        "Kitem/s" | "Kchar/s" => Some(1e3),
        "Mitem/s" | "Mchar/s" => Some(1e6),
        "Gitem/s" | "Gchar/s" => Some(1e9),
        _ => None,
    };
    items(word)
        .map(|factor| (number, Unit::Rate, factor))
        .or_else(|| super::unit(word).map(|(unit, factor)| (number, unit, factor)))
}

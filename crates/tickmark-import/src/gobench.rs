//! Go's benchmarks (`go test -bench`) and benchfmt: each name is a metric for each of its units, each line of the same name a repetition in
//! one process.

use super::number::{label, unit_or_word};
use super::{begin, named};
use crate::Imported;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use tickmark_wire::{Better, Printed, Unit};

/// Name, and numbers with their units, of `BenchmarkName-8  1000  12.5 ns/op  3 allocs/op`.
fn line(text: &str) -> Option<(&str, Vec<(Printed, &str)>)> {
    let mut words = text.strip_prefix("Benchmark")?.split_whitespace();
    let (name, iterations) = (words.next()?, words.next()?);
    iterations.parse::<u64>().ok()?;
    let words: Vec<&str> = words.collect();
    let pair = |pair: &[&'_ str]| Printed::parse(pair[0].as_bytes());
    let numbers: Option<Vec<Printed>> = words.chunks_exact(2).map(pair).collect();
    let units = words.iter().skip(1).step_by(2).copied();
    numbers
        .filter(|numbers| !numbers.is_empty())
        .map(|numbers| (name, numbers.into_iter().zip(units).collect()))
}

/// Key and value of a line of benchfmt: the key begins with a small letter, and has neither capitals nor blanks (golang.org/design/14313).
fn setting(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(": ")?;
    let is_key = key.starts_with(char::is_lowercase)
        && !key.contains(|c: char| c.is_uppercase() || c.is_whitespace() || c == ':');
    is_key.then_some((key, value))
}

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|text| line(text).is_some())
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    // In benchfmt a key holds for what follows: where one changes, another result begins.
    let known = RefCell::new(BTreeMap::<String, String>::new());
    let has_figures = Cell::new(true);
    let begins = |text: &str| {
        if line(text).is_some() {
            has_figures.set(true);
        }
        let Some((key, value)) = setting(text).filter(|(key, _)| *key != "pkg") else { return false };
        let before = known.borrow_mut().insert(key.to_owned(), value.trim().to_owned());
        let is_first = known.borrow().len() == 1 && before.is_none();
        let changes = before.is_some_and(|before| before != value.trim());
        (changes && has_figures.replace(false)) || is_first
    };
    super::each_run(name, text, begins, run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let mut found = begin("go test", name);
    found.is_one_replicate = true;
    let packages: BTreeSet<&str> = text.lines().filter_map(|text| text.strip_prefix("pkg: ")).collect();
    let (mut package, mut higher) = ("", BTreeSet::new());
    found.take_lines(text, |found, text| {
        if let Some((key, value)) = setting(text) {
            match key {
                "pkg" => package = value.trim(),
                "cpu" => found.know("cpu.model", value.trim(), name),
                "goos" | "goarch" => found.know(&format!("go.{key}"), value.trim(), name),
                _ => found.know(&format!("go.{}", named(key)), value.trim(), name),
            }
            return true;
        }
        if let Some(rest) = text.strip_prefix("Unit ") {
            // "Unit requests/s better=higher"
            if let [unit, "better=higher"] = rest.split_whitespace().collect::<Vec<_>>()[..] {
                higher.insert(unit);
            }
            return true;
        }
        let Some((benchmark, figures)) = line(text) else {
            return ["PASS", "ok ", "FAIL", "---", "?", "testing:"].iter().any(|word| text.starts_with(word));
        };
        // Of several packages the last part of the path tells benchmarks of one name apart, or all of it.
        let last = |package: &str| package.rsplit('/').next().unwrap_or_default().to_owned();
        let is_last = packages.iter().filter(|other| last(other.trim()) == last(package)).count() == 1;
        let prefix = if packages.len() > 1 {
            format!("{}.", label(&if is_last { last(package) } else { package.to_owned() }))
        } else {
            String::new()
        };
        for (number, unit_name) in figures {
            let (unit, factor, better) = unit_or_word(unit_name);
            let what = match unit_name {
                "ns/op" | "sec/op" => "time",
                "B/op" => "allocated",
                "allocs/op" => "allocations",
                "MB/s" | "B/s" => "throughput",
                other => other,
            };
            let better = if higher.contains(unit_name) { Better::Higher } else { better };
            let unit = if unit_name == "allocs/op" { Unit::Count } else { unit };
            found.repeat(
                &format!("go.{prefix}{}.{}", label(benchmark), label(what)),
                unit,
                better,
                number * factor,
            );
        }
        true
    });
    Ok(found)
}

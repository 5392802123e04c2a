//! `perf stat`: its text, its lines with separators (-x), and its JSON lines (-j). With -r each figure is the mean of the runs.

use super::json::{number, text_of};
use super::number::{label, unit};
use super::{begin, first_number};
use crate::Imported;
use serde_json::Value;
use tickmark_wire::{Better, Printed, Unit};

/// Separators that -x is given, most often first.
const SEPARATORS: [char; 5] = [',', ';', '\t', '|', ':'];

/// Value, unit and event of a line of -x.
fn separated(line: &str) -> Option<(Printed, &str, &str)> {
    let separator = SEPARATORS.into_iter().find(|separator| line.matches(*separator).count() >= 5)?;
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    // In interval mode a time stands first, by CPU or core its name.
    let at = (0..fields.len().saturating_sub(2))
        .find(|at| is_event(fields[at + 2]) && Printed::parse(fields[*at].as_bytes()).is_some())?;
    (at < 3).then_some((Printed::parse(fields[at].as_bytes())?, fields[at + 1], fields[at + 2]))
}

fn is_event(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:/=.@,".contains(&b))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"counter-value\"")
}

pub(super) fn is(text: &str) -> bool {
    is_json(text)
        || text.contains("Performance counter stats for")
        || text.lines().filter(|line| !line.starts_with('#')).take(3).any(|line| {
            separated(line)
                .is_some_and(|(.., event)| KNOWN.contains(&event.split(':').next().unwrap_or_default()))
        })
}

/// Events by which lines of -x are known.
const KNOWN: [&str; 12] = [
    "task-clock",
    "cpu-clock",
    "context-switches",
    "cpu-migrations",
    "page-faults",
    "cycles",
    "instructions",
    "branches",
    "branch-misses",
    "cache-misses",
    "cache-references",
    "duration_time",
];

fn put(found: &mut Imported, event: &str, unit_name: &str, value: Printed) {
    let metric = format!("perf.stat.{}", label(event));
    match unit(unit_name) {
        Some((unit, factor)) => found.repeat(&metric, unit, Better::Lower, value * factor),
        None => found.repeat(&metric, Unit::Count, Better::Lower, value),
    }
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("perf stat", name);
    found.is_one_replicate = true;
    let is_json = is_json(text);
    let mut mean = text.contains("\"variance\"");
    found.take_lines(text, |found, line| {
        if is_json {
            let Ok(page) = serde_json::from_str::<Value>(line) else { return line.trim().is_empty() };
            let event = text_of(&page["event"]);
            match number(&page["counter-value"]) {
                Some(value) => put(found, &event, &text_of(&page["unit"]), value.into()),
                None => found
                    .remarks
                    .push(format!("{event} was not counted: {}", text_of(&page["counter-value"]))),
            }
            return true;
        }
        if let Some((value, unit, event)) = separated(line) {
            mean |= line.contains('%');
            put(found, event, unit, value);
            return true;
        }
        if let Some((_, rest)) = line.split_once("Performance counter stats for") {
            mean |= rest.contains(" runs)");
            found.know("command", rest.trim().trim_end_matches(':'), name);
            return true;
        }
        let body = line.split('#').next().unwrap_or_default();
        if body.contains("<not ") {
            found
                .remarks
                .push(format!("{} was not counted", body.split_whitespace().next_back().unwrap_or_default()));
            return true;
        }
        // "1.02034 +- 0.00330 seconds time elapsed", "0.5 seconds user".
        for (what, metric) in
            [("seconds time elapsed", "elapsed"), ("seconds user", "user"), ("seconds sys", "system")]
        {
            if body.contains(what) {
                let Some(seconds) = first_number(body) else { return false };
                put(found, metric, "s", seconds);
                return true;
            }
        }
        // "1,018.23 msec task-clock", "3,409,360,888 cycles".
        let words: Vec<&str> = body.split('(').next().unwrap_or_default().split_whitespace().collect();
        let (number, unit, event) = match words[..] {
            [number, unit, event] => (number, unit, event),
            [number, event] => (number, "", event),
            _ => return body.trim().is_empty(),
        };
        let Some(value) = first_number(number)
            .filter(|_| number.starts_with(|c: char| c.is_ascii_digit()) && is_event(event))
        else {
            return false;
        };
        put(found, event, unit, value);
        true
    });
    if mean {
        found.remarks.push(
            "each figure is the mean of perf's runs (-r): how far they spread is in its per cent alone"
                .to_owned(),
        );
    }
    Ok(vec![found])
}

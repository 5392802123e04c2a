//! `perf stat`: its text, its lines with separators (-x), and its JSON lines (-j). With -r each figure is the mean of the runs.

use super::begin;
use super::json::{number, text_of};
use super::number::{label, unit};
use crate::Imported;
use serde_json::Value;
use tickmark_wire::{Better, Printed, Unit};

/// Separators that -x is given, most often first.
const SEPARATORS: [char; 5] = [',', ';', '\t', '|', ':'];

/// A line of -x: value, unit, event, and the CPU, core or task that stands before them.
struct Counted<'l> {
    value: Option<Printed>,
    unit: &'l str,
    event: &'l str,
    of: String,
}

fn separated(line: &str) -> Option<Counted<'_>> {
    let separator = SEPARATORS.into_iter().find(|separator| line.matches(*separator).count() >= 5)?;
    let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
    let is_unit = |text: &str| text.is_empty() || unit(text).is_some();
    // The event is the first word behind a unit or nothing; before them stands the value, whose decimal comma may have been taken for a
    // separator.
    let at = (2..fields.len().min(7))
        .find(|at| is_event(fields[*at]) && !is_unit(fields[*at]) && is_unit(fields[at - 1]))?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (value, before) = match at {
        // "S0,8,1234,ns,duration_time": a socket, die or core has its number of CPUs before the value.
        3.. if separator == ','
            && (at == 3
                || fields[at - 4].starts_with("CPU")
                || Printed::parse(fields[at - 4].as_bytes()).is_some())
            && digits(fields[at - 3])
            && digits(fields[at - 2])
            && !fields[at - 1].is_empty() =>
        {
            (format!("{}.{}", fields[at - 3], fields[at - 2]), at - 3)
        }
        _ => (fields[at - 2].replace(',', "."), at - 2),
    };
    let value = Printed::parse(value.as_bytes());
    if value.is_none() && !fields[at - 2].starts_with('<') {
        return None;
    }
    // In interval mode a time stands first; it names nothing.
    let of: Vec<&str> =
        fields[..before].iter().copied().filter(|field| Printed::parse(field.as_bytes()).is_none()).collect();
    Some(Counted { value, unit: fields[at - 1], event: fields[at], of: parameter(&of.join("_")) })
}

/// ".cpu=0" of CPU0, and another name as it is.
fn parameter(of: &str) -> String {
    match of.strip_prefix("CPU") {
        _ if of.is_empty() => String::new(),
        Some(cpu) => format!(".cpu={}", label(cpu)),
        None => format!(".of={}", label(of)),
    }
}

fn is_event(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:/=.@,".contains(&b))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"counter-value\"")
}

pub(super) fn recognizes(text: &str) -> bool {
    is_json(text)
        || text.lines().any(|line| line.trim_start().starts_with("Performance counter stats for"))
        || text.lines().filter(|line| !line.starts_with('#')).take(3).any(|line| {
            separated(line)
                .is_some_and(|counted| KNOWN.contains(&counted.event.split(':').next().unwrap_or_default()))
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

fn put(found: &mut Imported, event: &str, of: &str, unit_name: &str, value: Printed) {
    let metric = format!("perf.stat.{}{of}", label(event));
    // Before version 4.17 the time of clocks had no unit, and was ms.
    let is_clock = matches!(event.split(':').next(), Some("task-clock" | "cpu-clock"));
    let unit_name = if is_clock && unit_name.is_empty() { "msec" } else { unit_name };
    match unit(unit_name) {
        Some((unit, factor)) => found.repeat(&metric, unit, Better::Lower, value * factor),
        None => found.repeat(&metric, Unit::Count, Better::Lower, value),
    }
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    super::each_run(name, text, |line| line.contains("Performance counter stats for"), run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let mut found = begin("perf stat", name);
    found.is_one_replicate = true;
    let is_json = is_json(text);
    let mut mean = text.contains("\"variance\"");
    found.take_lines(text, |found, line| {
        if is_json {
            let Ok(page) = serde_json::from_str::<Value>(line) else { return line.trim().is_empty() };
            let event = text_of(&page["event"]);
            match number(&page["counter-value"]) {
                Some(value) => {
                    let cpu = ["cpu", "core", "thread"]
                        .iter()
                        .map(|key| text_of(&page[*key]))
                        .find(|text| !text.is_empty());
                    let of = cpu.map_or_else(String::new, |cpu| {
                        if cpu.parse::<u32>().is_ok() { format!(".cpu={cpu}") } else { parameter(&cpu) }
                    });
                    put(found, &event, &of, &text_of(&page["unit"]), value.into());
                }
                None => found
                    .remarks
                    .push(format!("{event} was not counted: {}", text_of(&page["counter-value"]))),
            }
            return true;
        }
        if let Some(Counted { value, unit, event, of }) = separated(line) {
            mean |= line.contains('%');
            match value {
                Some(value) => put(found, event, &of, unit, value),
                None => found.remarks.push(format!("{event}{of} was not counted")),
            }
            return true;
        }
        if let Some((_, rest)) = line.split_once("Performance counter stats for") {
            mean |= rest.contains(" runs)");
            found.know("command", rest.trim().trim_end_matches(':'), name);
            return true;
        }
        let body = line.split('#').next().unwrap_or_default();
        if body.contains("<not ") {
            let event = body.split('>').nth(1).and_then(|rest| rest.split_whitespace().next());
            found.remarks.push(format!("{} was not counted", event.unwrap_or_default()));
            return true;
        }
        // "1.02034 +- 0.00330 seconds time elapsed", "0.5 seconds user".
        for (what, metric) in
            [("seconds time elapsed", "elapsed"), ("seconds user", "user"), ("seconds sys", "system")]
        {
            if body.contains(what) {
                let Some(seconds) = body.split_whitespace().next().and_then(fraction) else { return false };
                put(found, metric, "", "s", seconds);
                return true;
            }
        }
        // "1,018.23 msec task-clock", "3,409,360,888 cycles", "CPU0  12 context-switches"; groups of digits in any language.
        let (of, body) = match body.trim_start().split_once(char::is_whitespace) {
            Some((cpu, rest)) if cpu.starts_with("CPU") => (parameter(cpu), rest),
            _ => (String::new(), body),
        };
        let body = body.split('(').next().unwrap_or_default().trim();
        let Some(at) = body.find(|c: char| c.is_alphabetic()) else { return body.is_empty() };
        let (digits, rest) = body.split_at(at);
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (value, unit, event) = match words[..] {
            [unit_name, event] if unit(unit_name).is_some() => (fraction(digits), unit_name, event),
            [event @ ("task-clock" | "cpu-clock")] => (fraction(digits), "msec", event),
            [event] => (whole(digits), "", event),
            _ => return false,
        };
        let Some(value) = value.filter(|_| is_event(event)) else { return false };
        put(found, event, &of, unit, value);
        true
    });
    if mean {
        found.remarks.push(
            "each figure is the mean of perf's runs (-r): how far they spread is in its per cent alone"
                .to_owned(),
        );
    }
    Ok(found)
}

/// A whole number with any separators of thousands: points, commas, blanks of several kinds, apostrophes.
fn whole(text: &str) -> Option<Printed> {
    let text = text.trim();
    let separates = |c: char| c.is_whitespace() || ".,'\u{2019}\u{202f}\u{a0}".contains(c);
    let groups: Vec<&str> = text.split(separates).collect();
    let are_digits =
        groups.iter().all(|group| !group.is_empty() && group.bytes().all(|b| b.is_ascii_digit()));
    // Groups of three, or of two and three as in India; anything else is a fraction.
    let are_groups = groups.len() == 1
        || (groups[0].len() <= 3
            && groups.last().is_some_and(|last| last.len() == 3)
            && groups[1..].iter().all(|group| matches!(group.len(), 2 | 3)));
    match are_digits && are_groups {
        true => Printed::parse(groups.concat().as_bytes()),
        false => fraction(text).filter(|_| are_digits && groups.len() == 2),
    }
}

/// A number with a fraction, whose last point or comma is the decimal mark.
fn fraction(text: &str) -> Option<Printed> {
    let text = text.trim();
    // Blanks separate groups of three digits; else there are two numbers, such as an interval's time before its count.
    let groups: Vec<&str> = text.split_whitespace().collect();
    let digits = |group: &str| group.bytes().take_while(u8::is_ascii_digit).count();
    let are_groups = groups.len() < 2
        || (groups[0].len() <= 3
            && groups[1..].iter().all(|group| digits(group) == 3)
            && groups[..groups.len() - 1].iter().all(|group| digits(group) == group.len()));
    if !are_groups {
        return None;
    }
    let (before, after) = text.rsplit_once(['.', ',']).unwrap_or((text, ""));
    let whole: String = before.chars().filter(char::is_ascii_digit).collect();
    let after = after.trim();
    after
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| Printed::parse(format!("{whole}.{after}").trim_end_matches('.').as_bytes()))
        .flatten()
}

//! Lines of super-smack: type of query, number of them, longest and shortest time of one in s, queries a second; each line is a
//! run. A block of such lines is a recording, called what stands above it, or its file where that is super-smack's own head.

use super::begin;
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

/// The type and the queries a second of a line.
fn line(text: &str) -> Option<(&str, Printed)> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [kind, queries, low, high, rate] = fields[..] else { return None };
    let is_whole = |word: &&str| word.bytes().all(|b| b.is_ascii_digit());
    let counts = [&queries, &low, &high].into_iter().all(is_whole);
    let known = kind.starts_with(|c: char| c.is_ascii_alphabetic()) && kind.contains('_');
    (counts && known).then_some(kind).zip(Printed::parse(rate.as_bytes()))
}

/// True if the line is the head that super-smack prints above its rows.
fn is_head(text: &str) -> bool {
    text.starts_with("Query_type")
}

pub(super) fn recognizes(text: &str) -> bool {
    // Without its head, its own two kinds of query are known.
    let kinds: Vec<&str> = text.lines().filter_map(line).map(|(kind, _)| kind).collect();
    let are_own =
        kinds.len() > 1 && kinds.iter().all(|kind| matches!(*kind, "select_index" | "update_index"));
    are_own || (!kinds.is_empty() && text.lines().any(is_head))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut all: Vec<Imported> = Vec::new();
    let (mut above, mut open) = ("", false);
    for text in text.lines() {
        match line(text) {
            Some((kind, rate)) => {
                if !open {
                    let mut found = begin("super-smack", name);
                    if !above.is_empty() {
                        (found.host, found.is_named_by_file) = (above.to_owned(), false);
                    }
                    all.push(found);
                    open = true;
                }
                if let Some(found) = all.last_mut() {
                    let metric = format!("smack.{kind}");
                    let round = found.series.get(&metric).map_or(0, |series| series.values.len()) as u32 + 1;
                    found.figure(&metric, Unit::Rate, Better::Higher, round, rate);
                }
            }
            None if is_head(text) => (above, open) = ("", false),
            None if !text.trim().is_empty() => (above, open) = (text.trim(), false),
            None => {}
        }
    }
    Ok(all)
}

//! ping: each reply is a repetition.

use super::number::time;
use super::{begin, first_number};
use crate::Imported;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("PING ")) && text.contains("icmp_seq")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    super::each_run(name, text, |line| line.starts_with("PING "), run)
}

fn run(name: &str, text: &str) -> Result<Imported, String> {
    let mut found = begin("ping", name);
    found.is_one_replicate = true;
    // "PING example.org (192.0.2.1) 56(84) bytes of data."
    if let Some(host) = text.lines().find_map(|line| line.strip_prefix("PING ")?.split_whitespace().next()) {
        found.know("ping.host", host, name);
    }
    found.take_lines(text, |found, line| {
        if let Some((_, value)) = line.split_once(" time=") {
            let Some(nanos) = time(value) else { return false };
            found.time("ping.round_trip", nanos, 1.0);
        } else if let Some((percent, _)) = line.split_once("% packet loss")
            && let Some(percent) = percent.rsplit(' ').next().and_then(first_number)
        {
            found.repeat("ping.lost", Unit::Share, Better::Lower, percent * 0.01);
        }
        true
    });
    Ok(found)
}

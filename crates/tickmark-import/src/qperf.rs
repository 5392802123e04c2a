//! qperf: `tcp_lat:` and its indented lines `latency  =  10.4 us`.

use super::number::label;
use super::{begin, quantity};
use crate::Imported;
use tickmark_wire::{Better, Unit};

fn value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix("    ")?.split_once('=')?;
    Some((key.trim(), value.trim()))
}

pub(super) fn recognizes(text: &str) -> bool {
    let tests = ["tcp_", "udp_", "sctp_", "rds_", "rc_", "uc_", "ud_", "ver_", "sdp_"];
    let titled = |line: &str| line.ends_with(':') && tests.iter().any(|test| line.starts_with(test));
    text.lines().any(titled) && text.lines().any(|line| value(line).is_some())
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("qperf", name);
    let mut test = String::new();
    found.take_lines(text, |found, line| {
        if let Some(title) = line.strip_suffix(':').filter(|title| !title.starts_with(' ')) {
            test = label(title);
            return true;
        }
        let Some((key, text)) = value(line) else { return line.trim().is_empty() };
        let metric = format!("qperf.{test}.{}", label(key));
        let Some((value, unit)) = quantity(&text.replace("/sec", "/s")) else { return false };
        match unit {
            // An average length of messages is a setting.
            Unit::Bytes => found.know(&metric, text, name),
            Unit::Time => found.repeat(&metric, unit, Better::Lower, value),
            Unit::Share => found.repeat(&metric, unit, Better::Lower, value),
            _ => found.repeat(&metric, unit, Better::Higher, value),
        }
        true
    });
    Ok(vec![found])
}

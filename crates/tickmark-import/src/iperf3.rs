//! iperf3's text, or JSON (`-J`); each file is a run.

use super::{begin, quantity};
use crate::Imported;
use crate::number::first_number;
use serde_json::Value;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    if text.trim_start().starts_with('{') {
        return text.contains("\"test_start\"") && text.contains("\"bits_per_second\"");
    }
    text.lines().any(is_head) && text.contains("/sec")
}

/// True of the heads of its text: `[ ID] Interval           Transfer     Bitrate         Retr`.
fn is_head(line: &str) -> bool {
    line.trim_start().starts_with("[ ID]") && line.contains("Interval") && line.contains("Transfer")
}

/// Its sums, which it prints last: `[  5]   0.00-2.00   sec  3.22 GBytes  13.8 Gbits/sec   11   sender`. Of several streams, those of all
/// (`[SUM]`). Its bytes are counted in powers of 1,024, its bits in powers of 1,000.
fn from_text(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    if let Some((_, why)) = text.split_once("iperf3: error - ") {
        return Err(format!("iperf3 failed: {}", why.lines().next().unwrap_or_default()));
    }
    let mut found = begin("iperf3", name);
    if text.contains("Reverse mode") {
        found.know("iperf3.reverse", "1", name);
    }
    let is_of_all = text.lines().any(|line| line.trim_start().starts_with("[SUM]"));
    for line in text.lines().filter(|line| !is_of_all || line.trim_start().starts_with("[SUM]")) {
        let line = line.trim_end();
        let what = if line.ends_with("sender") {
            "sent"
        } else if line.ends_with("receiver") {
            "received"
        } else {
            continue;
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| word.ends_with("bits/sec") || word.ends_with("ytes/sec"))
        else {
            continue;
        };
        let before = at.checked_sub(1).map(|before| words[before]);
        let value =
            before.and_then(|number| quantity(&format!("{number} {}", words[at].replace("Bytes", "iB"))));
        let Some((value, unit)) = value else { continue };
        // Of both directions ("[  5][TX-C]", "[SUM][RX-C]") each has its figures.
        let way = if line.contains("[RX-C]") || line.contains("[RX-S]") { ".reverse" } else { "" };
        found.repeat(&format!("iperf3.{what}{way}"), unit, Better::Higher, value);
        let rest = &words[at + 1..];
        // Streams of bytes have how many segments were sent again; datagrams jitter, and how many were lost of all.
        match rest {
            [again, "sender"] => {
                if let Some(count) = first_number(again) {
                    found.repeat(&format!("iperf3.retransmits{way}"), Unit::Count, Better::Lower, count);
                }
            }
            [jitter, "ms", _, percent, "receiver"] => {
                if let Some((jitter, percent)) = first_number(jitter).zip(first_number(percent)) {
                    found.repeat("iperf3.jitter", Unit::Time, Better::Lower, jitter * 1e6);
                    found.repeat("iperf3.lost", Unit::Share, Better::Lower, percent * 0.01);
                }
            }
            _ => {}
        }
    }
    if found.series.is_empty() {
        return Err("the sums of its end are not there: it was interrupted".to_owned());
    }
    Ok(vec![found])
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    if !text.trim_start().starts_with('{') {
        return from_text(name, text);
    }
    let page: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(why) = page["error"].as_str() {
        return Err(format!("iperf3 failed: {why}"));
    }
    let mut found = begin(page["start"]["version"].as_str().unwrap_or("iperf3"), name);
    let end = &page["end"];
    // A stream of bytes has what was sent and what was received; datagrams have a sum.
    for (what, sum) in [
        ("sent", "sum_sent"),
        ("received", "sum_received"),
        ("datagrams", "sum"),
        ("sent.reverse", "sum_sent_bidir_reverse"),
        ("received.reverse", "sum_received_bidir_reverse"),
        ("datagrams.reverse", "sum_bidir_reverse"),
    ] {
        if let Some(bits) = end[sum]["bits_per_second"].as_f64() {
            found.figure(&format!("iperf3.{what}"), Unit::Throughput, Better::Higher, 1, bits / 8.0);
        }
    }
    let mut figure = |metric: &str, unit, value: &Value, scale: f64| {
        if let Some(value) = value.as_f64() {
            found.figure(metric, unit, Better::Lower, 1, value * scale);
        }
    };
    figure("iperf3.retransmits", Unit::Count, &end["sum_sent"]["retransmits"], 1.0);
    figure("iperf3.jitter", Unit::Time, &end["sum"]["jitter_ms"], 1e6);
    figure("iperf3.lost", Unit::Share, &end["sum"]["lost_percent"], 0.01);
    // Of one CPU; other programs' work is in it.
    let cpu = &end["cpu_utilization_percent"];
    figure("iperf3.cpu.here", Unit::Share, &cpu["host_total"], 0.01);
    figure("iperf3.cpu.there", Unit::Share, &cpu["remote_total"], 0.01);
    for fact in ["protocol", "num_streams", "blksize", "duration", "reverse", "bidir"] {
        let value = &page["start"]["test_start"][fact];
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        found.know(&format!("iperf3.{fact}"), &text, name);
    }
    Ok(vec![found])
}

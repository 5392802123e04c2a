//! `iperf3 -J`; each file is a run.

use super::begin;
use crate::Imported;
use serde_json::Value;
use tickmark_wire::{Better, Unit};

pub(super) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"test_start\"")
        && text.contains("\"bits_per_second\"")
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let page: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if let Some(why) = page["error"].as_str() {
        return Err(format!("iperf3 failed: {why}"));
    }
    let mut found = begin(page["start"]["version"].as_str().unwrap_or("iperf3"), name);
    let end = &page["end"];
    // A stream of bytes has what was sent and what was received; datagrams have a sum.
    for (what, sum) in [("sent", "sum_sent"), ("received", "sum_received"), ("datagrams", "sum")] {
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
    for fact in ["protocol", "num_streams", "blksize", "duration"] {
        let value = &page["start"]["test_start"][fact];
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        found.know(&format!("iperf3.{fact}"), &text, name);
    }
    Ok(vec![found])
}

//! What netperf prints: a stream's rate, requests and responses a second, with what they cost the processors where that was asked for (-c -C); and its
//! KEY=VALUE lines (-k). A file may hold several tests; each test of a kind is a run.

use super::{begin, number::named};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

/// Bits of a line's 10^6bits/s, in bytes.
const MEGABITS: f64 = 1e6 / 8.0;

/// "MIGRATED TCP STREAM TEST from 0.0.0.0 ...": the kind of test.
fn title(line: &str) -> Option<String> {
    let head = line.split_once(" TEST")?.0;
    let kind = head.trim_start_matches("MIGRATED").trim();
    let known = ["STREAM", "SENDFILE", "MAERTS", "REQUEST/RESPONSE", "CONNECT/REQUEST/RESPONSE"];
    known
        .iter()
        .any(|known| kind.ends_with(known))
        .then(|| named(&kind.replace("CONNECT/REQUEST/RESPONSE", "crr").replace("REQUEST/RESPONSE", "rr")))
}

pub(super) fn is(text: &str) -> bool {
    text.lines().any(|line| title(line).is_some()) || text.lines().any(|line| line.starts_with("THROUGHPUT="))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("netperf", name);
    let mut test: Option<String> = None;
    for line in text.lines() {
        if let Some(kind) = title(line) {
            test = Some(kind);
            continue;
        }
        let Some(kind) = test.clone() else { continue };
        let fields: Option<Vec<Printed>> =
            line.split_whitespace().map(|field| Printed::parse(field.as_bytes())).collect();
        // Heads are no numbers; the second line of a test has the other side's buffers.
        let Some(fields) = fields.filter(|fields| fields.len() >= 5) else { continue };
        test = None;
        of_test(&mut found, &kind, &fields);
    }
    keys(&mut found, text);
    Ok(vec![found])
}

/// Which of its kind comes now.
fn round(found: &Imported, metric: &str) -> u32 {
    found.series.get(metric).map_or(0, |series| series.values.len()) as u32 + 1
}

fn of_test(found: &mut Imported, kind: &str, fields: &[Printed]) {
    let datagrams = kind.contains("udp") && kind.ends_with("stream");
    let requests = kind.ends_with("rr");
    // Sizes, then the time, then the figure: socket (two but for datagrams), message, or request and response.
    let at = if datagrams || requests { 5 } else { 4 };
    let Some(value) = fields.get(at).copied() else { return };
    let metric = format!("netperf.{kind}");
    let run = round(found, &metric);
    match requests {
        true => found.figure(&metric, Unit::Rate, Better::Higher, run, value),
        false => found.figure(&metric, Unit::Throughput, Better::Higher, run, value * MEGABITS),
    }
    // -c -C: per cent of the CPU here and there; us for each KB, or for each transaction.
    let [Some(here), Some(there), demand_here, demand_there] =
        [1, 2, 3, 4].map(|more| fields.get(at + more).copied())
    else {
        return;
    };
    for (end, share) in [("here", here), ("there", there)] {
        found.figure(&format!("{metric}.cpu.{end}"), Unit::Share, Better::Lower, run, share * 0.01);
    }
    let unit = if requests { "transaction" } else { "kilobyte" };
    for (end, micros) in [("here", demand_here), ("there", demand_there)] {
        if let Some(micros) = micros {
            found.figure(
                &format!("{metric}.cpu_of_a_{unit}.{end}"),
                Unit::Time,
                Better::Lower,
                run,
                micros * 1e3,
            );
        }
    }
}

/// KEY=VALUE of an omni test.
fn keys(found: &mut Imported, text: &str) {
    let pairs = || text.lines().filter_map(|line| line.trim().split_once('='));
    let of = |key: &str| pairs().find(|(known, _)| *known == key).map(|(_, value)| value.trim());
    let number = |key: &str| Printed::parse(of(key)?.as_bytes());
    if let Some(value) = number("THROUGHPUT") {
        match of("THROUGHPUT_UNITS") {
            Some("Trans/s") => found.figure("netperf.rate", Unit::Rate, Better::Higher, 1, value),
            Some("10^6bits/s") | None => {
                found.figure("netperf.throughput", Unit::Throughput, Better::Higher, 1, value * MEGABITS);
            }
            Some(_) => {}
        }
    }
    for (key, what) in
        [("MIN", "min"), ("MEAN", "mean"), ("P50", "p50"), ("P90", "p90"), ("P99", "p99"), ("MAX", "max")]
    {
        if let Some(micros) = number(&format!("{key}_LATENCY")) {
            found.figure(&format!("netperf.latency.{what}"), Unit::Time, Better::Lower, 1, micros * 1e3);
        }
    }
    for (key, end) in [("LOCAL_CPU_UTIL", "here"), ("REMOTE_CPU_UTIL", "there")] {
        // Below zero where it was not asked for.
        if let Some(share) = number(key).filter(|share| share.value >= 0.0) {
            found.figure(&format!("netperf.cpu.{end}"), Unit::Share, Better::Lower, 1, share * 0.01);
        }
    }
}

//! Reads netperf's output: a stream's rate, requests and responses a second, with their cost for the processors where that was requested
//! (-c -C); its KEY=VALUE lines (-k) and CSV (-o) of an omni test. A file may hold several tests; each test of a kind is a run.

use super::{begin, number::named};
use crate::Imported;
use tickmark_wire::{Better, Printed, Unit};

/// Of one 10^6bits/s, bytes a second.
const MEGABITS: f64 = 1e6 / 8.0;
/// Units of its heads (-f), in bytes a second.
const UNITS: [(&str, f64); 8] = [
    ("10^3bits", 125.0),
    ("10^6bits", MEGABITS),
    ("10^9bits", 1e9 / 8.0),
    ("10^12bits", 1e12 / 8.0),
    ("KBytes", 1024.0),
    ("MBytes", 1_048_576.0),
    ("GBytes", 1_073_741_824.0),
    ("TBytes", 1_099_511_627_776.0),
];

/// "MIGRATED TCP STREAM TEST from 0.0.0.0 ...": the kind of test.
fn title(line: &str) -> Option<String> {
    // Some of its titles are in small letters.
    let line = line.to_ascii_uppercase();
    let head = line.split_once(" TEST")?.0;
    let kind = head.trim_start_matches("MIGRATED").trim();
    let known = ["STREAM", "SENDFILE", "MAERTS", "REQUEST/RESPONSE", "CONNECT/REQUEST/RESPONSE"];
    known
        .iter()
        .any(|known| kind.ends_with(known))
        .then(|| named(&kind.replace("CONNECT/REQUEST/RESPONSE", "crr").replace("REQUEST/RESPONSE", "rr")))
}

pub(super) fn recognizes(text: &str) -> bool {
    text.lines()
        .any(|line| title(line).is_some() || line.starts_with("THROUGHPUT_UNITS=") || is_csv_head(line))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("netperf", name);
    let mut test: Option<Test> = None;
    for line in text.lines() {
        if let Some(kind) = title(line) {
            test = Some(Test { kind, scale: None, is_received: false });
            continue;
        }
        let Some(of) = &mut test else { continue };
        if let Some((_, scale)) = UNITS.iter().find(|(unit, _)| line.contains(unit)) {
            of.scale = Some(*scale);
        }
        let fields: Option<Vec<Printed>> =
            line.split_whitespace().map(|field| Printed::parse(field.as_bytes())).collect();
        // Heads are no numbers; the second line of requests has the other side's buffers.
        let Some(fields) = fields.filter(|fields| fields.len() >= 4) else { continue };
        of_test(&mut found, of, &fields);
        match of.is_datagrams() && !of.is_received {
            // The second line of datagrams is of those that were received.
            true => of.is_received = true,
            false => test = None,
        }
    }
    // Each test of a log begins its keys anew.
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (key, value) in text.lines().filter_map(|line| line.trim().split_once('=')) {
        if pairs.iter().any(|(known, _)| *known == key) {
            keys(&mut found, &std::mem::take(&mut pairs));
        }
        pairs.push((key, value));
    }
    keys(&mut found, &pairs);
    let mut lines = text.lines().peekable();
    while let Some(head) = lines.next() {
        while is_csv_head(head) && lines.peek().is_some_and(|row| row.contains(',') && !is_csv_head(row)) {
            let row = lines.next().unwrap_or_default();
            let key = |head: &str| CSV_HEADS.iter().find(|(own, _)| *own == head).map(|(_, key)| *key);
            let cells = head.split(',').zip(row.split(','));
            let pairs: Vec<(&str, &str)> =
                cells.filter_map(|(head, cell)| Some((key(head.trim())?, cell))).collect();
            keys(&mut found, &pairs);
        }
    }
    Ok(vec![found])
}

/// Which of its kind comes now.
fn round(found: &Imported, metric: &str) -> u32 {
    found.series.get(metric).map_or(0, |series| series.values.len()) as u32 + 1
}

/// A test that is being read.
struct Test {
    kind: String,
    /// Of its unit, bytes a second.
    scale: Option<f64>,
    /// True if the line of those that were received comes.
    is_received: bool,
}

impl Test {
    fn is_datagrams(&self) -> bool {
        self.kind.contains("udp") && self.kind.ends_with("stream")
    }
}

fn of_test(found: &mut Imported, test: &Test, fields: &[Printed]) {
    let kind = &test.kind;
    let requests = kind.ends_with("rr");
    // Sizes, then the time, then the figure: sockets (two but for datagrams), message, or request and response; datagrams also have how many were sent and
    // how many failed, and no size of a message where they were received.
    let (at, side) = match (test.is_datagrams(), test.is_received) {
        (true, false) => (5, ".sent"),
        (true, true) => (3, ".received"),
        (false, _) => (if requests { 5 } else { 4 }, ""),
    };
    let Some(value) = fields.get(at).copied() else { return };
    let metric = format!("netperf.{kind}{side}");
    let run = round(found, &metric);
    match requests {
        true => found.figure(&metric, Unit::Rate, Better::Higher, run, value),
        false => {
            let scale = test.scale.unwrap_or(MEGABITS);
            found.figure(&metric, Unit::Throughput, Better::Higher, run, value * scale);
        }
    }
    // -c -C: per cent of the CPU here and there, then us for each KB, or for each transaction; a line of datagrams is of one side. What was not asked for is below zero.
    let unit = if requests { "transaction" } else { "kilobyte" };
    let ends: &[&str] = match side {
        ".sent" => &["here"],
        ".received" => &["there"],
        _ => &["here", "there"],
    };
    for (number, end) in ends.iter().enumerate() {
        let figure = |more: usize| fields.get(at + more).copied().filter(|value| value.value >= 0.0);
        if let Some(share) = figure(1 + number) {
            found.figure(&format!("{metric}.cpu.{end}"), Unit::Share, Better::Lower, run, share * 0.01);
        }
        if let Some(micros) = figure(1 + ends.len() + number) {
            let metric = format!("{metric}.cpu_of_a_{unit}.{end}");
            found.figure(&metric, Unit::Time, Better::Lower, run, micros * 1e3);
        }
    }
}

/// Headings of an omni test's CSV, and their keys (-k).
const CSV_HEADS: &[(&str, &str)] = &[
    ("Throughput", "THROUGHPUT"),
    ("Throughput Units", "THROUGHPUT_UNITS"),
    ("Minimum Latency Microseconds", "MIN_LATENCY"),
    ("Mean Latency Microseconds", "MEAN_LATENCY"),
    ("50th Percentile Latency Microseconds", "P50_LATENCY"),
    ("90th Percentile Latency Microseconds", "P90_LATENCY"),
    ("99th Percentile Latency Microseconds", "P99_LATENCY"),
    ("Maximum Latency Microseconds", "MAX_LATENCY"),
    ("Local CPU Util %", "LOCAL_CPU_UTIL"),
    ("Remote CPU Util %", "REMOTE_CPU_UTIL"),
];

/// True of the headings of an omni test's CSV.
fn is_csv_head(line: &str) -> bool {
    let mut heads = line.split(',').map(str::trim);
    heads.any(|head| head == "Throughput") && line.split(',').any(|head| head.trim() == "Throughput Units")
}

/// Keys and values of an omni test.
fn keys(found: &mut Imported, pairs: &[(&str, &str)]) {
    let of = |key: &str| pairs.iter().find(|(known, _)| *known == key).map(|(_, value)| value.trim());
    let number = |key: &str| Printed::parse(of(key)?.as_bytes());
    if let Some(value) = number("THROUGHPUT") {
        match of("THROUGHPUT_UNITS") {
            Some("Trans/s") => found.repeat("netperf.rate", Unit::Rate, Better::Higher, value),
            Some("10^6bits/s") => {
                found.repeat("netperf.throughput", Unit::Throughput, Better::Higher, value * MEGABITS);
            }
            Some(word) => match UNITS.iter().find(|(unit, _)| word == format!("{unit}/s")) {
                Some((_, bytes)) => {
                    found.repeat("netperf.throughput", Unit::Throughput, Better::Higher, value * *bytes);
                }
                None => found.left_out.push(format!("THROUGHPUT in {word}: a unit that is not known")),
            },
            None => found.left_out.push("THROUGHPUT without THROUGHPUT_UNITS".to_owned()),
        }
    }
    for (key, what) in
        [("MIN", "min"), ("MEAN", "mean"), ("P50", "p50"), ("P90", "p90"), ("P99", "p99"), ("MAX", "max")]
    {
        // Below zero where it was not kept.
        if let Some(micros) = number(&format!("{key}_LATENCY")).filter(|micros| micros.value >= 0.0) {
            found.repeat(&format!("netperf.latency.{what}"), Unit::Time, Better::Lower, micros * 1e3);
        }
    }
    for (key, end) in [("LOCAL_CPU_UTIL", "here"), ("REMOTE_CPU_UTIL", "there")] {
        // Below zero where it was not asked for.
        if let Some(share) = number(key).filter(|share| share.value >= 0.0) {
            found.repeat(&format!("netperf.cpu.{end}"), Unit::Share, Better::Lower, share * 0.01);
        }
    }
}

//! What "Processor load" (Boosten, 1998) measured, again: its table 2 (latency without computation, beside a thread, beside a process), its table 3 (load
//! of long messages by packet size), and what it concludes.

use super::{Comms, Seen, laws};
use tickmark_stats::Interval;

/// Packets of the document's figure 11 and table 2.
const PACKET: u32 = 4096;
/// Its long messages: half a megabyte to one.
const LONG: u64 = 512 << 10;
/// The full rate is reached from this share of it on.
const REACHED: f64 = 0.95;

/// A row of table 2.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// `none`, `thread` or `process`.
    pub computes: String,
    /// t0 and its interval, ns; none of a model that has none.
    pub start: Option<(f64, Option<Interval>)>,
    /// Which benchmark of the page it is.
    pub at: usize,
}

/// A cell of table 3.
#[derive(Debug, Clone, PartialEq)]
pub struct LongLoad {
    /// `comms1` or `comms2`.
    pub benchmark: String,
    /// Bytes of a packet.
    pub mtu: u32,
    /// Mbit a second that pass at most; 0 without a limit.
    pub rate: u32,
    /// The largest load of a long message on each of the two processors, as shares.
    pub loads: Vec<f64>,
    /// The fastest that a long message was, bytes a second.
    pub fastest: f64,
}

/// What can be told beside the document.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Table 2; empty without its benchmarks.
    pub latencies: Vec<Latency>,
    /// Table 3.
    pub loads: Vec<LongLoad>,
    /// The packet size (MTU) below which the law says that one processor is too little for the full rate, and by which benchmark's law; and whether packets that
    /// were measured on both sides of it bear that out.
    pub least: Option<(f64, Option<bool>)>,
    /// Load times packet size of Comms1 with its limit, from the smallest to the largest of packets from 512 bytes on.
    pub products: Option<(f64, f64)>,
}

/// None where nothing of it was measured.
#[must_use]
pub fn document(all: &[Comms]) -> Option<Document> {
    let told = |comms: &Comms, name: &str| comms.arguments.get(name).cloned().unwrap_or_default();
    let seen =
        || all.iter().enumerate().filter_map(|(at, comms)| Some((at, comms, comms.seen.as_ref().ok()?)));
    let latency = |(at, comms, seen): (usize, &Comms, &Seen)| {
        let own = comms.mtu == Some(PACKET) && told(comms, "benchmark") == "comms2";
        let piece = seen.pieces.as_ref().and_then(|pieces| pieces.first());
        (own && seen.rows.len() >= 5).then(|| Latency {
            computes: told(comms, "load"),
            start: piece.map(|piece| (piece.start, piece.start_interval)),
            at,
        })
    };
    let mut latencies: Vec<Latency> = seen().filter_map(latency).collect();
    // One of each, and what they are compared with.
    if !["none", "thread", "process"]
        .iter()
        .all(|load| latencies.iter().filter(|row| row.computes == *load).count() == 1)
    {
        latencies.clear();
    }
    let long = |(_, comms, seen): (usize, &Comms, &Seen)| {
        let rows = || seen.rows.iter().filter(|row| row.size >= LONG);
        let most = |cpu: usize| rows().filter_map(|row| row.loads.get(cpu)?.gaps).reduce(f64::max);
        let loads: Vec<f64> = (0..seen.cpus.len()).filter_map(most).collect();
        Some(LongLoad {
            benchmark: told(comms, "benchmark"),
            mtu: comms.mtu?,
            rate: told(comms, "rate").parse().unwrap_or(0),
            fastest: rows().map(super::Row::rate).reduce(f64::max)?,
            loads: Some(loads).filter(|loads| !loads.is_empty() && told(comms, "load") == "process")?,
        })
    };
    let mut loads: Vec<LongLoad> = seen().filter_map(long).collect();
    loads.sort_by_key(|cell| (cell.rate == 0, cell.rate, cell.benchmark.clone(), cell.mtu));
    // One packet size is no table.
    if loads.iter().map(|cell| cell.mtu).collect::<std::collections::BTreeSet<_>>().len() < 3 {
        loads.clear();
    }
    if latencies.is_empty() && loads.is_empty() {
        return None;
    }
    let limited: Vec<&LongLoad> =
        loads.iter().filter(|cell| cell.rate > 0 && cell.benchmark == "comms1").collect();
    let products = || {
        let all = limited.iter().filter(|cell| cell.mtu >= 512);
        let each = all.filter_map(|cell| Some(cell.loads.first()? * f64::from(cell.mtu)));
        let each: Vec<f64> = each.collect();
        Some((each.iter().copied().reduce(f64::min)?, each.iter().copied().reduce(f64::max)?))
    };
    let products = products();
    let least = least(all, &limited);
    Some(Document { latencies, loads, least, products })
}

/// The packet size that the law of the limited Comms1 predicts, and whether the rates that were measured bear it out: below it none has the full rate, above it
/// all do.
fn least(all: &[Comms], limited: &[&LongLoad]) -> Option<(f64, Option<bool>)> {
    let law =
        laws(all).into_iter().find(|law| law.title.contains("Comms1") && law.title.contains("Mbit/s"))?;
    let full = limited.iter().map(|cell| cell.fastest).reduce(f64::max)?;
    let mtu = law.least_payload(full)? + super::law::headers("tcp");
    let reaches = |cell: &&&LongLoad| cell.fastest >= REACHED * full;
    let below: Vec<&&LongLoad> = limited.iter().filter(|cell| f64::from(cell.mtu) < mtu).collect();
    let above: Vec<&&LongLoad> = limited.iter().filter(|cell| f64::from(cell.mtu) >= mtu).collect();
    let tested = !below.is_empty() && !above.is_empty();
    Some((mtu, tested.then(|| !below.iter().any(reaches) && above.iter().all(reaches))))
}

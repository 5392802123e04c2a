//! "Processor load" (Boosten, 1998), reproduced: table 2 (latency without computation, beside a thread, beside a process), table 3 (load of
//! long messages by packet size), and the conclusions.

use super::{Comms, CommsSummary, laws};
use tickmark_stats::Interval;
use tickmark_stats::linear::HOLDS;

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

/// The figures that compare with the document's.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Table 2; empty without its benchmarks.
    pub latencies: Vec<Latency>,
    /// Table 3.
    pub loads: Vec<LongLoad>,
    /// The packet size (MTU) below which the law of Comms1 says that one processor is too little for the full rate; and whether the measured rates bear that
    /// out, to within what the law misses of a load: none where they could not.
    pub least: Option<(f64, Option<bool>)>,
    /// By the measured rates of Comms1 with its limit: the largest packet that does not reach the full rate, and the smallest from which on all do.
    pub between: Option<(Option<u32>, Option<u32>)>,
    /// Load times packet size of Comms1 with its limit, from the smallest to the largest of packets from 512 bytes on.
    pub products: Option<(f64, f64)>,
}

/// None where nothing of it was measured.
#[must_use]
pub fn document(all: &[Comms]) -> Option<Document> {
    let argument = |comms: &Comms, name: &str| comms.arguments.get(name).cloned().unwrap_or_default();
    let observed =
        || all.iter().enumerate().filter_map(|(at, comms)| Some((at, comms, comms.summary.as_ref().ok()?)));
    let is_own = |comms: &Comms| comms.mtu == Some(PACKET) && argument(comms, "benchmark") == "comms2";
    // Another priority is another table.
    let class = observed().find(|(_, comms, _)| is_own(comms)).map(|(_, comms, _)| argument(comms, "class"));
    let latency = |(at, comms, observed): (usize, &Comms, &CommsSummary)| {
        let own = is_own(comms) && class.as_ref() == Some(&argument(comms, "class"));
        let piece = observed.pieces.as_ref().and_then(|pieces| pieces.first());
        (own && observed.rows.len() >= 5).then(|| Latency {
            computes: argument(comms, "load"),
            start: piece.map(|piece| (piece.start, piece.start_interval)),
            at,
        })
    };
    let mut latencies: Vec<Latency> = observed().filter_map(latency).collect();
    // One of each, and what they are compared with.
    if !["none", "thread", "process"]
        .iter()
        .all(|load| latencies.iter().filter(|row| row.computes == *load).count() == 1)
    {
        latencies.clear();
    }
    let long = |(_, comms, observed): (usize, &Comms, &CommsSummary)| {
        if class.as_ref().is_some_and(|class| *class != argument(comms, "class")) {
            return None;
        }
        let rows = || observed.rows.iter().filter(|row| row.size >= LONG);
        let most = |cpu: usize| rows().filter_map(|row| row.loads.get(cpu)?.gaps).reduce(f64::max);
        let loads: Vec<f64> = (0..observed.cpus.len()).filter_map(most).collect();
        Some(LongLoad {
            benchmark: argument(comms, "benchmark"),
            mtu: comms.mtu?,
            rate: argument(comms, "rate").parse().unwrap_or(0),
            fastest: rows().map(super::Row::rate).reduce(f64::max)?,
            loads: Some(loads).filter(|loads| !loads.is_empty() && argument(comms, "load") == "process")?,
        })
    };
    let mut loads: Vec<LongLoad> = observed().filter_map(long).collect();
    loads.sort_by_key(|cell| (cell.rate == 0, cell.rate, cell.benchmark.clone(), cell.mtu));
    // Other transports and several limits are no table of the document's.
    let rates: std::collections::BTreeSet<u32> =
        loads.iter().map(|cell| cell.rate).filter(|rate| *rate > 0).collect();
    if rates.len() > 1
        || observed().any(|(_, comms, _)| comms.mtu.is_some() && argument(comms, "over") == "udp")
    {
        loads.clear();
    }
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
    let between = between(&limited);
    let least = least(all, &limited, between);
    Some(Document { latencies, loads, least, between, products })
}

/// Bytes of an Ethernet header, which the limit counts too.
const ETHERNET: f64 = 14.0;

impl LongLoad {
    /// True if messages went as fast as the limit lets packets of this size through.
    fn is_full(&self) -> bool {
        let payload = f64::from(self.mtu) - super::law::headers("tcp");
        let limit = f64::from(self.rate) * 1e6 / 8.0;
        self.fastest >= REACHED * limit * payload / (f64::from(self.mtu) + ETHERNET)
    }
}

/// The largest packet that does not reach the full rate, and the smallest of the larger ones.
fn between(limited: &[&LongLoad]) -> Option<(Option<u32>, Option<u32>)> {
    let sizes = |full: bool| limited.iter().filter(move |cell| cell.is_full() == full).map(|cell| cell.mtu);
    let below = sizes(false).max();
    let above = sizes(true).filter(|mtu| below.is_none_or(|below| *mtu > below)).min();
    (!limited.is_empty()).then_some((below, above))
}

/// The packet size that the law of the limited Comms1 predicts, and whether it lies between the largest measured packet without the full rate and the
/// smallest with it.
fn least(
    all: &[Comms],
    limited: &[&LongLoad],
    between: Option<(Option<u32>, Option<u32>)>,
) -> Option<(f64, Option<bool>)> {
    let own = |law: &super::Law| law.title.contains("Comms1") && law.title.contains("Mbit/s");
    // A law that does not hold predicts nothing.
    let law = laws(all).into_iter().find(|law| own(law) && law.residual <= HOLDS)?;
    let rate = limited.iter().map(|cell| cell.fastest).reduce(f64::max)?;
    let mtu = law.least_payload(rate)? + super::law::headers("tcp");
    // Of the CPU, for the full rate with packets of a size: 1 at the size that the law predicts.
    let load = |mtu: u32| {
        let payload = (f64::from(mtu) - super::law::headers("tcp")).max(1.0);
        rate / 1e9 * (law.per_byte.0 + law.per_packet.0 / payload)
    };
    let (without, with) = between?;
    let is_consistent = without.is_none_or(|mtu| load(mtu) * (1.0 + law.residual) >= 1.0)
        && with.is_none_or(|mtu| load(mtu) * (1.0 - law.residual) <= 1.0);
    // Sizes on one side alone can only contradict it.
    let is_tested = without.is_some() && with.is_some();
    Some((mtu, if is_consistent { is_tested.then_some(true) } else { Some(false) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comms::{Cpu, Load, RoundTripSummary, Row};

    /// A long message over packets of this size, as fast as the limit lets it or by half, with loads by a law.
    fn comms(mtu: u32, full: bool) -> Comms {
        let payload = f64::from(mtu) - 52.0;
        let (size, divisor) = (1 << 20, 2.0);
        let rate = 125e6 * payload / (f64::from(mtu) + 14.0) * if full { 1.0 } else { 0.5 };
        let time = size as f64 / rate * 1e9;
        let load = rate / 1e9 * (2.0 + 1500.0 / payload);
        let trips = 1e9 / (divisor * time);
        let load = Load { gaps: Some(load), mean: Some((load, trips)), ..Load::default() };
        let whole =
            RoundTripSummary { median: divisor * time, mean: divisor * time, quantiles: [(0.9, None); 3] };
        let row =
            Row { size, time, launches: None, whole, loads: vec![load.clone(), load], each: Vec::new() };
        let cpu = |cpu| Cpu { cpu, host: None, apart: None, windows: (4, 0) };
        let given = [("benchmark", "comms1"), ("load", "process"), ("rate", "1000")];
        Comms {
            metric: "comms.comms1.tcp.veth.plain".to_owned(),
            title: format!("Comms1 over TCP, veth {mtu}, offloads off at 1000 Mbit/s"),
            divisor,
            mtu: Some(mtu),
            arguments: given.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            summary: Ok(CommsSummary {
                rows: vec![row],
                runs: 3,
                rounds: vec![0],
                pieces: None,
                cpus: vec![cpu(0), cpu(1)],
            }),
        }
    }

    #[test]
    fn table_3_has_both_processors_and_the_packet_below_which_the_rate_is_not_reached() {
        // One processor is too little for 125 MB/s below a payload of some 250 bytes.
        let all = [comms(256, false), comms(512, true), comms(1024, true), comms(4096, true)];
        let document = document(&all).unwrap();
        assert_eq!(document.loads.iter().map(|cell| cell.mtu).collect::<Vec<_>>(), [256, 512, 1024, 4096]);
        assert!(document.loads.iter().all(|cell| cell.loads.len() == 2 && cell.rate == 1000));
        let (low, high) = document.products.unwrap();
        assert!(low < 300.0 && high > 1000.0, "{low} {high}");
        assert_eq!(document.between, Some((Some(256), Some(512))));
        let (mtu, holds) = document.least.unwrap();
        assert!((256.0..512.0).contains(&mtu) && holds == Some(true), "{mtu} {holds:?}");
        // One above it that does not have the full rate is against it; without one below, nothing is tested.
        let against = [comms(256, false), comms(512, false), comms(1024, true), comms(4096, true)];
        assert_eq!(super::document(&against).unwrap().least.unwrap().1, Some(false));
        assert_eq!(super::document(&all[1..]).unwrap().least.and_then(|(_, holds)| holds), None);
        assert!(document.latencies.is_empty() && super::document(&all[..2]).is_none());
    }
}

//! Figures of messages beside a task that computes.

use super::{Figure, MessageQuantity};
use crate::comms::{Comms, CommsSummary, Document, LongLoad, document, summarize_comms};
use tickmark_stats::Interval;
use tickmark_store::Recording;

/// Messages from this size on are long: half a megabyte.
const LONG: u64 = 512 << 10;

pub(super) fn figure(recording: &Recording, quantity: MessageQuantity) -> Result<Figure, String> {
    let all = summarize_comms(recording);
    let document = document(&all).ok_or("no benchmark of the document was measured")?;
    match quantity {
        MessageQuantity::StartDifference => start_difference(&document),
        MessageQuantity::RateBesideThread => rate_beside(&all, &document, "thread"),
        MessageQuantity::RateBesideProcess => rate_beside(&all, &document, "process"),
        MessageQuantity::LongLoad => long_load(&all, &document),
        MessageQuantity::LoadOfHalf => load_of_half(&document),
        MessageQuantity::Product => {
            let (low, high) = document.products.ok_or("Comms1 with a limit was not measured")?;
            Ok(Figure::number(f64::midpoint(low, high), Some(Interval { low, high })))
        }
        MessageQuantity::LeastPacket => least_packet(&document),
    }
}

fn start_difference(document: &Document) -> Result<Figure, String> {
    let start = |computes: &str| {
        let row = document.latencies.iter().find(|row| row.computes == computes);
        row.and_then(|row| row.start).ok_or_else(|| format!("no latency beside a {computes}"))
    };
    let (thread, process) = (start("thread")?, start("process")?);
    let half = |(_, interval): (f64, Option<Interval>)| interval.map(|i| (i.high - i.low) / 2.0);
    let point = process.0 - thread.0;
    // Both are fitted to runs of their own: their errors are independent.
    let interval = half(thread).zip(half(process)).map(|(a, b)| {
        let error = a.hypot(b);
        Interval { low: point - error, high: point + error }
    });
    Ok(Figure::number(point, interval))
}

/// The benchmark of figure 11 beside what computes.
fn beside<'a>(all: &'a [Comms], document: &Document, computes: &str) -> Result<&'a CommsSummary, String> {
    let row = document.latencies.iter().find(|row| row.computes == computes);
    let summary = row.and_then(|row| all.get(row.at)?.summary.as_ref().ok());
    summary.ok_or_else(|| format!("the benchmark of figure 11 with {computes} was not measured"))
}

fn rate_beside(all: &[Comms], document: &Document, computes: &str) -> Result<Figure, String> {
    let (none, some) = (beside(all, document, "none")?, beside(all, document, computes)?);
    // Each launch of a round against that of the other: the mean over the sizes that both have.
    let time = |summary: &CommsSummary, size: u64| {
        summary.rows.iter().find(|row| row.size == size).map(|row| row.time)
    };
    let change = |row: &crate::comms::Row| Some(row.time / time(some, row.size)? - 1.0);
    let changes: Vec<f64> = none.rows.iter().filter_map(change).collect();
    let ends = (changes.iter().copied().reduce(f64::min), changes.iter().copied().reduce(f64::max));
    let (Some(low), Some(high)) = ends else { return Err("no size in common".to_owned()) };
    let mean = changes.iter().sum::<f64>() / changes.len() as f64;
    Ok(Figure::number(mean, Some(Interval { low, high })))
}

fn long_load(all: &[Comms], document: &Document) -> Result<Figure, String> {
    let load = |computes: &str| -> Result<Vec<f64>, String> {
        let rows = beside(all, document, computes)?.rows.iter().filter(|row| row.size >= LONG);
        Ok(rows.filter_map(|row| row.loads.first()?.gaps).collect())
    };
    let (thread, process) = (load("thread")?, load("process")?);
    let changes: Vec<f64> =
        thread.iter().zip(&process).map(|(thread, process)| process / thread - 1.0).collect();
    range(&changes).ok_or_else(|| "no load of long messages".to_owned())
}

fn load_of_half(document: &Document) -> Result<Figure, String> {
    let own = |cell: &&LongLoad| cell.rate > 0 && cell.benchmark == "comms1";
    let load =
        |mtu: u32| document.loads.iter().filter(own).find(|cell| cell.mtu == mtu)?.loads.first().copied();
    let ratio = |cell: &LongLoad| Some(cell.loads.first()? / load(cell.mtu * 2)?);
    let ratios: Vec<f64> = document.loads.iter().filter(own).filter_map(ratio).collect();
    range(&ratios).ok_or_else(|| "no packets of which one is twice the other".to_owned())
}

/// Mean and range.
fn range(values: &[f64]) -> Option<Figure> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    Some(Figure::number(mean, Some(Interval { low, high })))
}

/// Between the largest packet that has not the full rate, and the smallest from which on all have it.
fn least_packet(document: &Document) -> Result<Figure, String> {
    let (low, high) = document.between.ok_or("Comms1 with a limit was not measured")?;
    match (low, high) {
        (Some(low), Some(high)) => {
            let (low, high) = (f64::from(low), f64::from(high));
            Ok(Figure::number(f64::midpoint(low, high), Some(Interval { low, high })))
        }
        (None, Some(least)) => Ok(Figure {
            point: f64::from(least),
            interval: Some(Interval { low: 0.0, high: f64::from(least) }),
            words: Some(format!("less than {least} bytes: packets of {least} reach the full rate")),
        }),
        (_, None) => Err("no packet size reaches the full rate".to_owned()),
    }
}

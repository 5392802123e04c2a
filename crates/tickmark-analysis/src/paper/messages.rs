//! Figures of messages beside a task that computes.

use super::IntervalKind::Confidence;
use super::{Figure, IntervalKind, MessageQuantity};
use crate::comms::{Comms, CommsSummary, Contrast, Document, LongLoad, contrasts, document, summarize_comms};
use tickmark_stats::Interval;
use tickmark_store::Recording;

/// Messages from this size on are long: half a megabyte.
const LONG: u64 = 512 << 10;
/// The document's law is for packets from this size on, bytes.
const LAWFUL: u32 = 512;

pub(super) fn figure(recording: &Recording, quantity: MessageQuantity) -> Result<Figure, String> {
    let all = summarize_comms(recording);
    let document = document(&all).ok_or("no benchmark of the document was measured")?;
    match quantity {
        MessageQuantity::StartDifference => start_difference(&all, &document),
        MessageQuantity::SmallBesideThread => smallest(&all, "load", ["none", "thread"]),
        MessageQuantity::SmallBesideProcess => smallest(&all, "load", ["none", "process"]),
        MessageQuantity::SmallAtOrdinaryPriority => smallest(&all, "class", ["fifo", "other"]),
        MessageQuantity::LongAtOrdinaryPriority => longest(&all, "class", ["fifo", "other"]),
        MessageQuantity::LongLoad => long_load(&all, &document),
        MessageQuantity::LoadOfHalf => load_of_half(&document),
        MessageQuantity::Product => {
            let (low, high) = document.products.ok_or("Comms1 with a limit was not measured")?;
            let figure =
                Figure::between(f64::midpoint(low, high), Interval { low, high }, IntervalKind::Quantities);
            Ok(Figure { words: Some(format!("{low:.0} to {high:.0}")), ..figure })
        }
        MessageQuantity::ProductRange => {
            let (low, high) = document.products.ok_or("Comms1 with a limit was not measured")?;
            Ok(Figure::number(high / low))
        }
        MessageQuantity::LeastPacket => least_packet(&document),
    }
}

/// With what the runs of the smallest message, in pairs, leave open: the error of a fit knows one line alone.
fn start_difference(all: &[Comms], document: &Document) -> Result<Figure, String> {
    let start = |computes: &str| {
        let row = document.latencies.iter().find(|row| row.computes == computes);
        row.and_then(|row| row.start).ok_or_else(|| format!("no latency beside a {computes}"))
    };
    let (thread, process) = (start("thread")?, start("process")?);
    let point = process.0 - thread.0;
    let share = smallest(all, "load", ["thread", "process"])?;
    Ok(share.interval.map_or(Figure::number(point), |(ends, kind)| {
        // The interval of a ratio, about the difference of the fits.
        let scaled = |end: f64| point + (end - share.point) * thread.0;
        Figure::between(point, Interval { low: scaled(ends.low), high: scaled(ends.high) }, kind)
    }))
}

/// The benchmark of figure 11 beside what computes.
fn beside<'a>(all: &'a [Comms], document: &Document, computes: &str) -> Result<&'a CommsSummary, String> {
    let row = document.latencies.iter().find(|row| row.computes == computes);
    let summary = row.and_then(|row| all.get(row.at)?.summary.as_ref().ok());
    summary.ok_or_else(|| format!("the benchmark of figure 11 with {computes} was not measured"))
}

/// Launch against launch of the same round, of the smallest message: the change from one value of a setting to another.
fn smallest(all: &[Comms], setting: &str, values: [&str; 2]) -> Result<Figure, String> {
    change(own_contrasts(all, setting, values).into_iter().min_by_key(|contrast| contrast.size), setting)
}

/// The same of the longest message.
fn longest(all: &[Comms], setting: &str, values: [&str; 2]) -> Result<Figure, String> {
    change(own_contrasts(all, setting, values).into_iter().max_by_key(|contrast| contrast.size), setting)
}

fn own_contrasts(all: &[Comms], setting: &str, values: [&str; 2]) -> Vec<Contrast> {
    let mut own = contrasts(all);
    own.retain(|contrast| {
        contrast.setting == setting && contrast.values == values && contrast.figure == "median"
    });
    own
}

fn change(contrast: Option<Contrast>, setting: &str) -> Result<Figure, String> {
    let contrast = contrast.ok_or_else(|| format!("too few runs that differ in {setting}"))?;
    let (ratio, interval) = contrast.comparison.change();
    let share = ratio.ok_or("no ratio")? - 1.0;
    Ok(interval.map_or(Figure::number(share), |i| {
        Figure::between(share, Interval { low: i.low - 1.0, high: i.high - 1.0 }, Confidence)
    }))
}

fn long_load(all: &[Comms], document: &Document) -> Result<Figure, String> {
    let load = |summary: &CommsSummary, size: u64| {
        summary.rows.iter().find(|row| row.size == size)?.loads.first()?.gaps
    };
    let (thread, process) = (beside(all, document, "thread")?, beside(all, document, "process")?);
    let long = thread.rows.iter().map(|row| row.size).filter(|size| *size >= LONG);
    let change = |size: u64| Some(load(process, size)? / load(thread, size)? - 1.0);
    let changes: Vec<f64> = long.filter_map(change).collect();
    Figure::from_quantities(&changes).ok_or_else(|| "no load of long messages".to_owned())
}

fn load_of_half(document: &Document) -> Result<Figure, String> {
    let own = |cell: &&LongLoad| cell.rate > 0 && cell.benchmark == "comms1" && cell.mtu >= LAWFUL;
    let load =
        |mtu: u32| document.loads.iter().filter(own).find(|cell| cell.mtu == mtu)?.loads.first().copied();
    let ratio = |cell: &LongLoad| Some(cell.loads.first()? / load(cell.mtu * 2)?);
    let ratios: Vec<f64> = document.loads.iter().filter(own).filter_map(ratio).collect();
    Figure::from_quantities(&ratios).ok_or_else(|| "no packets of which one is twice the other".to_owned())
}

/// Between the largest packet that has not the full rate, and the smallest from which on all have it.
fn least_packet(document: &Document) -> Result<Figure, String> {
    let (low, high) = document.between.ok_or("Comms1 with a limit was not measured")?;
    match (low, high) {
        (Some(low), Some(high)) => {
            let words = Some(format!("between {low} and {high} bytes"));
            let (low, high) = (f64::from(low), f64::from(high));
            let figure =
                Figure::between(f64::midpoint(low, high), Interval { low, high }, IntervalKind::Quantities);
            Ok(Figure { words, ..figure })
        }
        (None, Some(least)) => {
            let interval = Interval { low: 0.0, high: f64::from(least) };
            let figure = Figure::between(f64::from(least), interval, IntervalKind::Quantities);
            Ok(Figure {
                words: Some(format!("at most {least} bytes, the smallest that was measured")),
                ..figure
            })
        }
        (_, None) => Err("no packet size reaches the full rate".to_owned()),
    }
}

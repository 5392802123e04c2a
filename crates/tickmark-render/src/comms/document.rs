//! The document's figures of 1998 on messages and load, beside ours.

use super::{HEADING, bytes, rate, share};
use crate::fold::wrapped;
use crate::grid::lines;
use crate::number::time;
use std::fmt::Write;
use tickmark_analysis::comms::{Comms, Document, LongLoad};
use tickmark_stats::Interval;

/// A CPU with this load has no time to speak of for more messages.
const BUSY: f64 = 0.9;

fn table(out: &mut String, heading: &[&str], rows: Vec<Vec<String>>) {
    let heading = heading.iter().map(|cell| (*cell).to_owned()).collect();
    for line in lines(std::iter::once(heading).chain(rows), 1..9) {
        let _ = writeln!(out, "{line}");
    }
}

fn say(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}\n", wrapped(text, 0).join("\n"));
}

/// Tables 2 and 3, with what its text says.
pub(super) fn text(out: &mut String, all: &[Comms], document: &Document) {
    if !document.latencies.is_empty() {
        let _ = writeln!(out, "{HEADING}Table 2 again{HEADING:#}: Comms2, packets of 4096, by what computes");
        let row = |row: &tickmark_analysis::comms::Latency| {
            let (start, interval) = match row.start {
                None => ("-".to_owned(), String::new()),
                Some((start, interval)) => (time(start), interval.map_or_else(String::new, range)),
            };
            let observed = all.get(row.at).and_then(|comms| comms.summary.as_ref().ok());
            let fastest = observed.and_then(tickmark_analysis::comms::CommsSummary::fastest);
            let half = row.start.zip(fastest).map(|((start, _), (_, fastest))| 1e-9 * start * fastest);
            vec![
                row.computes.clone(),
                start,
                interval,
                fastest.map_or_else(String::new, |(_, fastest)| rate(fastest)),
                half.map_or_else(String::new, bytes),
            ]
        };
        let heading = ["computes", "t0", "95 %", "largest rate", "n1/2"];
        table(out, &heading, document.latencies.iter().map(row).collect());
        say(
            out,
            "n1/2, the half-performance message length, is computed: t0 times the largest rate. The document came to its t0 by it.",
        );
        let start = |computes: &str| {
            let row = document.latencies.iter().find(|row| row.computes == computes)?;
            row.start.map(|(start, _)| start)
        };
        if let (Some(thread), Some(process)) = (start("thread"), start("process")) {
            let more = if process >= thread { "more" } else { "less" };
            say(
                out,
                &format!(
                    "t0 beside a process is {} {more} than beside a thread here; in the document some 600 us more. Whether that is a difference is told below (load process against thread).",
                    time((process - thread).abs())
                ),
            );
        }
    }
    if document.loads.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "{HEADING}Table 3 again{HEADING:#}: largest load of messages of .5 to 1 MiB, beside a process"
    );
    let row = |cell: &LongLoad| {
        let load = |at: usize| share(cell.loads.get(at).copied());
        let product =
            cell.loads.first().map_or_else(String::new, |load| format!("{:.0}", load * f64::from(cell.mtu)));
        let limit = if cell.rate == 0 { "none".to_owned() } else { format!("{} Mbit/s", cell.rate) };
        vec![
            cell.benchmark.clone(),
            limit,
            cell.mtu.to_string(),
            rate(cell.fastest),
            load(0),
            load(1),
            product,
        ]
    };
    let heading = ["benchmark", "limit", "packet", "rate", "load", "load there", "load x packet"];
    table(out, &heading, document.loads.iter().map(row).collect());
    let mut text = "In the document load doubles as packets halve, and load x packet is 290 for Comms1 and packets of 512 and more.".to_owned();
    if let Some((low, high)) = document.products {
        let whether = if high <= 1.1 * low { "a constant within a tenth" } else { "no constant" };
        let _ = write!(text, " Here it goes from {low:.0} to {high:.0}: {whether}.");
    }
    match document.between {
        Some((Some(low), Some(high))) => {
            let _ = write!(
                text,
                " Measured: packets of {low} bytes do not reach the full rate, those of {high} do.{}",
                idle_below(document, low)
            );
        }
        Some((None, Some(least))) => {
            let _ = write!(text, " Measured: packets of {least} bytes, the smallest, reach the full rate.");
        }
        Some((_, None)) => text += " Measured: no packet size reaches the full rate.",
        None => {}
    }
    match document.least {
        Some((mtu, holds)) => {
            let holds = match (holds, document.between) {
                (Some(true), _) => "and the measured rates bear that out",
                (Some(false), _) => "and the measured rates do not bear that out",
                (None, Some((_, None))) => "and no larger packet was measured to test that",
                (None, _) => "and no smaller packet was measured to test that",
            };
            let _ = write!(
                text,
                " The law of Comms1 predicts that one CPU cannot reach it with packets of less than {mtu:.0} bytes, headers included, {holds}."
            );
        }
        None => text += " No law of Comms1 fits well enough to predict the smallest packet that reaches it.",
    }
    say(out, &text);
    say(
        out,
        "load: what the computing task did not get of its CPU, by its gaps, with what other tasks had subtracted, the mean of the windows; load there: the same on the other side; rate: bytes over time, the fastest of the sizes.",
    );
}

/// That a CPU with time to spare is not what keeps packets of this size from the full rate; empty where it has none.
fn idle_below(document: &Document, mtu: u32) -> String {
    let own = |cell: &&LongLoad| cell.rate > 0 && cell.benchmark == "comms1" && cell.mtu == mtu;
    let loads = document.loads.iter().find(own).map_or(&[][..], |cell| &cell.loads);
    match loads {
        [one, other] if one.max(*other) < BUSY => format!(
            " With these the busier of both CPUs is loaded to {:.0} %: it is not the processor alone that is too slow for them.",
            100.0 * one.max(*other)
        ),
        _ => String::new(),
    }
}

/// Words for a computation.
pub(super) fn words(computes: &str) -> String {
    match computes {
        "none" => "nothing".to_owned(),
        other => format!("a {other}"),
    }
}

fn range(interval: Interval) -> String {
    format!("{} to {}", time(interval.low.max(0.0)), time(interval.high))
}

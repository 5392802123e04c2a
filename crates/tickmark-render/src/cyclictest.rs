//! Wake-ups as cyclictest of rt-tests prints them (its -q and -h, in us), for scripts that read that.

use std::fmt::Write;
use tickmark_analysis::wakes::{WaitMethodRow, WakeUpSummary, Wakes};

/// One thread for each way, in the order of the page; below them a histogram with a line for each us that any has. What was early counts as 0,
/// as cyclictest has no such column. `priority` is that of real-time scheduling, 0 where there is none.
#[must_use]
pub fn text(wakes: &Wakes, priority: u8) -> String {
    let observed: Vec<(&WaitMethodRow, &WakeUpSummary)> =
        wakes.ways.iter().filter_map(|way| Some((way, way.summary.as_ref().ok()?))).collect();
    let mut out = String::new();
    let interval = wakes.interval.map_or(0, micros);
    let columns: Vec<Column> = observed.iter().map(|(_, observed)| Column::from_summary(observed)).collect();
    for (number, ((way, observed), column)) in observed.iter().zip(&columns).enumerate() {
        let _ = writeln!(out, "# Thread {number}: {}", way.title);
        let Column { least, mean, most, .. } = column;
        let (cycles, last) = (observed.late.as_slice().len(), micros(observed.last));
        let _ = writeln!(
            out,
            "T:{number:2} ({:5}) P:{priority:2} I:{interval} C:{cycles:7} Min:{least:7} Act:{last:8} Avg:{mean:8} Max:{most:8}",
            0
        );
    }
    let _ = writeln!(out, "# Histogram");
    let mut latencies: Vec<u64> =
        columns.iter().flat_map(|column| column.counts.iter().map(|(us, _)| *us)).collect();
    latencies.sort_unstable();
    latencies.dedup();
    for us in latencies {
        let count = |column: &Column| {
            let at = column.counts.binary_search_by_key(&us, |(us, _)| *us);
            format!("{:06}", at.map_or(0, |at| column.counts[at].1))
        };
        let _ = writeln!(out, "{us:06} {}", columns.iter().map(count).collect::<Vec<_>>().join("\t"));
    }
    let mut sums = |label: &str, width: usize, of: &dyn Fn(&Column) -> u64| {
        let cells: Vec<String> = columns.iter().map(|column| format!("{:0width$}", of(column))).collect();
        let _ = writeln!(out, "# {label}: {}", cells.join(" "));
    };
    sums("Total", 9, &|column| column.counts.iter().map(|(_, count)| count).sum());
    sums("Min Latencies", 5, &|column| column.least);
    sums("Avg Latencies", 5, &|column| column.mean);
    sums("Max Latencies", 5, &|column| column.most);
    // No latency lies beyond it.
    sums("Histogram Overflows", 5, &|_| 0);
    out
}

/// Of one thread, in us.
struct Column {
    least: u64,
    mean: u64,
    most: u64,
    /// How many of each latency, ascending.
    counts: Vec<(u64, u64)>,
}

impl Column {
    fn from_summary(observed: &WakeUpSummary) -> Self {
        let late = observed.late.as_slice();
        let mut counts: Vec<(u64, u64)> = Vec::new();
        for us in late.iter().map(|late| micros(*late)) {
            match counts.last_mut() {
                Some((last, count)) if *last == us => *count += 1,
                _ => counts.push((us, 1)),
            }
        }
        let mean = late.iter().map(|late| late.max(0.0)).sum::<f64>() / late.len().max(1) as f64;
        let end = |late: Option<&f64>| late.map_or(0, |late| micros(*late));
        Self { least: end(late.first()), mean: micros(mean), most: end(late.last()), counts }
    }
}

/// Whole microseconds, as cyclictest counts them; early is none.
fn micros(nanos: f64) -> u64 {
    (nanos.max(0.0) / 1e3) as u64
}

//! Wake-ups of the runs under way, for a terminal.

use crate::number::{count, time};
use std::fmt::Write;
use tickmark_analysis::sample::Spread;

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];
/// Rows of the histogram, and columns of its longest.
const ROWS: usize = 12;
const WIDTH: f64 = 40.0;

/// A run under way.
#[derive(Debug)]
pub struct Run {
    /// Its metric.
    pub way: String,
    /// Where it is measured.
    pub cpu: u32,
    /// How late the wake-ups so far were, in ns.
    pub spread: Spread,
}

/// A line for each run, and a histogram of those of the first one's way: a row for each power of two, as long as the logarithm of what it counts.
#[must_use]
pub fn text(all: &[Run]) -> String {
    let mut out = String::new();
    for Run { way, cpu, spread } in all {
        let wakes = count(u32::try_from(spread.count).unwrap_or(u32::MAX), "wake-up");
        let at = |(name, q): (&str, f64)| format!("  {name} {}", time(spread.quantile(q)));
        let _ = writeln!(out, "CPU {cpu}  {way}\n  {wakes}{}", QUANTILES.map(at).concat());
    }
    let same = all.iter().filter(|run| run.way == all[0].way).map(|run| &run.spread);
    let Some(together) = Spread::of_all(&same.collect::<Vec<_>>()) else { return out };
    let octave = |length: f64| length.max(1.0).log2().floor() as i64;
    let (low, high) = (octave(together.least), octave(together.most));
    // The longest are what is looked for.
    let first = low.max(high - ROWS as i64 + 1);
    let mut rows = vec![0u64; (high - first + 1) as usize];
    for (_, to, count) in together.buckets() {
        let row = (octave(to.min(together.most)).max(first) - first) as usize;
        rows[row] += count;
    }
    let most = rows.iter().copied().max().unwrap_or(1).max(1);
    for (row, counted) in rows.iter().enumerate() {
        let length =
            if *counted == 0 { 0.0 } else { ((counted + 1) as f64).ln() / ((most + 1) as f64).ln() * WIDTH };
        let is_cut = row == 0 && first > low;
        let from = if is_cut { "less".to_owned() } else { time(((first + row as i64) as f64).exp2()) };
        let bar = "#".repeat(length.ceil() as usize);
        let _ = writeln!(out, "{from:>9} {bar:0$} {counted}", WIDTH as usize);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::{Histogram, Nanos};

    fn from_values(values: &[i64]) -> Spread {
        let mut all = Histogram::new(4);
        values.iter().for_each(|value| all.record(Nanos::new(*value)));
        Spread::from_histogram(&all).unwrap()
    }

    #[test]
    fn every_wake_up_stands_in_a_row_and_the_latest_is_exact() {
        let late: Vec<i64> = (0..999).map(|n| 14_000 + n).chain([3_210_000]).collect();
        let run =
            |way: &str, cpu, values: &[i64]| Run { way: way.to_owned(), cpu, spread: from_values(values) };
        let all = [run("a", 1, &late), run("a", 3, &[0, 20]), run("b", 0, &[7])];
        let text = text(&all);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "CPU 1  a");
        assert!(
            lines[1].starts_with("  1000 wake-ups  p50 14") && lines[1].ends_with("max 3.21 ms"),
            "{text}"
        );
        assert!(lines[3].starts_with("  2 wake-ups") && lines[5].starts_with("  1 wake-up "), "{text}");
        let rows = &lines[6..];
        let counted: u64 =
            rows.iter().map(|row| row.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!((rows.len(), counted), (ROWS, 1002), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(rows[0].trim_start().starts_with("less"), "{text}");
        assert!(super::text(&[]).is_empty());
        // What fits is not cut.
        let narrow = super::text(&[run("b", 0, &[20_000, 20_100])]);
        assert!(narrow.lines().nth(2).is_some_and(|row| row.trim_start().starts_with("16.4 us")), "{narrow}");
    }
}

//! Wake-ups of the runs under way, for a terminal.

use crate::number::{count, time};
use std::fmt::Write;
use tickmark_analysis::sample::Spread;

const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];
/// Rows of the histogram, and columns of its longest.
const ROWS: usize = 12;
const WIDTH: f64 = 40.0;

/// A line for each CPU, and a histogram of all: a row for each power of two, as long as the logarithm of what it counts.
#[must_use]
pub fn text(all: &[(Option<u32>, Spread)]) -> String {
    let mut out = String::new();
    for (cpu, seen) in all {
        let name = cpu.map_or_else(String::new, |cpu| format!("CPU {cpu}  "));
        let wakes = count(u32::try_from(seen.count).unwrap_or(u32::MAX), "wake-up");
        let at = |(name, q): (&str, f64)| format!("  {name} {}", time(seen.quantile(q)));
        let _ = writeln!(out, "{name}{wakes}{}", QUANTILES.map(at).concat());
    }
    let together: Vec<&Spread> = all.iter().map(|(_, seen)| seen).collect();
    let Some(together) = Spread::of_all(&together) else { return out };
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
        let from = if row == 0 { "less".to_owned() } else { time(((first + row as i64) as f64).exp2()) };
        let bar = "#".repeat(length.ceil() as usize);
        let _ = writeln!(out, "{from:>9} {bar:0$} {counted}", WIDTH as usize);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use tickmark_wire::{Histogram, Nanos};

    fn of(values: &[i64]) -> Spread {
        let mut all = Histogram::new(4);
        values.iter().for_each(|value| all.record(Nanos::new(*value)));
        Spread::of(&all).unwrap()
    }

    #[test]
    fn every_wake_up_stands_in_a_row_and_the_latest_is_exact() {
        let late: Vec<i64> = (0..999).map(|n| 14_000 + n).chain([3_210_000]).collect();
        let text = text(&[(Some(1), of(&late)), (Some(3), of(&[0, 20]))]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("CPU 1  1000 wake-ups  p50 14") && lines[0].ends_with("max 3.21 ms"),
            "{text}"
        );
        assert!(lines[1].starts_with("CPU 3  2 wake-ups"), "{text}");
        let rows = &lines[2..];
        let counted: u64 =
            rows.iter().map(|row| row.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!((rows.len(), counted), (ROWS, 1002), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(super::text(&[]).is_empty());
    }
}

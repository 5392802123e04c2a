//! Reads the output of `perf bench`; each file is a run, and may have several benchmarks.

use super::{begin, first_number, named};
use crate::Imported;
use tickmark_wire::{Better, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("# Running '") && line.contains("benchmark"))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("perf bench", name);
    let (mut bench, mut metric) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# Running '") {
            let name = rest.split('\'').next().unwrap_or_default();
            bench = format!("perf.{}", named(&name.replace('/', ".")));
            metric = bench.clone();
        }
        // Each function of `perf bench mem` is a metric.
        if let Some(rest) = line.strip_prefix("# function '") {
            let function = named(&rest.split('\'').next().unwrap_or_default().replace('.', "_"));
            metric = format!("{bench}.{function}");
        }
        if metric.is_empty() {
            continue;
        }
        let Some(number) = first_number(line) else { continue };
        let (suffix, unit, better, value) = match line.trim() {
            line if line.ends_with("nsecs/op") => ("", Unit::Time, Better::Lower, number),
            line if line.ends_with("usecs/op") => ("", Unit::Time, Better::Lower, number * 1e3),
            line if line.ends_with("msecs/op") => ("", Unit::Time, Better::Lower, number * 1e6),
            line if line.ends_with("GB/sec") => {
                ("", Unit::Throughput, Better::Higher, number * 1_073_741_824.0)
            }
            line if line.ends_with("MB/sec") => ("", Unit::Throughput, Better::Higher, number * 1_048_576.0),
            line if line.starts_with("Total time:") && line.ends_with("[sec]") => {
                (".total", Unit::Time, Better::Lower, number * 1e9)
            }
            // "Averaged 3850000 operations/sec (+- 0.25%), total secs = 10"
            line if line.contains("operations/sec") => (".operations", Unit::Rate, Better::Higher, number),
            _ => continue,
        };
        let name = format!("{metric}{suffix}");
        let round = found.series.get(&name).map_or(0, |series| series.values.len()) as u32 + 1;
        found.figure(&name, unit, better, round, value);
    }
    Ok(vec![found])
}

//! Reads cyclictest's output: its last lines, its histogram (-h) or its JSON; each file is a run. There are the latencies of all threads together
//! and, of several threads, those of each. Text does not say that -N made ns of us: it is taken for us, unless the least latency were above the
//! interval.

use super::{begin, first_number};
use crate::Imported;
use serde_json::Value;
use std::collections::BTreeMap;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    let json =
        text.trim_start().starts_with('{') && text.contains("cyclictest") && text.contains("\"thread\"");
    let threads = || text.lines().filter(|line| thread(line).is_some()).count() > 0;
    json || (text.contains("# Histogram") && text.contains("# Min Latencies:")) || threads()
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let all = if text.trim_start().starts_with('{') { json(text)? } else { lines(text)? };
    let mut found = begin("cyclictest", name);
    let mut figure = |which: &str, value: Option<f64>| {
        if let Some(value) = value {
            // It prints whole steps, but for averages in its JSON.
            let printed = Printed { value, step: if value.fract() == 0.0 { 1.0 } else { 0.0 } };
            let name = format!("cyclictest.late.{which}");
            found.figure(&name, Unit::Time, Better::Lower, 1, printed * all.nanos);
        }
    };
    figure("min", all.least);
    figure("avg", all.mean());
    figure("max", all.most);
    for (which, share) in [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999)] {
        figure(which, all.quantile(share));
    }
    if all.overflows > 0 {
        found.figure("cyclictest.overflows", Unit::Count, Better::Lower, 1, all.overflows as f64);
    }
    if all.threads.len() > 1 {
        for (number, [least, mean, most]) in &all.threads {
            for (which, value) in [("min", least), ("avg", mean), ("max", most)] {
                let printed = Printed { value: *value, step: if value.fract() == 0.0 { 1.0 } else { 0.0 } };
                found.time(&format!("cyclictest.late.{which}.thread={number}"), printed, all.nanos);
            }
        }
    }
    if all.guessed_nanos {
        found
            .remarks
            .push("taken for ns (-N): in us the least latency would be above the interval".to_owned());
    }
    if all.is_several {
        found
            .left_out
            .push("the file has several runs, and the last was taken: give each its own file".to_owned());
    }
    if all.estimated_mean {
        found
            .remarks
            .push("no line of totals: the mean counts those of the histogram and its overflows".to_owned());
    }
    Ok(vec![found])
}

/// Latencies of one run at most: a century at a million a second is fewer.
const MOST: u64 = 1 << 62;

/// All threads.
#[derive(Default)]
struct All {
    /// ns of one step.
    nanos: f64,
    least: Option<f64>,
    most: Option<f64>,
    /// Sum of averages times cycles, and cycles.
    sums: (f64, f64),
    counts: BTreeMap<u64, u64>,
    /// The sum of the counts.
    counted: u64,
    /// Latencies beyond the histogram.
    overflows: u64,
    /// Least, mean and largest latency of each thread.
    threads: BTreeMap<u64, [f64; 3]>,
    /// True if ns are an inference.
    guessed_nanos: bool,
    /// True if threads of several runs were printed.
    is_several: bool,
    /// True if the cycles of the mean were counted in the histogram.
    estimated_mean: bool,
}

impl All {
    fn thread(&mut self, number: u64, least: f64, mean: f64, most: f64, cycles: f64) {
        self.threads.insert(number, [least, mean, most]);
        self.least = Some(self.least.map_or(least, |known| known.min(least)));
        self.most = Some(self.most.map_or(most, |known| known.max(most)));
        self.sums = (self.sums.0 + mean * cycles, self.sums.1 + cycles);
    }

    /// Counts latencies.
    fn count(&mut self, latency: u64, count: u64) -> Result<(), String> {
        if self.counted.checked_add(count).is_none_or(|all| all > MOST) {
            return Err(format!("its histogram counts more than {MOST} latencies"));
        }
        self.counted += count;
        *self.counts.entry(latency).or_default() += count;
        Ok(())
    }

    fn mean(&self) -> Option<f64> {
        (self.sums.1 > 0.0).then(|| self.sums.0 / self.sums.1)
    }

    /// The least latency that so much of all are not above; none where it lies beyond the histogram.
    fn quantile(&self, share: f64) -> Option<f64> {
        let all = self.counted.saturating_add(self.overflows);
        let wanted = (share * all as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        self.counts.iter().find_map(|(latency, count)| {
            below += count;
            (below >= wanted).then_some(*latency as f64)
        })
    }
}

/// Interval in us, cycles, least, mean and largest latency of a line such as
/// `T: 0 ( 1234) P:80 I:1000 C:  10000 Min:      3 Act:    4 Avg:    5 Max:     123`.
fn thread(line: &str) -> Option<(u64, [f64; 5])> {
    let rest = line.trim_start().strip_prefix("T:")?;
    let number = first_number(rest)?.value as u64;
    let after = |label: &str| Some(first_number(rest.split_once(label)?.1)?.value);
    Some((number, [after("I:")?, after("C:")?, after("Min:")?, after("Avg:")?, after("Max:")?]))
}

fn lines(text: &str) -> Result<All, String> {
    let mut all = All { nanos: 1e3, ..All::default() };
    // With -H a column of sums follows those of the threads.
    let own = text
        .lines()
        .find_map(|line| line.strip_prefix("# Min Latencies:"))
        .map_or(usize::MAX, |rest| rest.split_whitespace().count());
    let mut threads: BTreeMap<u64, [f64; 5]> = BTreeMap::new();
    let mut labels: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut sums: Vec<f64> = Vec::new();
    let mut pids: BTreeMap<u64, &str> = BTreeMap::new();
    let mut has_begun = false;
    for line in text.lines() {
        if line.trim_end() == "# Histogram" && std::mem::replace(&mut has_begun, true) {
            return Err("it has several histograms: give each its own file".to_owned());
        }
        if let Some((number, figures)) = thread(line) {
            // It ended before this thread woke once: nothing is known of it.
            if figures[1] == 0.0 {
                continue;
            }
            let pid = line.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
            let pid = pid.map_or("", |(pid, _)| pid.trim());
            all.is_several |= pids.insert(number, pid).is_some_and(|before| before != pid);
            // Its screen is printed again and again: the last one counts.
            threads.insert(number, figures);
        } else if let Some(rest) = line.strip_prefix("# ") {
            let Some((label, values)) = rest.split_once(':') else { continue };
            labels.insert(label, values.split_whitespace().filter_map(|value| value.parse().ok()).collect());
        } else {
            let mut fields = line.split_whitespace().map(str::parse::<u64>);
            if let Some(Ok(latency)) = fields.next() {
                for (at, count) in fields.map_while(Result::ok).take(own).enumerate() {
                    all.count(latency, count)?;
                    sums.resize(sums.len().max(at + 1), 0.0);
                    sums[at] += count as f64;
                }
            }
        }
    }
    let column = |label: &str| labels.get(label).cloned().unwrap_or_default();
    let mut totals = column("Total");
    if totals.is_empty() && !sums.is_empty() {
        let overflows = column("Histogram Overflows").into_iter().chain(std::iter::repeat(0.0));
        totals = sums.iter().zip(overflows).map(|(count, over)| count + over).collect();
        all.estimated_mean = true;
    }
    let figures =
        column("Min Latencies").into_iter().zip(column("Avg Latencies")).zip(column("Max Latencies"));
    for (number, (((least, mean), most), cycles)) in (0..).zip(figures.zip(totals)) {
        all.thread(number, least, mean, most, cycles);
    }
    all.overflows = column("Histogram Overflows").iter().take(own).map(|count| *count as u64).sum();
    if all.sums.1 == 0.0 {
        all.estimated_mean = false;
        for (number, [_, cycles, least, mean, most]) in &threads {
            all.thread(*number, *least, *mean, *most, *cycles);
        }
        all.guessed_nanos =
            !threads.is_empty() && threads.values().all(|[interval, _, least, ..]| least > interval);
        if all.guessed_nanos {
            all.nanos = 1.0;
        }
    }
    Ok(all)
}

fn json(text: &str) -> Result<All, String> {
    let page: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let nanos = page["resolution_in_ns"].as_i64() == Some(1);
    let mut all = All { nanos: if nanos { 1.0 } else { 1e3 }, ..All::default() };
    for (name, thread) in page["thread"].as_object().ok_or("no threads")? {
        let number = |name: &str| thread[name].as_f64().ok_or_else(|| format!("a thread without {name}"));
        let cycles = number("cycles")?;
        all.thread(name.parse().unwrap_or(0), number("min")?, number("avg")?, number("max")?, cycles);
        let mut counted = 0;
        for (latency, count) in thread["histogram"].as_object().into_iter().flatten() {
            if let (Ok(latency), Some(count)) = (latency.parse(), count.as_u64()) {
                all.count(latency, count)?;
                counted += count;
            }
        }
        if counted > 0 {
            all.overflows += (cycles as u64).saturating_sub(counted);
        }
    }
    Ok(all)
}

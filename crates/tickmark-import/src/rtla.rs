//! rtla's timerlat and osnoise, top and hist: a metric for each CPU, and one for all of them. A top page that is printed again and again counts
//! as it was last.

use super::{begin, first_number};
use crate::Imported;
use std::collections::BTreeMap;
use tickmark_wire::{Better, Printed, Unit};

pub(super) fn recognizes(text: &str) -> bool {
    ["Timer Latency", "Operating System Noise", "# RTLA timerlat histogram", "# RTLA osnoise histogram"]
        .iter()
        .any(|title| text.contains(title))
}

pub(super) fn read(name: &str, text: &str) -> Result<Vec<Imported>, String> {
    let mut found = begin("rtla", name);
    found.is_one_replicate = true;
    if text.contains("# RTLA ") {
        histogram(&mut found, text);
    } else if text.contains("Operating System Noise") {
        noise(&mut found, text);
    } else {
        latency(&mut found, text);
    }
    Ok(vec![found])
}

/// ns of one printed unit.
fn scale(text: &str) -> f64 {
    if text.contains("nanoseconds") || text.contains("(ns)") || text.contains("time is in ns") {
        1.0
    } else {
        1e3
    }
}

/// The three kinds of latency, in the order in which they are printed.
const KINDS: [&str; 3] = ["irq", "thread", "user"];

/// Rows such as `  0 #5823  |  24  0  1  24 |  1035  3  7  1035`.
fn latency(found: &mut Imported, text: &str) {
    let nanos = scale(text);
    let mut rows: BTreeMap<u32, (f64, Vec<Vec<f64>>)> = BTreeMap::new();
    let mut is_several = false;
    found.take_lines(text, |_, line| {
        let mut parts = line.split('|');
        let mut head = parts.next().unwrap_or_default().split_whitespace();
        let cpu = head.next().and_then(|cpu| cpu.parse().ok());
        let count = head.next().and_then(|count| count.strip_prefix('#')?.parse().ok());
        if let Some((cpu, count)) = cpu.zip(count) {
            let numbers = |part: &str| {
                part.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>()
            };
            let groups: Vec<Vec<f64>> = parts.map_while(numbers).filter(|group| group.len() == 4).collect();
            let before = rows.insert(cpu, (count, groups));
            is_several |= before.is_some_and(|(before, _)| before > count);
            return true;
        }
        line.contains("Timer Latency")
            || line.contains("CPU COUNT")
            || line.contains('|')
            || line.starts_with("ALL")
    });
    if is_several {
        found
            .left_out
            .push("the file has several runs, and the last was taken: give each its own file".to_owned());
    }
    for (at, kind) in KINDS.into_iter().enumerate() {
        let mut all = Summary::default();
        for (cpu, (count, groups)) in &rows {
            let Some([_, least, mean, most]) = groups.get(at).map(Vec::as_slice) else { continue };
            all.add(*count, *least, *mean, *most);
            let mut own = Summary::default();
            own.add(*count, *least, *mean, *most);
            own.put(found, &format!("rtla.timerlat.{kind}"), &format!(".cpu={cpu}"), nanos);
        }
        all.put(found, &format!("rtla.timerlat.{kind}"), "", nanos);
    }
}

/// Latencies of one or more CPUs.
#[derive(Default)]
struct Summary {
    count: f64,
    sum: f64,
    least: Option<f64>,
    most: Option<f64>,
}

impl Summary {
    fn add(&mut self, count: f64, least: f64, mean: f64, most: f64) {
        (self.count, self.sum) = (self.count + count, self.sum + mean * count);
        self.least = Some(self.least.map_or(least, |known| known.min(least)));
        self.most = Some(self.most.map_or(most, |known| known.max(most)));
    }

    fn put(&self, found: &mut Imported, metric: &str, parameter: &str, nanos: f64) {
        if self.count > 0.0 {
            found.figure(&format!("{metric}.count{parameter}"), Unit::Count, Better::Neither, 1, self.count);
            found.time(&format!("{metric}.avg{parameter}"), self.sum / self.count, nanos);
        }
        for (what, value) in [("min", self.least), ("max", self.most)] {
            if let Some(value) = value {
                found.time(&format!("{metric}.{what}{parameter}"), Printed { value, step: 1.0 }, nanos);
            }
        }
    }
}

/// The columns of osnoise behind period, runtime and noise: name, unit, and which way is better.
const NOISE: [(&str, Unit, Better); 8] = [
    ("available", Unit::Share, Better::Higher),
    ("max_noise", Unit::Time, Better::Lower),
    ("max_single", Unit::Time, Better::Lower),
    ("hardware", Unit::Count, Better::Lower),
    ("nmi", Unit::Count, Better::Lower),
    ("irq", Unit::Count, Better::Lower),
    ("softirq", Unit::Count, Better::Lower),
    ("thread", Unit::Count, Better::Lower),
];

/// Rows such as `  0 #10  10000000  1234  99.98766  200  30  5  0  2600  120  40`.
fn noise(found: &mut Imported, text: &str) {
    let nanos = scale(text);
    let mut rows: BTreeMap<u32, Vec<Printed>> = BTreeMap::new();
    let (mut periods, mut is_several) = (BTreeMap::<u32, u64>::new(), false);
    found.take_lines(text, |_, line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [cpu, period, rest @ ..] = &words[..]
            && let (Ok(cpu), true) = (cpu.parse(), period.starts_with('#'))
        {
            let count: u64 = period[1..].parse().unwrap_or(0);
            is_several |= periods.insert(cpu, count).is_some_and(|before| before > count);
            rows.insert(cpu, rest.iter().map_while(|word| Printed::parse(word.as_bytes())).collect());
            return true;
        }
        line.contains("Operating System Noise") || line.contains("CPU Period") || line.starts_with("duration")
    });
    if is_several {
        found
            .left_out
            .push("the file has several runs, and the last was taken: give each its own file".to_owned());
    }
    for (cpu, row) in rows {
        let [runtime, noise, rest @ ..] = &row[..] else { continue };
        found.time(&format!("rtla.osnoise.noise.cpu={cpu}"), *noise, nanos);
        found.time(&format!("rtla.osnoise.runtime.cpu={cpu}"), *runtime, nanos);
        for ((what, unit, better), value) in NOISE.into_iter().zip(rest) {
            let factor = match unit {
                Unit::Time => nanos,
                Unit::Share => 0.01,
                _ => 1.0,
            };
            found.repeat(&format!("rtla.osnoise.{what}.cpu={cpu}"), unit, better, *value * factor);
        }
    }
}

/// Heads `Index IRQ-000 Thr-000` or `Index CPU-000`, rows of counts, then over:, count:, min:, avg:, max:.
fn histogram(found: &mut Imported, text: &str) {
    let nanos = scale(text);
    let of = if text.contains("timerlat") { "timerlat" } else { "osnoise" };
    let (mut heads, mut all) = (Vec::<String>::new(), BTreeMap::<&str, Vec<f64>>::new());
    let mut bins: Vec<(f64, Vec<f64>)> = Vec::new();
    let (mut is_sum, mut is_several) = (false, false);
    found.take_lines(text, |_, line| {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { return true };
        let rest: Vec<&str> = words.collect();
        let numbers = || rest.iter().map_while(|word| word.parse().ok()).collect::<Vec<f64>>();
        match first {
            "Index" if !heads.is_empty() => is_several = true,
            _ if is_several => {}
            "Index" => heads = rest.iter().map(|word| (*word).to_owned()).collect(),
            // Newer versions print a summary of all CPUs behind.
            "ALL:" => is_sum = true,
            _ if first.starts_with('#') => {}
            what if what.ends_with(':') && is_sum => {}
            what if what.ends_with(':') => {
                all.insert(
                    ["over:", "count:", "min:", "avg:", "max:"]
                        .into_iter()
                        .find(|known| *known == what)
                        .unwrap_or_default(),
                    numbers(),
                );
            }
            bin => match bin.parse() {
                Ok(bin) => bins.push((bin, numbers())),
                Err(_) => return false,
            },
        }
        true
    });
    if is_several {
        found.left_out.push(
            "the file has several histograms, and the first was taken: give each its own file".to_owned(),
        );
    }
    let of_column = |what: &str, at: usize| all.get(what).and_then(|row| row.get(at)).copied();
    for (at, head) in heads.iter().enumerate() {
        let (kind, cpu) = head.split_once('-').unwrap_or((head, "0"));
        let kind = match kind.to_ascii_lowercase().as_str() {
            "irq" => ".irq".to_owned(),
            "thr" => ".thread".to_owned(),
            "usr" => ".user".to_owned(),
            _ => String::new(),
        };
        let Some(cpu) = first_number(cpu).map(|cpu| cpu.value) else { continue };
        for (what, label) in [("min:", "min"), ("avg:", "avg"), ("max:", "max")] {
            if let Some(value) = of_column(what, at) {
                found.time(
                    &format!("rtla.{of}{kind}.{label}.cpu={cpu}"),
                    Printed { value, step: 1.0 },
                    nanos,
                );
            }
        }
        let over = of_column("over:", at).unwrap_or(0.0);
        found.figure(&format!("rtla.{of}{kind}.overflows.cpu={cpu}"), Unit::Count, Better::Lower, 1, over);
        let count = of_column("count:", at).unwrap_or(0.0);
        for (what, share) in [("p50", 0.5), ("p99", 0.99), ("p99_9", 0.999)] {
            let mut below = 0.0;
            let reached = bins.iter().find(|(_, counts)| {
                below += counts.get(at).copied().unwrap_or(0.0);
                count > 0.0 && below >= share * count
            });
            if let Some((value, _)) = reached {
                found.time(
                    &format!("rtla.{of}{kind}.{what}.cpu={cpu}"),
                    Printed { value: *value, step: 1.0 },
                    nanos,
                );
            }
        }
    }
}

//! Messages by their sizes, and what they cost the processor, as text, JSON, columns and plots.

use crate::grid::{lines, wrapped};
use crate::number::{bytes, percent, time, value};
use crate::plot::{Plot, Series};
use anstyle::Style;
use serde_json::{Value, json};
use std::fmt::Write;
use tickmark_analysis::comms::{Comms, Law, Load, Packet, Row, Seen, laws};
use tickmark_stats::Interval;
use tickmark_stats::linear::Piece;
use tickmark_wire::Unit;

const HEADING: Style = Style::new().bold();
/// More rows than this are thinned to powers of two.
const MOST: usize = 24;

fn rate(bytes_a_second: f64) -> String {
    value(bytes_a_second, None, Unit::Throughput.into())
}

fn share(share: Option<f64>) -> String {
    match share {
        None => "-".to_owned(),
        Some(share) if share < 0.0 => format!("-{}", percent(-share)),
        Some(0.0) => "0 %".to_owned(),
        Some(share) => percent(share),
    }
}

fn seen(all: &[Comms]) -> impl Iterator<Item = (&Comms, &Seen)> {
    all.iter().filter_map(|comms| Some((comms, comms.seen.as_ref().ok()?)))
}

/// A table for each benchmark, what its model says, and how the meters agree.
#[must_use]
pub fn text(all: &[Comms]) -> String {
    let mut out = String::new();
    for comms in all {
        let _ = writeln!(
            out,
            "{HEADING}{}{HEADING:#}: time of a message = round trip / {}",
            comms.title, comms.divisor
        );
        match &comms.seen {
            Err(why) => {
                let _ = writeln!(out, "{}", wrapped(&format!("not measured: {why}"), 0).join("\n"));
            }
            Ok(seen) => one(&mut out, seen),
        }
        let _ = writeln!(out);
    }
    for law in laws(all) {
        one_law(&mut out, &law);
    }
    for line in wrapped(&notes(all), 0) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn one(out: &mut String, seen: &Seen) {
    let computes =
        seen.rows.iter().flat_map(|row| &row.loads).any(|load| load.gaps.is_some() || load.windows.1 > 0);
    let mut heading = vec!["bytes", "time", "launches", "rate", "round trip", "p99"];
    if computes {
        heading.extend(["load", "counter"]);
    }
    heading.extend(["tasks", "stat"]);
    if seen.cpus.len() > 1 {
        heading.push(if computes { "load there" } else { "tasks there" });
    }
    let row = |row: &Row| {
        let launches = row.launches.map_or_else(
            || "-".to_owned(),
            |Interval { low, high }| format!("+-{}", percent((high - low) / 2.0 / row.time)),
        );
        let p99 = row.whole.quantiles[1].1.map_or_else(|| "-".to_owned(), time);
        let mut cells = vec![
            row.size.to_string(),
            time(row.time),
            launches,
            rate(row.rate()),
            time(row.whole.median),
            p99,
        ];
        let none = Load::default();
        let load = row.loads.first().unwrap_or(&none);
        if computes {
            cells.extend([share(load.gaps), share(load.counter)]);
        }
        cells.extend([share(load.tasks), share(load.stat)]);
        if let Some(there) = row.loads.get(1) {
            cells.push(share(if computes { there.gaps } else { there.tasks }));
        }
        cells
    };
    let shown = seen.rows.iter().filter(|row| seen.rows.len() <= MOST || row.size.is_power_of_two());
    let columns = heading.len();
    let heading = heading.into_iter().map(str::to_owned).collect();
    for (number, line) in
        lines(std::iter::once(heading).chain(shown.map(row)), 0..columns).into_iter().enumerate()
    {
        let _ =
            if number == 0 { writeln!(out, "{HEADING}{line}{HEADING:#}") } else { writeln!(out, "{line}") };
    }
    let _ = writeln!(out, "{}", wrapped(&model(seen), 0).join("\n"));
    for sentence in meters(seen) {
        let _ = writeln!(out, "{}", wrapped(&sentence, 0).join("\n"));
    }
}

/// Load against packet size.
fn one_law(out: &mut String, law: &Law) {
    let _ = writeln!(
        out,
        "{HEADING}Load by packet size{HEADING:#}: {}, messages of {} bytes",
        law.title, law.size
    );
    let heading = ["MTU", "rate", "load", "load x MTU", "law"].map(str::to_owned).to_vec();
    let row = |packet: &Packet| {
        let predicted = packet.rate / 1e9 * (law.per_byte.0 + law.per_packet.0 / packet.payload);
        let product = format!("{:.0}", packet.load * f64::from(packet.mtu));
        vec![
            packet.mtu.to_string(),
            rate(packet.rate),
            share(Some(packet.load)),
            product,
            share(Some(predicted)),
        ]
    };
    for line in lines(std::iter::once(heading).chain(law.packets.iter().map(row)), 0..5) {
        let _ = writeln!(out, "{line}");
    }
    let either = |(value, interval): (f64, Option<Interval>), scale: f64, unit: &str| {
        let text = |value: f64| format!("{:.0}", value * scale);
        match interval {
            Some(i) => format!("{} ({} to {}) {unit}", text(value), text(i.low), text(i.high)),
            None => format!("{} {unit}", text(value)),
        }
    };
    let constant = if law.is_constant {
        "Load x packet size is a constant within a tenth, as the document has it."
    } else {
        "Load x packet size is no constant here: bytes cost too, and the document's constant is the limit of small packets."
    };
    let holds = law.residual <= tickmark_stats::linear::HOLDS;
    let whether = if holds { "" } else { ", so that it does not hold here" };
    let mut text = format!(
        "load = rate (a + b / payload): a {}, b {} for each packet; the law misses a load by {} at most{whether}. {constant}",
        either(law.per_byte, 1e3, "us/MB"),
        either(law.per_packet, 1.0, "ns"),
        percent(law.residual)
    );
    let fastest = law.packets.iter().map(|packet| packet.rate).fold(0.0, f64::max);
    if let Some(payload) = law.least_payload(fastest).filter(|_| holds) {
        let _ = write!(
            text,
            " With less than {payload:.0} bytes in a packet one CPU is too little for {}.",
            rate(fastest)
        );
    }
    let _ = writeln!(out, "{}\n", wrapped(&text, 0).join("\n"));
}

fn between(interval: Interval, text: fn(f64) -> String) -> String {
    format!("{} to {}", text(interval.low.max(0.0)), text(interval.high))
}

/// What the straight pieces say.
fn model(seen: &Seen) -> String {
    let Some(pieces) = &seen.pieces else {
        return "No model: it takes five sizes or more.".to_owned();
    };
    let size = |at: usize| seen.rows.get(at).map_or(0, |row| row.size);
    let piece = |(number, piece): (usize, &Piece)| {
        let (first, last) = (size(piece.sizes.0), size(piece.sizes.1));
        let mut text = format!("{first} to {last} bytes: ");
        if number == 0 {
            let _ = match piece.start_interval {
                Some(interval) => write!(text, "t0 {} ({}), ", time(piece.start), between(interval, time)),
                None => write!(text, "t0 0 (the unconstrained fit is negative), "),
            };
        }
        match piece.rate() {
            Some(rates) => {
                let _ = write!(text, "r_inf {} ({})", rate(1e9 / piece.per_byte), between(rates, rate));
                if let Some(half) = piece.half_length().filter(|_| number == 0) {
                    let _ = write!(text, ", n_half {}", bytes(half));
                    if piece.start > 0.0 {
                        let _ = write!(text, ", pi_0 {:.0}/s", 1e9 / piece.start);
                    }
                }
            }
            None if piece.residuals.1 > tickmark_stats::linear::HOLDS => {
                text += "no r_inf, as the line does not hold";
            }
            None => text += "no r_inf, as no rise is certain",
        }
        let (middle, most) = piece.residuals;
        let _ = write!(text, "; residuals {} in the median, {} at most", percent(middle), percent(most));
        text
    };
    let mut text = format!(
        "Model t = t0 + n / r_inf. {}.",
        pieces.iter().enumerate().map(piece).collect::<Vec<_>>().join(". ")
    );
    if let Some((size, fastest)) = seen.fastest() {
        let _ = write!(text, " The largest rate measured is {} at {size} bytes.", rate(fastest));
    }
    for (from, until) in seen.dips() {
        let _ = match until {
            Some(until) => write!(text, " The rate dips at {from} bytes and is regained at {until}."),
            None => write!(text, " The rate dips at {from} bytes and is not regained."),
        };
    }
    text
}

/// How the meters agree, and why they do not.
fn meters(seen: &Seen) -> Vec<String> {
    let mut sentences = Vec::new();
    for (number, cpu) in seen.cpus.iter().enumerate() {
        let Some((middle, high)) = cpu.apart else {
            if cpu.windows.1 > 0 {
                sentences.push(format!(
                    "CPU {}: {} of {} windows were refused, and no other has both meters.",
                    cpu.cpu, cpu.windows.1, cpu.windows.0
                ));
            }
            continue;
        };
        let mut text = format!(
            "CPU {}: the counter and the gaps are {:.1} points apart in the median of {} windows, {:.1} at the 95th percentile; {} refused.",
            cpu.cpu,
            middle * 100.0,
            cpu.windows.0 - cpu.windows.1,
            high * 100.0,
            cpu.windows.1
        );
        let missed: Vec<(f64, f64)> = seen
            .rows
            .iter()
            .filter_map(|row| row.loads.get(number))
            .filter_map(|load| Some((load.gaps?, load.tasks?)))
            .collect();
        let by = |of: fn(&(f64, f64)) -> f64| missed.iter().map(of).sum::<f64>() / missed.len().max(1) as f64;
        let (load, tasks) = (by(|pair| pair.0), by(|pair| pair.1));
        if load - tasks > 0.02 {
            let _ = write!(
                text,
                " The tasks' own CPU time is {:.1} points less than the load: interrupts and soft interrupts (in a guest also what the host took) are in the computing task's account, or in no task's.",
                (load - tasks) * 100.0
            );
        } else if tasks - load > 0.02 {
            let _ = write!(
                text,
                " The tasks' own CPU time is {:.1} points more than the load: a task that is woken from another CPU is billed from before it runs.",
                (tasks - load) * 100.0
            );
        }
        sentences.push(text);
    }
    sentences
}

/// What the columns are.
fn notes(all: &[Comms]) -> String {
    let launches = seen(all).map(|(_, seen)| seen.runs).max().unwrap_or(0);
    format!(
        "time: of one message, the median of {launches} launches' medians; launches: half of what they differ by; rate: bytes over time; round trip: the whole way there and back, \
         with its 99th percentile. load: what the computing task did not get, by its gaps, less what other tasks had, as a share of the CPU; counter: the same by what it computed; \
         tasks: CPU time of the communicating tasks on that CPU; stat: system, interrupts and soft interrupts of /proc/stat, which samples. Windows with more than 2 % unattributed CPU \
         time are refused; a size with more than half of its windows refused has no load. Model: weighted least squares (1/t^2), 95 % intervals; pieces by the Bayesian information \
         criterion; r_inf is told where no residual is above 10 %."
    )
}

/// For gnuplot: a block for each benchmark; bytes, time of a message (ns), rate (bytes a second), load by gaps, by counter, CPU time of the tasks (shares; ? where there
/// is none).
#[must_use]
pub fn values(all: &[Comms]) -> String {
    let mut out = String::new();
    for (comms, seen) in seen(all) {
        let _ = writeln!(out, "# {}\n# bytes time_ns rate load counter tasks", comms.title);
        for row in &seen.rows {
            let load = row.loads.first();
            let cell = |of: fn(&Load) -> Option<f64>| {
                load.and_then(of).map_or_else(|| "?".to_owned(), |share| share.to_string())
            };
            let _ = writeln!(
                out,
                "{} {} {} {} {} {}",
                row.size,
                row.time,
                row.rate(),
                cell(|load| load.gaps),
                cell(|load| load.counter),
                cell(|load| load.tasks)
            );
        }
        out += "\n\n";
    }
    out
}

/// Rate by size, and load by size where something computed: all benchmarks in one plot each. x is the binary logarithm of the bytes.
#[must_use]
pub fn plots(all: &[Comms]) -> Vec<Plot> {
    let plot = |title: &str, y: &str, of: fn(&Row) -> Option<f64>, label: fn(f64) -> String| {
        let series = |(comms, seen): (&Comms, &Seen)| {
            let point = |row: &Row| Some(((row.size as f64).log2(), of(row)?));
            let points: Vec<(f64, f64)> = seen.rows.iter().filter_map(point).collect();
            (!points.is_empty()).then(|| Series { name: comms.title.clone(), points })
        };
        let series: Vec<Series> = seen(all).filter_map(series).collect();
        let (title, x, y) = (title.to_owned(), "bytes, log2".to_owned(), y.to_owned());
        (!series.is_empty()).then_some(Plot { title, x, y, series, label })
    };
    let load = |row: &Row| row.loads.first()?.gaps.filter(|load| *load > 0.0);
    let plots = [
        plot("Rate by size", "rate", |row| Some(row.rate()), rate),
        plot("Load by size", "load", load, percent),
    ];
    plots.into_iter().flatten().collect()
}

/// The same for programs: times in ns, rates in bytes a second, loads as shares of a CPU.
#[must_use]
pub fn json(all: &[Comms]) -> Value {
    let interval = |interval: Option<Interval>| interval.map(|i| [i.low, i.high]);
    let load = |load: &Load| {
        json!({
            "gaps": load.gaps, "counter": load.counter, "tasks": load.tasks, "stat": load.stat, "others": load.others,
            "unexplained": load.unexplained, "windows": load.windows.0, "refused": load.windows.1,
            "per_message": {
                "switches": load.per_message.switches,
                "interrupts": load.per_message.interrupts,
                "softirqs": load.per_message.softirqs,
            },
        })
    };
    let row = |row: &Row| {
        let quantiles = row.whole.quantiles.map(|(q, value)| json!({ "q": q, "ns": value }));
        json!({
            "bytes": row.size, "time": row.time, "launches": interval(row.launches), "rate": row.rate(),
            "whole": { "median": row.whole.median, "mean": row.whole.mean, "quantiles": quantiles },
            "loads": row.loads.iter().map(load).collect::<Vec<_>>(),
        })
    };
    let one = |comms: &Comms| {
        let mut value = json!({ "metric": comms.metric, "title": comms.title, "divisor": comms.divisor });
        match &comms.seen {
            Err(why) => value["none"] = json!(why),
            Ok(seen) => {
                let size = |at: usize| seen.rows.get(at).map(|row| row.size);
                let piece = |(number, piece): (usize, &Piece)| {
                    json!({
                        "bytes": [size(piece.sizes.0), size(piece.sizes.1)],
                        "t0": (number == 0).then_some(piece.start),
                        "t0_interval": interval(piece.start_interval.filter(|_| number == 0)),
                        "r_inf": piece.rate().map(|_| 1e9 / piece.per_byte),
                        "r_inf_interval": interval(piece.rate()),
                        "n_half": piece.half_length().filter(|_| number == 0),
                        "residual_median": piece.residuals.0,
                        "residual_most": piece.residuals.1,
                    })
                };
                let pieces = seen
                    .pieces
                    .as_ref()
                    .map(|pieces| pieces.iter().enumerate().map(piece).collect::<Vec<_>>());
                let cpus = seen.cpus.iter().map(|cpu| {
                    json!({
                        "cpu": cpu.cpu, "windows": cpu.windows.0, "refused": cpu.windows.1,
                        "apart_median": cpu.apart.map(|apart| apart.0), "apart_p95": cpu.apart.map(|apart| apart.1),
                    })
                });
                value["runs"] = json!(seen.runs);
                value["model"] = json!(pieces);
                value["dips"] = json!(seen.dips());
                value["cpus"] = json!(cpus.collect::<Vec<_>>());
                value["rows"] = json!(seen.rows.iter().map(row).collect::<Vec<_>>());
            }
        }
        value
    };
    let law = |law: &Law| {
        let packet = |packet: &Packet| json!({ "mtu": packet.mtu, "payload": packet.payload, "rate": packet.rate, "load": packet.load });
        json!({
            "title": law.title, "bytes": law.size,
            "ns_per_byte": law.per_byte.0, "ns_per_byte_interval": interval(law.per_byte.1),
            "ns_per_packet": law.per_packet.0, "ns_per_packet_interval": interval(law.per_packet.1),
            "residual_most": law.residual, "load_x_packet_is_constant": law.is_constant,
            "packets": law.packets.iter().map(packet).collect::<Vec<_>>(),
        })
    };
    json!({
        "comms": all.iter().map(one).collect::<Vec<_>>(),
        "packet_laws": laws(all).iter().map(law).collect::<Vec<_>>(),
    })
}

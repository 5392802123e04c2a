//! Sentences about messages: the model, the meters, packets, and what the columns are.

use super::{HEADING, rate, share};
use crate::fold::wrapped;
use crate::grid::lines;
use crate::number::{bytes, percent, time};
use std::fmt::Write;
use tickmark_analysis::comms::{CommsSummary, Cpu, Law, Packet};
use tickmark_stats::Interval;
use tickmark_stats::linear::LineSegment;
use tickmark_wire::text::printable;

/// Load against packet size.
pub(super) fn law(out: &mut String, law: &Law) {
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
            " With less than {payload:.0} bytes in a packet beside its headers one CPU is too little for {}.",
            rate(fastest)
        );
    }
    let _ = writeln!(out, "{}\n", wrapped(&text, 0).join("\n"));
}

fn between(interval: Interval, text: fn(f64) -> String) -> String {
    format!("{} to {}", text(interval.low.max(0.0)), text(interval.high))
}

/// Sentences about the line segments.
pub(super) fn model(summary: &CommsSummary) -> String {
    let Some(pieces) = &summary.pieces else {
        return "No model: it takes five sizes or more.".to_owned();
    };
    let size = |at: usize| summary.rows.get(at).map_or(0, |row| row.size);
    let piece = |(number, piece): (usize, &LineSegment)| {
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
    if let Some((size, fastest)) = summary.fastest() {
        let _ = write!(text, " The largest rate measured is {} at {size} bytes.", rate(fastest));
    }
    for (from, until) in summary.dips() {
        let _ = match until {
            Some(until) => write!(text, " The rate dips at {from} bytes and is regained at {until}."),
            None => write!(text, " The rate dips at {from} bytes and is not regained."),
        };
    }
    text
}

/// A CPU, and whose it is.
fn whose(cpu: &Cpu) -> String {
    match &cpu.host {
        Some(host) => format!(
            "CPU {} of {} (Linux {})",
            cpu.cpu,
            printable(&host.name, false),
            printable(&host.kernel, false)
        ),
        None => format!("CPU {}", cpu.cpu),
    }
}

/// How the meters agree, and why they do not.
pub(super) fn meters(summary: &CommsSummary) -> Vec<String> {
    let mut sentences = Vec::new();
    for (number, cpu) in summary.cpus.iter().enumerate() {
        let Some((middle, high)) = cpu.apart else {
            if cpu.windows.1 > 0 {
                sentences.push(format!(
                    "{}: {} of {} windows were refused, and no other has both meters.",
                    whose(cpu),
                    cpu.windows.1,
                    cpu.windows.0
                ));
            }
            continue;
        };
        let mut text = format!(
            "{}: the counter and the gaps are {:.1} points apart in the median of {} windows, {:.1} at the 95th percentile; {} refused.",
            whose(cpu),
            middle * 100.0,
            cpu.windows.0 - cpu.windows.1,
            high * 100.0,
            cpu.windows.1
        );
        let missed: Vec<(f64, f64)> = summary
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

/// Explanation of the columns.
pub(super) fn notes(runs: usize) -> String {
    let medians =
        if runs == 1 { "the median".to_owned() } else { format!("the median of {runs} runs' medians") };
    format!(
        "time: of one message, {medians}; +-: half of the range of these, as a share of the time; rate: bytes over time; round trip: the whole way there and back, \
         with its 99th percentile. load: what the computing task did not get, by its gaps, with what other tasks had subtracted, as a share of the CPU: the mean of the windows, with their 10th and 90th percentile; counter: the same by what it computed; \
         tasks: CPU time of the communicating tasks on that CPU; stat: system, interrupts and soft interrupts of /proc/stat, which samples. Windows with more than 2 % unattributed CPU \
         time are refused; a size with more than half of its windows refused has no load. Model: weighted least squares (1/t^2), 95 % intervals; pieces by the Bayesian information \
         criterion; r_inf is told where no residual is above 10 %."
    )
}

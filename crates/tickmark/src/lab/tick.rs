//! What the cost of one tick says of another HZ.

use super::exact;
use crate::report;
use std::fmt::Write;
use tickmark_stats::median;
use tickmark_store::{Recording, Status};
use tickmark_wire::{Nanos, Observations};

/// The least threshold of the probe `tick`.
const LEAST: Nanos = Nanos::new(300);

/// The processors of "Comparing Performance 100 Hz versus 1000 Hz Clock Tick" (Denk, 2005), in million cycles a second, which
/// it takes for instructions.
const MIPS: [f64; 2] = [50.0, 400.0];

/// What a recording says of its tick.
struct Tick {
    name: String,
    hz: f64,
    /// The share of the processor that ticks take: mean, least and most over phases.
    lost: [f64; 3],
    /// Instructions of a tick.
    instructions: f64,
    /// Million instructions a second.
    mips: f64,
    /// What one tick takes, in ns, where the gaps that a reading loop saw were looked at.
    cost: Option<f64>,
    /// The kernel without its HZ: a prediction is for what differs in nothing else.
    kernel: String,
}

impl Tick {
    fn differs_in_hz_alone(&self, base: &Self) -> bool {
        (self.hz - base.hz).abs() > 0.5 && self.kernel == base.kernel
    }
}

/// The median gap of the tick's train, without the turn of the loop that lies in it.
fn cost(recording: &Recording) -> Option<f64> {
    let model = report::build(recording, &|metric| metric.name.as_str() == "tick", false);
    let mut rows = model.groups.iter().flat_map(|(_, rows)| rows);
    let gap = rows.find(|row| row.metric == "tick.cost")?.value?.point;
    let run =
        recording.runs.iter().find(|run| run.planned.probe.as_str() == "tick" && run.status == Status::Ok)?;
    // A threshold above the least one is three turns of the loop.
    let turn = recording.observed(run).iter().find_map(|observed| match &observed.observations {
        Observations::Gaps(trace) if trace.threshold > LEAST => Some(trace.threshold.as_f64() / 3.0),
        _ => None,
    });
    Some(gap - turn.unwrap_or(0.0))
}

fn tick(recording: &Recording) -> Option<Tick> {
    let instruction = exact::instruction(recording)?;
    let model = report::build(recording, &|metric| metric.name.as_str() == "tick.spin", false);
    let rows = model.groups.iter().flat_map(|(_, rows)| rows);
    let each: Vec<f64> = rows
        .filter(|row| row.metric == "tick.spin.lost")
        .flat_map(|row| row.each.iter().map(|each| each.value))
        .collect();
    let hz: f64 = recording.environment()?.get("kernel.config.HZ")?.parse().ok()?;
    let mean = each.iter().sum::<f64>() / each.len().max(1) as f64;
    let ends = [each.iter().copied().fold(f64::MAX, f64::min), each.iter().copied().fold(f64::MIN, f64::max)];
    (!each.is_empty()).then(|| Tick {
        name: recording.meta.arm.as_ref().map_or(&recording.meta.name, |arm| &arm.setting).clone(),
        hz,
        lost: [mean, ends[0], ends[1]],
        instructions: mean * 1e9 / hz / instruction,
        mips: 1e3 / instruction,
        cost: cost(recording),
        kernel: recording
            .environment()
            .and_then(|facts| facts.get("guest.kernel"))
            .map_or_else(String::new, |kernel| {
                kernel.split(':').filter(|part| !part.starts_with("hz=")).collect::<Vec<_>>().join(":")
            }),
    })
}

/// What a tick takes, what more of them take, and what that makes of an operation: the answer to the question of HZ, from
/// the first setting and those that differ from it in HZ alone. `changes` are those of the operations' mean costs, for each
/// setting after the first.
pub(crate) fn answer(recordings: &[Recording], changes: &[Vec<f64>]) -> String {
    let ticks: Vec<Option<Tick>> = recordings.iter().map(tick).collect();
    let mut out = String::new();
    let Some((Some(base), others)) = ticks.split_first() else { return out };
    let others = others.iter().zip(changes).filter_map(|(tick, changes)| Some((tick.as_ref()?, changes)));
    for (other, changes) in others.filter(|(other, _)| other.differs_in_hz_alone(base)) {
        let cost = base.cost.unwrap_or(base.lost[0] / base.hz * 1e9);
        let (before, after) = (base.lost[0], other.lost[0]);
        let longer = (1.0 - before) / (1.0 - after) - 1.0;
        let _ = writeln!(
            out,
            "One tick takes {:.1} us at {} MIPS ({:.0} instructions). HZ {} instead of {} makes {:+.0} a second:\n\
             the processor loses {:.3} % instead of {:.3} %, {:+.2} points.",
            cost / 1e3,
            base.mips,
            cost * base.mips / 1e3,
            other.hz,
            base.hz,
            other.hz - base.hz,
            after * 100.0,
            before * 100.0,
            (after - before) * 100.0,
        );
        let _ = writeln!(
            out,
            "The time of an operation changes by {:+.2} %: it gets {:.3} of the processor instead of {:.3}, and\n\
             {:.3} / {:.3} = {:.4}.{}",
            longer * 100.0,
            1.0 - after,
            1.0 - before,
            1.0 - before,
            1.0 - after,
            1.0 + longer,
            median(changes.iter().copied()).map_or_else(String::new, |middle| format!(
                " Measured: {:+.2} % (median of {} operations).",
                middle * 100.0,
                changes.len()
            )),
        );
    }
    out
}

/// What each setting loses to its tick, and the loss that the first one's cost of a tick predicts for those that differ from it
/// in HZ alone.
pub(crate) fn prediction(recordings: &[Recording]) -> String {
    let ticks: Vec<Tick> = recordings.iter().filter_map(tick).collect();
    let mut out = String::new();
    let Some(base) = ticks.first() else { return out };
    let _ = writeln!(out, "\nThe tick: cost x HZ");
    for tick in &ticks {
        let [lost, least, most] = tick.lost.map(|share| share * 100.0);
        let micros = tick.instructions / tick.mips;
        let _ = writeln!(
            out,
            "  {}: lost {lost:.3} % ({least:.3} to {most:.3} over phases), by that {:.0} instructions a tick, {micros:.1} us at {} MIPS{}",
            tick.name,
            tick.instructions,
            tick.mips,
            tick.cost.map_or_else(String::new, |cost| {
                format!("; seen as a gap: {:.0} instructions, {:.1} us", cost * tick.mips / 1e3, cost / 1e3)
            })
        );
    }
    // A tick takes so many seconds, as often as HZ says.
    let (how, cost) = match base.cost {
        Some(cost) => ("one tick as a gap", cost),
        None => ("the share that was lost", base.lost[0] / base.hz * 1e9),
    };
    let instructions = cost * base.mips / 1e3;
    for tick in ticks.iter().skip(1).filter(|tick| tick.differs_in_hz_alone(base)) {
        let predicted = cost / 1e9 * tick.hz;
        let off = (predicted / tick.lost[0] - 1.0) * 100.0;
        let _ = writeln!(
            out,
            "  from HZ {} ({how}) predicted for HZ {}: {:.3} %, measured {:.3} %: {off:+.1} % off",
            base.hz,
            tick.hz,
            predicted * 100.0,
            tick.lost[0] * 100.0
        );
        for mips in MIPS {
            let at = |hz: f64| instructions / (mips * 1e6) * hz * 100.0;
            let _ = writeln!(
                out,
                "  the same {:.0} instructions at {mips} MIPS: {:.1} us a tick, {:.2} % at HZ {}, {:.2} % at HZ {}",
                instructions,
                instructions / mips,
                at(base.hz),
                base.hz,
                at(tick.hz),
                tick.hz
            );
        }
    }
    if !ticks.is_empty() {
        let _ = writeln!(
            out,
            "  the document: 50 us a tick at 50 MHz, 0.5 and 5 %; 10 us at 400 MHz, 0.1 and 1 %"
        );
    }
    out
}

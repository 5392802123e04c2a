//! What the cost of one tick says of another HZ.

use super::exact;
use crate::report;
use crate::store::Recording;
use std::fmt::Write;

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
    })
}

/// What each setting loses to its tick, and the loss that the first one's cost of a tick foretells of the others.
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
            "  {}: HZ {}, lost {lost:.3} % ({least:.3} to {most:.3} over phases), {:.0} instructions a tick, {micros:.1} us at {} MIPS",
            tick.name, tick.hz, tick.instructions, tick.mips
        );
    }
    for tick in ticks.iter().skip(1).filter(|tick| (tick.hz - base.hz).abs() > 0.5) {
        let foretold = base.lost[0] * tick.hz / base.hz;
        let off = (foretold / tick.lost[0] - 1.0) * 100.0;
        let _ = writeln!(
            out,
            "  from HZ {} foretold for HZ {}: {:.3} %, measured {:.3} % ({off:+.1} % of it)",
            base.hz,
            tick.hz,
            foretold * 100.0,
            tick.lost[0] * 100.0
        );
        for mips in MIPS {
            // A tick takes so many seconds, as often as HZ says.
            let at = |hz: f64| base.instructions / (mips * 1e6) * hz * 100.0;
            let _ = writeln!(
                out,
                "  the same {:.0} instructions at {mips} MIPS: {:.1} us a tick, {:.2} % at HZ {}, {:.2} % at HZ {}",
                base.instructions,
                base.instructions / mips,
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

//! Prediction for another HZ from the cost of one tick.

use std::fmt::Write;
use tickmark_analysis::hz::Tick;
use tickmark_stats::median;

/// The processors of "Comparing Performance 100 Hz versus 1000 Hz Clock Tick" (Denk, 2005), in million cycles a second, which
/// it takes for instructions.
const MIPS: [f64; 2] = [50.0, 400.0];

/// Answer to the question of HZ: the cost of a tick, of more of them, and of an operation beside them, from the first setting and those
/// that differ from it in HZ alone. `changes` are those of the operations' mean costs, for each setting after the first.
#[must_use]
pub fn answer(ticks: &[Option<Tick>], changes: &[Vec<f64>]) -> String {
    let mut out = String::new();
    let Some((Some(base), others)) = ticks.split_first() else { return out };
    let others = others.iter().zip(changes).filter_map(|(tick, changes)| Some((tick.as_ref()?, changes)));
    for (other, changes) in others.filter(|(other, _)| other.differs_in_hz_alone(base)) {
        let (before, after, longer) = (base.lost[0], other.lost[0], other.longer_than(base));
        let _ = writeln!(
            out,
            "One tick takes {:.1} us at {} MIPS ({:.0} instructions). HZ {} instead of {} is {:+.0} ticks/s;\n\
             CPU time lost: {:.3} % instead of {:.3} %, {:+.2} points.",
            base.one() / 1e3,
            base.mips,
            base.one_in_instructions(),
            other.hz,
            base.hz,
            other.hz - base.hz,
            after * 100.0,
            before * 100.0,
            (after - before) * 100.0,
        );
        let _ = writeln!(
            out,
            "Expected time per operation: {:+.2} %, as it gets {:.3} of the CPU time instead of {:.3}, and\n\
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

/// Loss of each setting to its tick, and the loss that the first one's cost of a tick predicts for those that differ from it in HZ alone.
#[must_use]
pub fn prediction(ticks: &[Option<Tick>]) -> String {
    let ticks: Vec<&Tick> = ticks.iter().flatten().collect();
    let mut out = String::new();
    let Some(base) = ticks.first() else { return out };
    let _ = writeln!(out, "\nThe tick: cost x HZ");
    for tick in &ticks {
        let [lost, least, most] = tick.lost.map(|share| share * 100.0);
        let micros = tick.instructions / tick.mips;
        let _ = writeln!(
            out,
            "  {}: lost {lost:.3} % ({least:.3} to {most:.3} over phases), that is {:.0} instructions a tick, {micros:.1} us at {} MIPS{}",
            tick.name,
            tick.instructions,
            tick.mips,
            tick.cost.map_or_else(String::new, |cost| {
                format!(
                    "; measured as a gap: {:.0} instructions, {:.1} us",
                    cost * tick.mips / 1e3,
                    cost / 1e3
                )
            })
        );
    }
    let how = if base.cost.is_some() { "one tick measured as a gap" } else { "the share that was lost" };
    for tick in ticks.iter().skip(1).filter(|tick| tick.differs_in_hz_alone(base)) {
        let predicted = base.predicted(tick.hz, base.mips);
        let off = (predicted / tick.lost[0] - 1.0) * 100.0;
        let _ = writeln!(
            out,
            "  predicted for HZ {} from HZ {} ({how}): {:.3} %, measured {:.3} %: {off:+.1} % off",
            tick.hz,
            base.hz,
            predicted * 100.0,
            tick.lost[0] * 100.0
        );
        for mips in MIPS {
            let at = |hz: f64| base.predicted(hz, mips) * 100.0;
            let instructions = base.one_in_instructions();
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

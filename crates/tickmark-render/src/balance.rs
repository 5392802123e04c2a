//! Both sides of HZ for one command, as text and as JSON.

use crate::grid::lines;
use crate::number::{count, value};
use std::fmt::Write;
use tickmark_analysis::balance::{Balanced, Judged, Level, Prefers};
use tickmark_analysis::report::Unit;

/// Costs that guests of one CPU that count instructions leave out.
const MODEL: &str = "The guests have one CPU and count instructions: caches, other CPUs and the balancing between them, and the latency of real \
                     devices are not in these figures.\n";

/// A table of the rates, and what they say. `name` is of the command and where it ran.
#[must_use]
pub fn text(of: &Balanced, name: &str, margin: f64) -> String {
    let mut out = format!("{name}: {} of the tick\n\n", count(of.levels.len() as u32, "rate"));
    let curve = of
        .judged
        .and_then(|judged| judged.curve)
        .filter(|curve| curve.per_hz >= 0.0 && curve.by_period >= 0.0);
    let mut heading = vec!["HZ", "boots", if of.is_number { "number" } else { "time" }, "to the best"];
    if curve.is_some() {
        heading.extend(["its ticks", "its waits for ticks"]);
    }
    let best = of.levels.iter().map(|level| level.cost).fold(f64::MAX, f64::min);
    let row = |level: &Level| {
        let boots = match (level.values.len(), level.planned) {
            (made, planned) if made == planned => made.to_string(),
            (made, planned) => format!("{made} of {planned}"),
        };
        let more = Some((level.cost / best - 1.0) * 100.0).filter(|more| more.is_finite());
        let more = more.map_or_else(|| "-".to_owned(), |more| format!("{more:+.2} %"));
        let mut cells = vec![level.hz.to_string(), boots, mean(of, level), more];
        if let Some(curve) = curve {
            let share = |part: f64| format!("{:.2} %", part / curve.at(level.hz) * 100.0);
            cells.extend([share(curve.per_hz * level.hz), share(curve.by_period / level.hz)]);
        }
        cells
    };
    let heading = heading.into_iter().map(str::to_owned).collect();
    for line in lines(std::iter::once(heading).chain(of.levels.iter().map(row)), 0..6) {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(out, "\n{}", sentence(of, margin));
    if let (Some(judged), true) = (of.judged, curve.is_some()) {
        let _ = writeln!(
            out,
            "Ticks and waits are the parts b HZ and c / HZ of the curve a + b HZ + c / HZ, which misses these rates by {:.2} % at most.",
            judged.misfit * 100.0
        );
    }
    out += if of.counted { MODEL } else { "" };
    out
}

fn mean(of: &Balanced, level: &Level) -> String {
    if level.values.is_empty() {
        return "-".to_owned();
    }
    let unit = if of.is_number { Unit::Count } else { Unit::Nanoseconds };
    let mean = level.values.iter().sum::<f64>() / level.values.len() as f64;
    // As many digits as tell a hundredth of a per cent.
    value(mean, Some(mean.abs() * 1e-4), unit)
}

/// Which rate is best, in a sentence.
pub(crate) fn sentence(of: &Balanced, margin: f64) -> String {
    let Some(Judged { range, p, prefers, .. }) = of.judged else {
        return match of.missing() {
            0 => "Which HZ is best cannot be told: a value is not above zero.".to_owned(),
            missing => format!(
                "Which HZ is best cannot be told: {} gave no figure, which may be for its HZ.",
                count(missing as u32, "boot")
            ),
        };
    };
    let rates = format!("{:.2} %", range * 100.0);
    match prefers {
        Prefers::Neither => format!(
            "HZ does not matter to it: the best and the worst of these rates differ by {rates}, less than the margin of {:.2} %.",
            margin * 100.0
        ),
        Prefers::Unknown => format!(
            "These boots do not tell which HZ is best for it: the rates differ by {rates} (p = {p:.2}). More boots (--blocks) may."
        ),
        Prefers::Rate(hz, interval) => {
            let lies = interval.filter(|i| i.high - i.low > 0.5);
            let lies = lies.map_or(String::new(), |i| format!(" (95 %: {:.0} to {:.0})", i.low, i.high));
            let tried = of.levels.iter().any(|level| level.hz == hz);
            let ends = [of.levels.first(), of.levels.last()].map(|level| level.map(|level| level.hz));
            let which = match () {
                () if ends[0] == Some(hz) => {
                    "the least that was tried: finer ticks cost it more than they save"
                }
                () if ends[1] == Some(hz) => {
                    "the greatest that was tried: finer ticks save it more than they cost"
                }
                () if tried => "of those that were tried",
                () => "where one more tick costs it as much as it saves",
            };
            format!(
                "HZ {hz:.0}{lies} is best for it, {which}. The worst of these rates takes {rates} more than the best (p = {p:.4})."
            )
        }
    }
}

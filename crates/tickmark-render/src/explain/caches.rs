//! What simulated caches add to the effect of a setting.

use super::instructions;
use crate::grid::{fitting_table, hanging};
use crate::number::change;
use std::fmt::Write;
use tickmark_analysis::explain::CacheEffect;

/// Cycles of a miss for which a time is said: nobody measured the board's.
const CYCLES: f64 = 10.0;

/// Effects by operation, each with the document's change as a share, where it has one; nothing where there are none.
#[must_use]
pub fn cache_effects(title: &str, effects: &[(CacheEffect, Option<f64>)]) -> String {
    if effects.is_empty() {
        return String::new();
    }
    let mut out = format!("{title}\n");
    let at = format!("at {CYCLES:.0} cycles");
    let heading = ["operation", "counts", "misses in 1,000", &at, "document", "needs"];
    let changed = |share: f64| change(1.0 + share, 1);
    let row = |(effect, document): &(CacheEffect, Option<f64>)| {
        let [before, after] = effect.misses_per_thousand();
        let needs = |change: &f64| effect.cycles_for(*change).map_or("no cost does".to_owned(), instructions);
        vec![
            effect.metric.clone(),
            changed(effect.change(0.0)),
            format!("{before:.1} to {after:.1}"),
            changed(effect.change(CYCLES)),
            document.map_or("-".to_owned(), changed),
            document.as_ref().map_or("-".to_owned(), needs),
        ]
    };
    let rows = std::iter::once(heading.map(str::to_owned).to_vec()).chain(effects.iter().map(row));
    fitting_table(&mut out, &rows.collect::<Vec<_>>(), &[1, 2, 3, 4, 5], &[2]);
    let legend = format!(
        "counts: by instructions alone. at {CYCLES:.0} cycles: an instruction takes a cycle, and a miss {CYCLES:.0} more. needs: the cycles of a miss that would make the document's change of these counts; what one took on its board is not known."
    );
    let _ = writeln!(out, "{}", hanging(&legend));
    out
}

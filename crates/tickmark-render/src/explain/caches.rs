//! What simulated caches add to the effect of a setting.

use super::instructions;
use crate::fold::hanging;
use crate::grid::fitting_table;
use crate::number::change;
use std::fmt::Write;
use tickmark_analysis::explain::CacheEffect;

/// Cycles of a miss for which a time is said: nobody measured the board's.
const CYCLES: f64 = 10.0;

/// The change of an operation in a document.
#[derive(Debug, Clone, Copy)]
pub struct DocumentChange {
    /// As a share.
    pub change: f64,
    /// True if the document's own runs tell it from noise.
    pub decided: bool,
}

/// Effects by operation, each with the document's change, where it has one of the same figure; nothing where there are no effects.
#[must_use]
pub fn cache_effects(title: &str, effects: &[(CacheEffect, Option<DocumentChange>)]) -> String {
    if effects.is_empty() {
        return String::new();
    }
    let mut out = format!("{title}\n");
    let has_document = effects.iter().any(|(_, document)| document.is_some());
    let at = format!("at {CYCLES:.0} cycles");
    let mut heading = vec!["operation", "counted", "misses in 1,000", &at];
    if has_document {
        heading.extend(["document", "cycles a miss"]);
    }
    let changed = |share: f64| change(1.0 + share, 1);
    let row = |(effect, document): &(CacheEffect, Option<DocumentChange>)| {
        let [before, after] = effect.misses_per_thousand();
        let mut row = vec![
            effect.metric.clone(),
            changed(effect.change(0.0)),
            format!("{before:.1} to {after:.1}"),
            changed(effect.change(CYCLES)),
        ];
        if has_document {
            let needs = |document: &DocumentChange| match effect.cycles_for(document.change) {
                _ if !document.decided => "noise".to_owned(),
                None => "none".to_owned(),
                Some(cycles) => instructions(cycles),
            };
            row.push(document.map_or("-".to_owned(), |document| changed(document.change)));
            row.push(document.as_ref().map_or("-".to_owned(), needs));
        }
        row
    };
    let rows = std::iter::once(heading.iter().map(|&head| head.to_owned()).collect());
    let rows: Vec<Vec<String>> = rows.chain(effects.iter().map(row)).collect();
    fitting_table(&mut out, &rows, &[1, 2, 3, 4, 5], &[2]);
    let mut legend = format!(
        "Of one boot of each setting. counted: instructions alone. at {CYCLES:.0} cycles: an instruction takes one cycle, and a miss {CYCLES:.0} more."
    );
    if has_document {
        legend += " cycles a miss: those with which these counts give the document's change (none: no number of them does; noise: its own runs do not tell its change). What a miss took on its board is not known.";
    }
    let _ = writeln!(out, "{}", hanging(&legend));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_the_document_cannot_tell_needs_no_cost() {
        let effect = |metric: &str| CacheEffect {
            metric: metric.to_owned(),
            instructions: [1000.0, 1040.0],
            misses: [10.0, 14.0],
            is_whole_figure: true,
        };
        let document = |change, decided| Some(DocumentChange { change, decided });
        let all = [
            (effect("a"), document(80.0 / 1100.0, true)),
            (effect("b"), document(-0.06, true)),
            (effect("c"), document(-0.06, false)),
            (effect("d"), None),
        ];
        let text = cache_effects("Title", &all);
        let last = |metric: &str| {
            let line = text.lines().find(|line| line.starts_with(metric)).unwrap();
            line.split_whitespace().last().unwrap().to_owned()
        };
        assert_eq!(["a", "b", "c", "d"].map(last), ["10.0", "none", "noise", "-"], "{text}");
        assert!(!cache_effects("Title", &all[3..]).contains("document"));
        assert_eq!(cache_effects("Title", &[]), "");
    }
}

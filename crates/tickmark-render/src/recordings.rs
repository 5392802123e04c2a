//! The recordings of a store, as a table.

use crate::grid::fitting_table;
use tickmark_store::Entry;

const HEADS: [&str; 8] =
    ["id", "created (UTC)", "name", "metrics", "runs", "state", "system", "clock source"];

/// A row for each; of columns that have no room first the clock source is left out.
#[must_use]
pub fn text(entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        let state = match entry.complete {
            _ if entry.failed() => "failed",
            true if entry.runs_done == entry.runs_planned => "complete",
            // An experiment that needed no more blocks.
            true => "ended",
            false => "open",
        };
        let system: Vec<&str> = entry.system.iter().chain(&entry.kernel).map(String::as_str).collect();
        vec![
            entry.id.to_string(),
            entry.created.strftime("%Y-%m-%d %H:%M").to_string(),
            entry.name.clone(),
            entry.metrics.to_string(),
            format!("{} of {}", entry.runs_done, entry.runs_planned),
            state.to_owned(),
            if system.is_empty() { "unknown".to_owned() } else { system.join(" ") },
            entry.clock_source.clone().unwrap_or_else(|| "unknown".to_owned()),
        ]
    };
    let rows: Vec<Vec<String>> =
        std::iter::once(HEADS.map(str::to_owned).to_vec()).chain(entries.iter().map(row)).collect();
    let mut out = String::new();
    fitting_table(&mut out, &rows, &[3, 4], &[7, 3, 6, 4]);
    out
}

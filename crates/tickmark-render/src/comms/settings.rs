//! Whether a setting of messages matters.

use super::HEADING;
use crate::fold::wrapped;
use crate::grid::lines;
use crate::number::bytes;
use std::fmt::Write;
use tickmark_analysis::comms::Contrast;
use tickmark_stats::verdict::Verdict;

/// In words; for times less is better.
pub(crate) fn verdict(contrast: &Contrast) -> String {
    let up = contrast.comparison.change().0.is_some_and(|ratio| ratio > 1.0);
    let way = if up { "slower" } else { "faster" };
    match contrast.comparison.verdict {
        Verdict::Beyond => format!("{way}, beyond 1 %"),
        Verdict::Changed => way.to_owned(),
        Verdict::BelowMargin => format!("{way}, by less than 1 %"),
        Verdict::Equivalent => "equivalent within 1 %".to_owned(),
        Verdict::Undecided { needed: Some(needed) } => {
            format!("undecided; about {needed} runs would decide")
        }
        Verdict::Undecided { needed: None } => "undecided".to_owned(),
    }
}

/// A table for each pair of benchmarks.
pub(super) fn table(out: &mut String, all: &[Contrast]) {
    for pair in all.chunk_by(|a, b| (&a.title, a.setting, &a.values) == (&b.title, b.setting, &b.values)) {
        let first = &pair[0];
        let _ = writeln!(
            out,
            "{HEADING}{} {} against {}{HEADING:#}, that of {}; {} runs in pairs",
            first.setting, first.values[1], first.values[0], first.title, first.launches
        );
        let row = |contrast: &Contrast| {
            let (ratio, interval) = contrast.comparison.change();
            let times = |ratio: f64| format!("{ratio:.3}");
            let none = || "-".to_owned();
            let range = interval.map_or_else(none, |i| format!("{} to {}", times(i.low), times(i.high)));
            vec![
                format!("{}, {}", bytes(contrast.size as f64), contrast.figure),
                ratio.map_or_else(none, times),
                range,
                verdict(contrast),
            ]
        };
        let heading = ["round trip", "times", "95 %", "verdict"].map(str::to_owned).to_vec();
        for line in lines(std::iter::once(heading).chain(pair.iter().map(row)), 1..3) {
            let _ = writeln!(out, "{line}");
        }
        let _ = writeln!(out);
    }
    if !all.is_empty() {
        let note = format!(
            "times: the second setting's round trip over the first one's, by runs of the same round; verdicts hold together for all {} of them at 95 %.",
            all.len()
        );
        let _ = writeln!(out, "{}\n", wrapped(&note, 0).join("\n"));
    }
}

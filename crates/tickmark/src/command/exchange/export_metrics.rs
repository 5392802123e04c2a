//! A recording's figures as OpenMetrics text: one gauge, a sample for each metric.

use std::fmt::Write;
use tickmark_analysis::report::{self, RowStatus};
use tickmark_store::Recording;

/// The text of an exposition (OpenMetrics 1.0): times in seconds, everything else in its own unit.
pub(in crate::command) fn text(recording: &Recording) -> String {
    let mut out = String::from(
        "# TYPE tickmark_figure gauge\n# HELP tickmark_figure The median of a metric's runs; of times in seconds.\n",
    );
    let mut ends = String::from(
        "# TYPE tickmark_figure_interval gauge\n# HELP tickmark_figure_interval The ends of its interval.\n",
    );
    for (group, rows) in report::rows_of(recording, &|_| true) {
        for row in rows.iter().filter(|row| matches!(row.status, RowStatus::Ok | RowStatus::Partly)) {
            let Some(value) = row.value else { continue };
            let is_time = row.unit == report::Unit::Nanoseconds;
            let of = |number: f64| if is_time { number / 1e9 } else { number };
            let unit = if is_time { "s".to_owned() } else { word(&row.unit) };
            let (metric, suite) = (escaped(&row.metric), escaped(&word(&group)));
            let labels = format!("metric=\"{metric}\",suite=\"{suite}\",unit=\"{}\"", escaped(&unit));
            let _ = writeln!(out, "tickmark_figure{{{labels}}} {}", of(value.point));
            for (end, number) in [("low", value.interval.low), ("high", value.interval.high)] {
                let _ = writeln!(ends, "tickmark_figure_interval{{{labels},end=\"{end}\"}} {}", of(number));
            }
        }
    }
    let facts = ["host.name", "kernel.release", "clock.source"].map(|name| {
        let value = recording.environment().and_then(|facts| facts.get(name)).unwrap_or_default();
        format!("{}=\"{}\"", name.replace('.', "_"), escaped(value))
    });
    let created = recording.meta.created.as_millisecond() as f64 / 1e3;
    out + &ends
        + &format!(
            "# TYPE tickmark_recording info\n# HELP tickmark_recording What was measured.\ntickmark_recording_info{{recording=\"{}\",{}}} 1\n\
             # TYPE tickmark_recording_created_seconds gauge\ntickmark_recording_created_seconds {created}\n# EOF\n",
            recording.meta.id.as_str(),
            facts.join(",")
        )
}

/// As it is written in JSON.
fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A label's value: backslash, quote and line feed are escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

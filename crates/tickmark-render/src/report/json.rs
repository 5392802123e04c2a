//! The model as JSON: one object with header, rows, findings.

use super::text::fact;
use crate::{finding, reason};
use serde_json::{Value, json};
use tickmark_analysis::report::{Finding, Mark, Model, Row};

/// The whole model.
#[must_use]
pub fn render(model: &Model) -> Value {
    let rows: Vec<Value> = model
        .groups
        .iter()
        .flat_map(|(group, rows)| rows.iter().map(move |row| self::row(group.suite(), row)))
        .collect();
    let findings = model.findings.iter().map(|one| {
        let mut value = serde_json::to_value(one).unwrap_or_default();
        value["text"] = json!(finding::text(one));
        match one {
            Finding::Unsupported { why, .. } | Finding::Failed { why, .. } => {
                value["why"] = json!(why.as_ref().map(mark));
            }
            Finding::Incomplete { elsewhere, .. } => {
                value["elsewhere"] = json!(elsewhere.as_ref().map(reason::elsewhere));
            }
            _ => {}
        }
        value
    });
    let environment: serde_json::Map<String, Value> = model
        .environment
        .iter()
        .map(|known| {
            let (name, value, source) = fact(known);
            (name, json!({ "value": value, "source": source }))
        })
        .collect();
    json!({
        "recording": model.header,
        "rows": rows,
        "details": model.details,
        "findings": findings.collect::<Vec<_>>(),
        "environment": environment,
    })
}

fn row(group: &str, row: &Row) -> Value {
    let interval = row.value.map(|value| json!([value.interval.low, value.interval.high]));
    let mut out = json!({
        "metric": row.metric,
        "title": row.title.trim(),
        "group": group,
        "unit": row.unit,
        "better": row.better,
        "status": row.status,
        "value": row.value.map(|value| value.point),
        "interval": interval,
        "confidence": row.value.map(|value| value.confidence),
        "cv": row.cv(),
        "mean": row.mean,
        "cpu": row.cpu,
        "runs": row.runs,
        "disturbed_share": row.disturbed,
        "contended_share": row.contended,
        "contended_runs": row.contended_runs,
        "excluded": {
            "syn_retransmits": row.apart.retransmits,
            "preempted_batches": row.apart.slices,
            "reclaimed_pages": row.apart.reclaimed,
        },
        "marks": row.marks.iter().chain(&row.floor_marks).map(mark).collect::<Vec<_>>(),
        "notes": reason::all(row, reason::UsualCaveats::default()),
    });
    if let Some(instructions) = row.instructions {
        out["instructions"] = json!(instructions);
    }
    if let Some(frequency) = row.frequency {
        out["frequency_hz"] = json!(frequency);
    }
    out
}

/// A mark: its kind for programs, its text for people.
pub(crate) fn mark(mark: &Mark) -> Value {
    json!({ "mark": mark.code(), "text": reason::mark(mark) })
}

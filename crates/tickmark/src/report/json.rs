//! The model as JSON: one object with header, rows, remarks.

use super::model::Model;
use super::row::Row;
use serde_json::{Value, json};

/// The whole model.
pub(crate) fn render(model: &Model) -> Value {
    let rows: Vec<Value> = model
        .groups
        .iter()
        .flat_map(|(group, rows)| rows.iter().map(move |row| self::row(group.suite(), row)))
        .collect();
    let remarks: Vec<Value> = model
        .remarks
        .iter()
        .map(|remark| {
            let mut value = serde_json::to_value(remark).unwrap_or_default();
            value["text"] = json!(remark.to_string());
            value
        })
        .collect();
    let environment: serde_json::Map<String, Value> = model
        .environment
        .iter()
        .map(|(name, value, source)| (name.clone(), json!({ "value": value, "source": source })))
        .collect();
    json!({
        "recording": model.header,
        "rows": rows,
        "details": model.details,
        "remarks": remarks,
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
        "spread": row.spread(),
        "mean": row.mean,
        "cpu": row.cpu,
        "runs": row.runs,
        "disturbed_share": row.disturbed,
        "contended_share": row.contended,
        "contended_runs": row.contended_runs,
        "counted_apart": {
            "syn_retransmits": row.apart.retransmits,
            "lost_slices": row.apart.slices,
            "reclaimed_pages": row.apart.reclaimed,
        },
        "marks": row.marks.iter().chain(&row.floor_marks).collect::<Vec<_>>(),
        "notes": row.remarks(),
    });
    if let Some(instructions) = row.instructions {
        out["instructions"] = json!(instructions);
    }
    if let Some(frequency) = row.frequency {
        out["frequency_hz"] = json!(frequency);
    }
    out
}

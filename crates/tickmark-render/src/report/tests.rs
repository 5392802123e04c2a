//! The report of a fixed recording, as text and as JSON.

use super::{json, text};
use std::fs;
use std::path::Path;
use tickmark_analysis::report;
use tickmark_store::Recording;

fn fixture() -> Recording {
    of_format("1.0")
}

fn of_format(version: &str) -> Recording {
    let folder = format!("{}/../../fixtures/format-{version}", env!("CARGO_MANIFEST_DIR"));
    tickmark_store::load(folder.as_ref()).unwrap()
}

/// Curves, bandwidths, modes counted apart, and a level that lacks.
#[test]
fn text_of_a_recording_of_format_1_1() {
    let recording = of_format("1.1");
    let model = report::build(&recording, &|_| true, false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, false)).to_string());
    let page = tickmark_analysis::lmbench::page(&[(&recording, &model)], &[], false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&crate::lmbench::text(&page, "")).to_string());
}

#[test]
fn a_curve_in_detail() {
    let model = report::build(&of_format("1.1"), &|m| m.name.as_str() == "memory.latency.random", true);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, false)).to_string());
}

#[test]
fn text_of_a_recording() {
    let model = report::build(&fixture(), &|_| true, false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, false)).to_string());
}

#[test]
fn text_of_one_metric_in_detail() {
    let model = report::build(&fixture(), &|m| m.name.as_str() == "timer.clock_nanosleep.late", true);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, false)).to_string());
}

#[test]
fn json_rows_carry_what_they_promise() {
    let model = report::build(&fixture(), &|_| true, false);
    let value = json(&model);
    let rows = value["rows"].as_array().unwrap();
    for row in rows {
        let keys = ["metric", "unit", "better", "value", "interval", "runs", "disturbed_share", "status"];
        for key in keys {
            assert!(row.get(key).is_some(), "{row} has no {key}");
        }
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&value["rows"]).unwrap());
}

#[test]
fn text_and_json_agree() {
    let model = report::build(&fixture(), &|_| true, false);
    // Wrapped or not, the words are the same.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = words(&text(&model, false));
    let value = json(&model);
    for finding in value["findings"].as_array().unwrap() {
        assert!(shown.contains(&words(finding["text"].as_str().unwrap())));
    }
    for row in value["rows"].as_array().unwrap() {
        assert!(shown.contains(&words(row["title"].as_str().unwrap())), "{row}");
    }
}

/// Value and mean of each row, by metric.
fn figures(recording: &Recording) -> Vec<(String, Option<f64>, Option<f64>)> {
    let model = report::build(recording, &|_| true, false);
    let rows = model.groups.into_iter().flat_map(|(_, rows)| rows);
    rows.map(|row| (row.metric, row.value.map(|value| value.point), row.mean)).collect()
}

/// What a program of later may write: more fields, more kinds of events, in a minor version that does not exist.
#[test]
fn a_recording_of_a_later_minor_version_gives_the_same_figures() {
    let folder = tempfile::tempdir().unwrap();
    let from = format!("{}/../../fixtures/format-1.1", env!("CARGO_MANIFEST_DIR"));
    let copy = folder.path();
    for file in ["meta.json", "events.jsonl"] {
        fs::copy(Path::new(&from).join(file), copy.join(file)).unwrap();
    }
    let before = figures(&tickmark_store::load(copy).unwrap());
    assert!(before.iter().any(|(_, value, _)| value.is_some()));
    let text = fs::read_to_string(copy.join("meta.json")).unwrap();
    let mut meta: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(meta["format"]["minor"], 1);
    meta["format"]["minor"] = 99.into();
    meta["invented"] = serde_json::json!({ "by": "later" });
    meta["plan"]["metrics"][0]["invented"] = 7.into();
    fs::write(copy.join("meta.json"), meta.to_string()).unwrap();
    let mut lines = String::new();
    for line in fs::read_to_string(copy.join("events.jsonl")).unwrap().lines() {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        for body in event.as_object_mut().unwrap().values_mut().filter_map(|body| body.as_object_mut()) {
            body.insert("invented".to_owned(), "later".into());
        }
        lines += &format!("{event}\n{{\"invented_later\":{{\"a\":1}}}}\n");
    }
    fs::write(copy.join("events.jsonl"), lines).unwrap();
    let recording = tickmark_store::load(copy).unwrap();
    assert_eq!(figures(&recording), before);
    let warnings = recording.warnings;
    assert!(
        warnings.iter().all(|line| line.contains("invented_later") && line.contains("kept")),
        "{warnings:?}"
    );
}

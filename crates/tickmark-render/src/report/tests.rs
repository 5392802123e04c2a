//! The report of a fixed recording, as text and as JSON.

use super::{ShownRows, text};
use crate::json::{Report, value as json};
use std::fs;
use std::path::Path;
use tickmark_analysis::report::{self, Mark};
use tickmark_store::{Recording, Run, Status};

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
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, ShownRows::Rows)).to_string());
    let page = tickmark_analysis::lmbench::page(&[(&recording, &model)], &[], false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&crate::lmbench::text(&page, "")).to_string());
}

/// Also the sentences below the tables: a terminal of 80 columns breaks none of them anew.
#[test]
fn no_line_of_a_recording_is_wider_than_a_terminal() {
    for recording in [of_format("1.1"), of_format("1.4"), of_format("1.5"), fixture()] {
        let page = text(&report::build(&recording, &|_| true, false), ShownRows::Rows);
        let page = anstream::adapter::strip_str(&page).to_string();
        let wide: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}

/// Rings of which each was a probe, and parts without their list.
#[test]
fn text_of_a_recording_of_format_1_4() {
    let model = report::build(&of_format("1.4"), &|_| true, false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, ShownRows::Rows)).to_string());
}

/// Arguments, several metrics of a run, a histogram, windows.
#[test]
fn text_of_a_recording_of_format_1_5() {
    let model = report::build(&of_format("1.5"), &|_| true, false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, ShownRows::Rows)).to_string());
}

#[test]
fn a_curve_in_detail() {
    let model = report::build(&of_format("1.1"), &|m| m.name.as_str() == "memory.latency.random", true);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, ShownRows::Rows)).to_string());
}

#[test]
fn text_of_a_recording() {
    let model = report::build(&fixture(), &|_| true, false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, ShownRows::Rows)).to_string());
}

#[test]
fn text_of_one_metric_in_detail() {
    let model = report::build(&fixture(), &|m| m.name.as_str() == "timer.clock_nanosleep.late", true);
    insta::assert_snapshot!(anstream::adapter::strip_str(&text(&model, ShownRows::Rows)).to_string());
}

#[test]
fn json_rows_carry_what_they_promise() {
    let model = report::build(&fixture(), &|_| true, false);
    let value = json(&Report::new(&model));
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
    let shown = words(&text(&model, ShownRows::Rows));
    let value = json(&Report::new(&model));
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

/// A line of observations of a metric in a run.
fn observed(run: u64, metric: &str, part: &str, observations: &serde_json::Value) -> String {
    let body =
        serde_json::json!({ "run": run, "metric": metric, "part": part, "observations": observations });
    format!("{}\n", serde_json::json!({ "observed": body }))
}

/// A recording of a later program with unknown words in its metrics keeps and names them.
#[test]
fn words_of_a_later_minor_version_are_kept_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let metric = |name: &str, group: &str, unit: &str, headline: &str| serde_json::json!({ "name": name, "title": name, "group": group, "unit": unit, "better": "rounder", "headline": headline });
    let metrics = [
        metric("a.known", "clock", "time", "median"),
        metric("a.unit", "quantum", "parsec", "median"),
        metric("a.headline", "clock", "time", "golden_mean"),
        metric("a.kind", "clock", "time", "median"),
        metric("a.part", "clock", "time", "floor"),
    ];
    let run = |id: usize, probe: &serde_json::Value| serde_json::json!({ "id": id, "round": 1, "probe": probe["name"], "budget": 1, "padding": 0, "mood": "good" });
    let runs: Vec<_> = metrics.iter().enumerate().map(|(id, metric)| run(id, metric)).collect();
    let settings = serde_json::json!({ "cpu": null, "priority": { "deadline": 5 }, "priority_optional": false, "slack": null });
    let meta = serde_json::json!({
        "format": { "major": 1, "minor": 99 }, "id": "later", "name": "later", "created": "2027-01-01T00:00:00Z",
        "program": "tickmark 9", "plan": { "settings": settings, "metrics": metrics, "runs": runs },
    });
    fs::write(folder.path().join("meta.json"), meta.to_string()).unwrap();
    let late = serde_json::json!({ "latencies": [7, 7, 7] });
    let batches = serde_json::json!({ "batches": { "start": [0], "elapsed": [5], "iterations": 1 } });
    let mut lines = observed(0, "a.known", "whole", &late)
        + &observed(1, "a.unit", "whole", &late)
        + &observed(2, "a.headline", "whole", &late)
        + &observed(3, "a.kind", "whole", &serde_json::json!({ "spectrum": { "peaks": [1] } }))
        + &observed(4, "a.part", "whole", &batches)
        + &observed(4, "a.part", "squared", &batches);
    let instrument = serde_json::json!({ "clock": "sundial", "precision": 1, "stamp": 1, "empty_iteration": 0, "frequency": 1e9 });
    for run in 0..5 {
        let finished = serde_json::json!({ "run": run, "instrument": instrument, "resident_kb": 1 });
        lines += &format!("{}\n", serde_json::json!({ "finished": finished }));
    }
    fs::write(folder.path().join("events.jsonl"), lines).unwrap();
    let recording = tickmark_store::load(folder.path()).unwrap();
    assert!(recording.warnings.is_empty(), "{:?}", recording.warnings);
    let priority = recording.meta.plan.settings.priority.to_string();
    assert_eq!(priority, "deadline", "a policy of later is named");
    let model = report::build(&recording, &|_| true, false);
    let value = json(&Report::new(&model));
    let row = |name: &str| {
        let rows = value["rows"].as_array().unwrap();
        rows.iter().find(|row| row["metric"] == name).unwrap_or_else(|| panic!("{name} has a row")).clone()
    };
    assert_eq!((&row("a.known")["value"], &row("a.known")["better"]), (&7.0.into(), &"rounder".into()));
    let unit = row("a.unit");
    let expected = serde_json::json!(["quantum", "parsec", 7.0]);
    assert_eq!(serde_json::json!([unit["group"], unit["unit"], unit["value"]]), expected);
    for (name, word) in [("a.headline", "golden_mean"), ("a.kind", "spectrum"), ("a.part", "squared")] {
        let row = row(name);
        assert_eq!((&row["status"], &row["value"]), (&"failed".into(), &serde_json::Value::Null), "{name}");
        assert!(row["notes"].to_string().contains(word), "{row}");
    }
    let shown = text(&model, ShownRows::Rows);
    for word in ["quantum", "parsec", "golden_mean", "spectrum", "squared", "sundial"] {
        assert!(shown.contains(word), "{word} is shown\n{shown}");
    }
}

/// One byte in the middle of one line: the run has failed, the row says so, and the others keep their figures.
#[test]
fn one_damaged_byte_fails_its_run() {
    let folder = tempfile::tempdir().unwrap();
    let from = format!("{}/../../fixtures/format-1.5", env!("CARGO_MANIFEST_DIR"));
    fs::copy(Path::new(&from).join("meta.json"), folder.path().join("meta.json")).unwrap();
    let text = fs::read_to_string(Path::new(&from).join("events.jsonl")).unwrap();
    let status = |damage: &dyn Fn(&str) -> String| {
        fs::write(folder.path().join("events.jsonl"), damage(&text)).unwrap();
        let recording = tickmark_store::load(folder.path()).unwrap();
        let value = json(&Report::new(&report::build(&recording, &|_| true, false)));
        let row = value["rows"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["metric"] == "switch.4p.8k")
            .unwrap()
            .clone();
        (row["status"].as_str().unwrap().to_owned(), row["runs"].as_u64().unwrap(), row["notes"].to_string())
    };
    let line = |part: &str| {
        let own = |line: &&str| {
            line.contains("switch.4p.8k") && line.contains("\"observed\"") && line.contains(part)
        };
        text.lines().find(own).unwrap().to_owned()
    };
    assert_eq!(status(&|text| text.to_owned()).0, "ok");
    let whole = line("\"observations\":{\"batches\"");
    let broken = whole.replacen("\"elapsed\":[", "\"elapsed\":[x", 1);
    let (partly, runs, notes) = status(&|text| text.replace(&whole, &broken));
    assert_eq!((partly.as_str(), runs), ("partly", 1), "{notes}");
    // What is to be taken off is of a kind that cannot be.
    let less = line("\"part\":\"less\"");
    let at = less.find("\"observations\"").unwrap();
    let other = format!("{}\"observations\":{{\"spectrum\":[1]}}}}}}", &less[..at]);
    let (partly, _, notes) = status(&|text| text.replace(&less, &other));
    assert!(partly == "partly" && notes.contains("spectrum"), "{partly} {notes}");
    let late = format!("{}\"observations\":{{\"latencies\":[1]}}}}}}", &less[..at]);
    let (partly, _, notes) = status(&|text| text.replace(&less, &late));
    assert!(partly == "partly" && notes.contains("subtracted"), "{partly} {notes}");
}

/// A recording of a later minor version is read: it has more fields and more kinds of events.
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

/// Figures of one probe that the system lacks say so once.
#[test]
fn a_reason_that_several_rows_share_stands_once() {
    let mut recording = fixture();
    let lacking = tickmark_wire::Reason::new("no such thing here");
    let (model, none) = (report::build(&recording, &|_| true, false), Status::Unsupported(lacking));
    let (_, rows) = model.groups.iter().find(|(_, rows)| rows.len() >= 4).unwrap();
    let names: Vec<String> = rows[..3].iter().map(|row| row.metric.clone()).collect();
    let is_one =
        |run: &Run| names.iter().any(|name| run.planned.gives(&tickmark_wire::Name::new(name.as_str())));
    recording.runs.iter_mut().filter(|run| is_one(run)).for_each(|run| run.status = none.clone());
    let shown = text(&report::build(&recording, &|_| true, false), ShownRows::Rows);
    let (_, table) = shown.split_once("disturbed").unwrap();
    assert_eq!(table.matches("no such thing here").count(), 1, "{table}");
    assert!(table.contains("and 2 more figures for the same reason"), "{table}");
}

/// What a quarter of the rows have is a sign in each, which is explained below them.
#[test]
fn usual_caveats_are_signs() {
    let mut model = report::build(&of_format("1.1"), &|_| true, false);
    let contended = Mark::Contended { share: 0.5, runs: 2, of: 3 };
    let mut signed = Vec::new();
    for row in model.groups.iter_mut().flat_map(|(_, rows)| rows).filter(|row| row.value.is_some()) {
        row.contended = Some(0.5);
        row.marks = vec![contended.clone(), Mark::Median];
        signed.push(row.title.trim().to_owned());
    }
    let page = text(&model, ShownRows::Rows);
    let page = anstream::adapter::strip_str(&page).to_string();
    let lines = || page.lines().filter(|line| line.starts_with("  "));
    let count = lines().filter(|line| line.contains(" ~")).count();
    assert_eq!(count, signed.len(), "{page}");
    assert_eq!(lines().filter(|line| line.contains(" *")).count(), signed.len(), "{page}");
    assert!(page.lines().all(|line| line.trim() != "*" && line.chars().count() <= 80), "{page}");
    assert!(page.contains("\n* contended (") && page.contains("\n~ median ("), "{page}");
    assert!(!page.contains("contended: other"), "{page}");
}

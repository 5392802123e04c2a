//! The report of a fixed recording, as text and as JSON.

use crate::report;
use crate::store::{Recording, Store};

fn fixture() -> Recording {
    of_format("1.0")
}

fn of_format(version: &str) -> Recording {
    let folder = format!("{}/../../fixtures/format-{version}", env!("CARGO_MANIFEST_DIR"));
    Store::at(Some("/nonexistent".into())).unwrap().find(&folder).unwrap()
}

/// Curves, bandwidths, modes counted apart, and a level that lacks.
#[test]
fn text_of_a_recording_of_format_1_1() {
    let recording = of_format("1.1");
    let model = report::build(&recording, &|_| true, false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&report::text::render(&model, false)).to_string());
    let page = crate::lmbench::page(&[(&recording, &model)], &[], false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&crate::lmbench::render(&page)).to_string());
}

#[test]
fn a_curve_in_detail() {
    let model = report::build(&of_format("1.1"), &|m| m.name.as_str() == "memory.latency.random", true);
    insta::assert_snapshot!(anstream::adapter::strip_str(&report::text::render(&model, false)).to_string());
}

#[test]
fn text_of_a_recording() {
    let model = report::build(&fixture(), &|_| true, false);
    insta::assert_snapshot!(anstream::adapter::strip_str(&report::text::render(&model, false)).to_string());
}

#[test]
fn text_of_one_metric_in_detail() {
    let model = report::build(&fixture(), &|m| m.name.as_str() == "timer.clock_nanosleep.late", true);
    insta::assert_snapshot!(anstream::adapter::strip_str(&report::text::render(&model, false)).to_string());
}

#[test]
fn json_rows_carry_what_they_promise() {
    let model = report::build(&fixture(), &|_| true, false);
    let value = report::json::render(&model);
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
    let text = report::text::render(&model, false);
    let value = report::json::render(&model);
    for remark in value["remarks"].as_array().unwrap() {
        assert!(text.contains(remark["text"].as_str().unwrap()));
    }
    for row in value["rows"].as_array().unwrap() {
        assert!(text.contains(row["title"].as_str().unwrap()), "{row}");
    }
}

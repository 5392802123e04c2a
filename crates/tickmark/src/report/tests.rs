//! The report of a fixed recording, as text and as JSON.

use crate::report;
use crate::store::{Recording, Store};

fn fixture() -> Recording {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/format-1.0");
    Store::at(Some("/nonexistent".into())).unwrap().find(folder).unwrap()
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

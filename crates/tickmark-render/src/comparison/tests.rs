//! The comparison of an experiment that is kept, in every format.

use tickmark_analysis::comparison::{
    CompareOptions, Earlier, Marked, Model, RowSelection, Side, Unit, build,
};
use tickmark_analysis::report::Mark;

fn as_json(model: &Model) -> serde_json::Value {
    crate::json::value(&crate::json::ComparisonPage::new(model, None))
}

fn model() -> Model {
    model_of("1.2", Unit::Recording)
}

fn model_of(version: &str, unit: Unit) -> Model {
    let side = |name: &str| {
        let folder = format!("{}/../../fixtures/format-{version}/{name}", env!("CARGO_MANIFEST_DIR"));
        Side { recordings: vec![tickmark_store::load(folder.as_ref()).unwrap()] }
    };
    build(
        &[side("base"), side("candidate")],
        CompareOptions { unit, ..CompareOptions::with_margin(0.01) },
        RowSelection::ALL,
        &Earlier { list: &Vec::new, read: &|_| None },
    )
    .unwrap()
}

/// Two kernels in guests that count instructions, each at two phases of the tick.
#[test]
fn counts_of_instructions_have_a_range_and_no_interval() {
    let model = model_of("1.3", Unit::Recording);
    insta::assert_snapshot!(super::text(&model));
    let json = as_json(&model);
    let rows = json["candidates"][0]["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(row["p"].is_null() && row["ratio_interval"].is_null(), "{row}");
        assert_eq!(row["range_over_phases"].as_array().map(Vec::len), Some(2), "{row}");
    }
    // Runs are no more of an occasion: nothing is left to chance.
    assert_eq!(as_json(&model_of("1.3", Unit::Run))["candidates"][0]["unit"], "phase");
}

#[test]
fn text() {
    insta::assert_snapshot!(super::text(&model()));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(super::markdown(&model()));
}

#[test]
fn html() {
    insta::assert_snapshot!(super::html(&model()));
}

#[test]
fn json() {
    insta::assert_json_snapshot!(as_json(&model()));
}

/// Contention of most figures of a side is said once; of a side where few figures have it, it stands with each.
#[test]
fn contention_is_said_once_of_the_side_where_it_is_usual() {
    let mut model = model();
    let contended = |share, sides| Marked { sides, mark: Mark::Contended { share, runs: 1, of: 2 } };
    for line in &mut model.against[0].lines {
        // Two recordings of a side have a mark each, and are one figure.
        line.marks = vec![contended(0.25, [true, false]), contended(0.5, [true, false])];
    }
    model.against[0].lines[0].marks.push(contended(0.75, [false, true]));
    let text = super::text(&model);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = model.against[0].lines.len();
    assert!(words.contains(&format!("up to 50 % in {count} of {count} figures of the baseline (")), "{text}");
    assert!(!words.contains("baseline: contended"), "{text}");
    assert_eq!(
        words.matches("candidate: contended: other tasks had up to 75 % of the CPU").count(),
        1,
        "{text}"
    );
}

/// A median in the place of the floor on both sides is a sign; on one side it stands in words, as the sides are not alike.
#[test]
fn medians_of_both_sides_are_a_sign() {
    let mut model = model();
    let median = |sides| Marked { sides, mark: Mark::Median };
    let mut other = model.against[0].lines.iter().find(|line| line.figure == "floor").unwrap().clone();
    other.metric = "syscall.read".to_owned();
    model.against[0].lines.push(other);
    for line in model.against[0].lines.iter_mut().filter(|line| line.figure == "floor") {
        line.marks.push(median([true, true]));
    }
    let floors = model.against[0].lines.iter().filter(|line| line.figure == "floor").count();
    let text = super::text(&model);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(text.matches(" ~floor ").count(), floors, "{text}");
    assert!(words(&text).contains(&format!("batches are too few: {floors} of ")), "{text}");
    let first = model.against[0].lines.iter_mut().find(|line| line.figure == "floor").unwrap();
    first.marks = vec![median([true, false])];
    let text = super::text(&model);
    assert_eq!(text.matches(" ~floor ").count(), 0, "one is not usual: {text}");
    assert!(words(&text).contains("baseline: median instead of the floor"), "{text}");
}

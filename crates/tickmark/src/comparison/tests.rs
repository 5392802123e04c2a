//! The comparison of an experiment that is kept, in every format.

use super::{Asked, Model, Side, Unit, build};
use crate::store::Store;

fn model() -> Model {
    let store = Store::at(Some("/nonexistent".into())).unwrap();
    let side = |name: &str| {
        let folder = format!("{}/../../fixtures/format-1.2/{name}", env!("CARGO_MANIFEST_DIR"));
        Side { recordings: vec![store.find(&folder).unwrap()] }
    };
    build(&store, &[side("base"), side("candidate")], Asked { margin: 0.01, unit: Unit::Recording }).unwrap()
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
    insta::assert_json_snapshot!(super::json(&model()));
}

//! What the readers of JSON share.

use serde_json::Value;

/// A page of JSON.
pub(super) fn page(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("no complete JSON: {error}"))
}

/// A finite number, also one that is written as text.
pub(super) fn number(value: &Value) -> Option<f64> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.filter(|number| number.is_finite())
}

/// The numbers of a list.
pub(super) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().into_iter().flatten().filter_map(number).collect()
}

/// Text of a value: a word without its quotation marks.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

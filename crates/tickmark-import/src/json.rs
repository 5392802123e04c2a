//! What the readers of JSON share.

use serde_json::Value;

/// A page of JSON.
pub(super) fn page(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("no complete JSON: {error}"))
}

/// A page of Python's JSON, in which numbers may be NaN and Infinity: these are null.
pub(super) fn python_page(text: &str) -> Result<Value, String> {
    // Every other part is in quotation marks, but for those behind a backslash.
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('"') {
        let (before, quoted) = rest.split_at(at);
        let mut is_escaped = true;
        let end = quoted.bytes().position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let (quoted, after) = quoted.split_at(end.map_or(quoted.len(), |end| end + 1));
        plain += &without_infinities(before);
        plain += quoted;
        rest = after;
    }
    page(&(plain + &without_infinities(rest)))
}

fn without_infinities(text: &str) -> String {
    text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null")
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

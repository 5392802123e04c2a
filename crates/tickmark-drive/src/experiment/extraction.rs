//! Numbers that commands print, and where they stand.

use regex_lite::Regex;
use tickmark_wire::{Better, Printed};

/// A number that a command prints.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// The metric's name.
    pub name: String,
    /// Where it stands.
    pub finder: Finder,
    /// Which way is good.
    pub better: Better,
}

/// Where a number stands in what a command prints.
#[derive(Debug, Clone)]
pub enum Finder {
    /// In the first group of a pattern, or all of it.
    Pattern(Regex),
    /// At a place of a JSON text (RFC 6901).
    Pointer(String),
}

impl Finder {
    /// From a regular expression, or from a JSONPath that names one place, such as `$.result[0].time` (RFC 9535, singular queries).
    ///
    /// # Errors
    /// It is neither, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('$').filter(|rest| rest.starts_with(['.', '['])) {
            Some(path) => pointer(path)
                .map(Self::Pointer)
                .ok_or_else(|| format!("{text} is no JSONPath of one place, such as $.result[0].time")),
            None => Regex::new(text).map(Self::Pattern).map_err(|error| format!("{text}: {error}")),
        }
    }

    pub(super) fn find(&self, text: &str) -> Result<Printed, String> {
        let number = |found: &str| {
            Printed::parse(found.trim().as_bytes()).ok_or_else(|| format!("{found:?} is no number"))
        };
        match self {
            Self::Pattern(pattern) => {
                let found =
                    pattern.captures(text).ok_or_else(|| format!("{pattern} is not in what it prints"))?;
                number(found.get(1).or_else(|| found.get(0)).map_or("", |found| found.as_str()))
            }
            Self::Pointer(place) => {
                let value: serde_json::Value = serde_json::from_str(text)
                    .map_err(|error| format!("what it prints is no JSON: {error}"))?;
                match value.pointer(place) {
                    Some(serde_json::Value::Number(found)) => number(&found.to_string()),
                    Some(serde_json::Value::String(found)) => number(found),
                    Some(_) => Err(format!("{place} is no number in what it prints")),
                    None => Err(format!("{place} is not in what it prints")),
                }
            }
        }
    }
}

/// A JSON pointer of `.name[3]['name']`.
fn pointer(path: &str) -> Option<String> {
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    let (mut rest, mut pointer) = (path, String::new());
    while !rest.is_empty() {
        let name = if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            rest = &after[end..];
            &after[..end]
        } else {
            let (inside, after) = rest.strip_prefix('[')?.split_once(']')?;
            rest = after;
            let quoted = |quote: char| inside.strip_prefix(quote)?.strip_suffix(quote);
            let index = inside.bytes().all(|byte| byte.is_ascii_digit()).then_some(inside);
            quoted('\'').or_else(|| quoted('"')).or(index)?
        };
        if name.is_empty() {
            return None;
        }
        pointer.extend(["/", &escaped(name)]);
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_pattern_and_by_path() {
        let find = |finder: &str, text: &str| Finder::parse(finder)?.find(text).map(|printed| printed.value);
        assert_eq!(find(r"rate: ([\d.]+)", "rate: 12.5 MB/s"), Ok(12.5));
        assert_eq!(find(r"\d+", "took 42 ms"), Ok(42.0));
        let json = r#"{"result": [{"time": 1.5, "a/b": "7"}], "name": "x"}"#;
        assert_eq!(find("$.result[0].time", json), Ok(1.5));
        assert_eq!(find("$['result'][0]['a/b']", json), Ok(7.0));
        assert!(find("$.result[1].time", json).unwrap_err().contains("not in what it prints"));
        assert!(find("$.result", json).unwrap_err().contains("no number"));
        assert!(find("$.name", json).unwrap_err().contains("no number"));
        assert!(find("$.a", "no JSON").unwrap_err().contains("no JSON"));
        assert!(find("$..a", json).unwrap_err().contains("one place"));
        assert!(find("rate: (", "").is_err());
        assert!(find("rate", "nothing").unwrap_err().contains("not in what it prints"));
    }
}

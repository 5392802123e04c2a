//! Colours of a terminal in a log.

use std::borrow::Cow;

/// A text without the escape sequences by which a terminal is coloured (ECMA-48: ESC, a bracket, parameters, a letter).
pub(super) fn without_escapes(text: &str) -> Cow<'_, str> {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    if first.len() == text.len() {
        return Cow::Borrowed(text);
    }
    let rest = parts.map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(part.len());
        part[end..].strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(&part[end..])
    });
    Cow::Owned(std::iter::once(first).chain(rest).collect())
}

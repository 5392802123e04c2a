//! Text of others on its way to a terminal or a shell.

use std::borrow::Cow;

/// The same without what a terminal obeys: control characters and the marks that turn the direction of writing, as they are
/// written in Rust. Line breaks are kept where `lines` says so.
#[must_use]
pub fn printable(text: &str, lines: bool) -> Cow<'_, str> {
    let obeyed = |c: char| {
        (c.is_control() && !(lines && c == '\n'))
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| if obeyed(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(escape).collect())
}

/// A word for the shell: quoted where the shell would see more in it than a word.
#[must_use]
pub fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", printable(word, false).replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_not_done() {
        assert_eq!(printable("web-3 µs é", false), "web-3 µs é");
        assert_eq!(printable("a\x1b]0;b\x07\r\n\u{202e}c", false), r"a\u{1b}]0;b\u{7}\r\n\u{202e}c");
        assert_eq!(printable("a\nb\tc", true), "a\nb\\tc");
    }

    #[test]
    fn a_word_stays_one_for_the_shell() {
        assert_eq!(quoted("sysctl:kernel.x=0,1"), "sysctl:kernel.x=0,1");
        assert_eq!(quoted("a b; rm -rf '/'"), r"'a b; rm -rf '\''/'\'''");
        assert_eq!(quoted(""), "''");
    }
}

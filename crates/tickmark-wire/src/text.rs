//! Text of others on its way to a terminal or a shell; numbers, shares and times as people write them.

use crate::Nanos;
use std::borrow::Cow;
use std::time::Duration;

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

/// A whole token as C's strtod takes it: blanks before it, a sign, decimal or hexadecimal, inf and nan.
#[must_use]
pub fn number(token: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(token).ok()?;
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    let text = text.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']);
    let (negative, bare) = match text.strip_prefix(['+', '-']) {
        Some(bare) => (text.starts_with('-'), bare),
        None => (false, text),
    };
    if bare.starts_with(['+', '-']) {
        return None;
    }
    let lower = bare.to_ascii_lowercase();
    let value = if let Some(digits) = lower.strip_prefix("0x") {
        hexadecimal(digits)?
    } else if let Some(rest) = lower.strip_prefix("nan(") {
        let inside = rest.strip_suffix(')')?;
        inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(f64::NAN)?
    } else {
        lower.parse().ok()?
    };
    Some(if negative { -value } else { value })
}

/// A share such as 1% or 0.01.
///
/// # Errors
/// What to give, in words.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, factor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let share = number.trim().parse::<f64>().map_err(|_| format!("{number} is no number"))? * factor;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err("give a share such as 1% or 0.01".to_owned()) }
}

/// A time with its unit: 60s, 1.5s, 500ms, 50us, 1ns, 2min.
///
/// # Errors
/// What to give, in words.
pub fn duration(text: &str) -> Result<Nanos, String> {
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 60e9,
        _ => return Err("give a time with its unit, such as 60s, 500ms, 50us, 1ns".to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("{number} is no number"))?;
    let nanos = number * factor;
    if !(1.0..=86_400e9).contains(&nanos) {
        return Err("give a time from 1ns to 24 hours".to_owned());
    }
    Ok(Nanos::from(Duration::from_nanos(nanos as u64)))
}

/// The digits after 0x: with a point and a power of two, such as 1.8p3.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = match text.split_once('p') {
        Some((digits, power)) => (digits, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + part.len() == 0 {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(part.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    Some(value * 2f64.powi(power - 4 * part.len() as i32))
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
    fn shares_are_between_none_and_all() {
        assert_eq!((share("1%"), share("0.01"), share("2.5 %")), (Ok(0.01), Ok(0.01), Ok(0.025)));
        for wrong in ["", "%", "0", "100%", "-1%", "NaN", "one"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_need_their_unit() {
        assert_eq!(duration("1.5s"), Ok(Nanos::new(1_500_000_000)));
        assert_eq!(duration("50us"), Ok(Nanos::new(50_000)));
        for wrong in ["60", "", "s", "-1s", "0s", "1e99s", "NaNs", "5 parsecs"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_word_stays_one_for_the_shell() {
        assert_eq!(quoted("sysctl:kernel.x=0,1"), "sysctl:kernel.x=0,1");
        assert_eq!(quoted("a b; rm -rf '/'"), r"'a b; rm -rf '\''/'\'''");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn numbers_as_c_reads_them() {
        for (text, value) in [
            ("-0x1.8p1", -3.0),
            ("0X.8", 0.5),
            ("infinity", f64::INFINITY),
            ("-INF", f64::NEG_INFINITY),
            ("1e400", f64::INFINITY),
            ("5.", 5.0),
            ("+7", 7.0),
        ] {
            assert_eq!(number(text.as_bytes()), Some(value), "{text}");
        }
        assert!(number(b"nan(x1)").unwrap().is_nan());
        for text in ["", "1e", "0x", "1.2.3", "--1", "+-1", "nan(", "1_000", "12abc", "0x1p", "e5", "."] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}

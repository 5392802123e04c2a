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

/// The numbers of a list such as `0-3,7`; none where it is not one.
#[must_use]
pub fn list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for range in text.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse::<u32>().ok()?);
        numbers.extend(from..=to.min(from + 65_536));
    }
    Some(numbers)
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
        "h" => 3_600e9,
        _ => return Err("give a time with its unit, such as 2h, 10min, 60s, 500ms, 50us, 1ns".to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| format!("{number} is no number"))?;
    let nanos = number * factor;
    if !(1.0..=86_400e9).contains(&nanos) {
        return Err("give a time from 1ns to 24 hours".to_owned());
    }
    Ok(Nanos::from(Duration::from_nanos(nanos as u64)))
}

/// The digits after 0x: with a point and a power of two, such as 1.8p3. The nearest number, subnormal ones too.
fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, power) = match text.split_once('p') {
        Some((digits, power)) => (digits, exponent(power)?),
        None => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + part.len() == 0 {
        return None;
    }
    // What does not fit into the mantissa only says on which side of it the number is.
    let (mut mantissa, mut more, mut power) = (0u64, false, power - 4 * part.len() as i64);
    for digit in whole.chars().chain(part.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
        } else {
            more |= digit != 0;
            power += 4;
        }
    }
    Some(nearest(mantissa, more, power))
}

/// A power of two; one of more digits is as far as it goes.
fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sound = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let far = if text.starts_with('-') { -1_000_000 } else { 1_000_000 };
    sound.then(|| text.parse::<i64>().map_or(far, |power| power.clamp(-1_000_000, 1_000_000)))
}

/// The number nearest to `mantissa`, or to something between it and the next where there is `more`, times two to the power; of two
/// as near the even one.
fn nearest(mantissa: u64, more: bool, power: i64) -> f64 {
    let bits = 64 - i64::from(mantissa.leading_zeros());
    // Below the normal numbers fewer bits are kept.
    let kept = (bits + power + 1074).min(53);
    let cut = bits - kept;
    if mantissa == 0 || kept < 0 {
        return 0.0;
    }
    if cut <= 0 {
        return scaled(mantissa, power);
    }
    let (whole, rest, half) = if cut < 64 {
        (mantissa >> cut, mantissa & ((1 << cut) - 1), 1 << (cut - 1))
    } else {
        (0, mantissa, 1 << 63)
    };
    let up = rest > half || rest == half && (more || whole & 1 == 1);
    scaled(whole + u64::from(up), power + cut)
}

/// A number of at most 54 bits times two to a power, in steps of which none is below the normal numbers but the last.
fn scaled(mantissa: u64, mut power: i64) -> f64 {
    let mut value = mantissa as f64;
    while power.abs() > 900 && value != 0.0 && value.is_finite() {
        let step = 900 * power.signum();
        value *= 2f64.powi(step as i32);
        power -= step;
    }
    value * 2f64.powi(power as i32)
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
    fn lists_of_cpus() {
        assert_eq!(list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(list(""), None);
        assert_eq!(list("0-x"), None);
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
            ("0x1p-1074", 5e-324),
            ("0x1.8p-1074", 1e-323),
            ("0x0.8p-1074", 0.0),
            ("0x0.80000000000000000001p-1074", 5e-324),
            ("0x1.fffffffffffff8p-1", 1.0),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.0000000000000800000000001p0", 1.000_000_000_000_000_2),
            ("0x1p1023", 8.988_465_674_311_58e307),
            ("0x1p1024", f64::INFINITY),
            ("0x1000000000000000000000000p-96", 1.0),
            ("0x1p-99999999999999999999", 0.0),
        ] {
            assert_eq!(number(text.as_bytes()), Some(value), "{text}");
        }
        assert!(number(b"nan(x1)").unwrap().is_nan());
        for text in ["", "1e", "0x", "1.2.3", "--1", "+-1", "nan(", "1_000", "12abc", "0x1p", "e5", "."] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }
}

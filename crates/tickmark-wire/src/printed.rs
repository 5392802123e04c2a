//! Numbers that a program printed: they are known to half of their last digit.

use crate::text::number;
use std::ops::Mul;

/// A number with what it can be told from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// Finite.
    pub value: f64,
    /// Value of one step of its last digit; 0 where it has all of its digits.
    pub step: f64,
}

impl Printed {
    /// A whole token, as `text::number` takes it. None of what is no finite number.
    #[must_use]
    pub fn parse(token: &[u8]) -> Option<Self> {
        let value = number(token).filter(|value| value.is_finite())?;
        Some(Self { value, step: last_digit(token).unwrap_or(0.0) })
    }
}

impl From<f64> for Printed {
    fn from(value: f64) -> Self {
        Self { value, step: 0.0 }
    }
}

impl Mul<f64> for Printed {
    type Output = Self;

    /// The same in another unit.
    fn mul(self, factor: f64) -> Self {
        Self { value: self.value * factor, step: self.step * factor.abs() }
    }
}

/// Value of a unit in the last digit of a decimal number: .01 in 1.25, 100 in 1.2e3. None for a hexadecimal one, which is exact.
fn last_digit(token: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(token).ok()?.trim().trim_start_matches(['+', '-']);
    let (digits, power) = match text.split_once(['e', 'E']) {
        Some((digits, power)) => (digits, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let decimal = whole.chars().chain(part.chars()).all(|c| c.is_ascii_digit());
    let last = power.saturating_sub(part.len() as i32);
    // As it is read: 10 to a negative power is not the nearest number.
    decimal.then(|| format!("1e{last}").parse().ok()).flatten()
}

/// The only number of what a program printed.
///
/// # Errors
/// It has none, or more than one.
pub fn only_number(text: &str) -> Result<Printed, String> {
    match numbers(text)[..] {
        [number] => Ok(number),
        [] => Err("printed no number".to_owned()),
        _ => Err("printed more than one number; say which by the text before it (after)".to_owned()),
    }
}

/// The first number behind some text of what a program printed.
///
/// # Errors
/// The text is not there, or no number is behind it.
pub fn number_after(text: &str, before: &str) -> Result<Printed, String> {
    let (_, rest) = text.split_once(before).ok_or_else(|| format!("did not print {before:?}"))?;
    numbers(rest).first().copied().ok_or_else(|| format!("printed no number after {before:?}"))
}

/// Every number of a text: words, without a unit behind or punctuation around them.
fn numbers(text: &str) -> Vec<Printed> {
    let apart =
        |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '[' | ']' | '=' | ':' | '"');
    let number = |word: &str| {
        if word.trim_start_matches(['-', '+']).to_ascii_lowercase().starts_with("0x") {
            return Printed::parse(word.as_bytes());
        }
        let end =
            word.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E')).unwrap_or(word.len());
        let word = word[..end].trim_end_matches(['.', '%', '/']);
        Printed::parse(word.as_bytes()).filter(|_| word.contains(|c: char| c.is_ascii_digit()))
    };
    text.split(apart).filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_were_printed() {
        for (text, value, step) in [
            ("12", 12.0, 1.0),
            ("-3.50", -3.5, 0.01),
            ("1.2e3", 1200.0, 100.0),
            ("5e-300", 5e-300, 1e-300),
            (" .5", 0.5, 0.1),
            ("7.", 7.0, 1.0),
            ("0x1.8p3", 12.0, 0.0),
        ] {
            assert_eq!(Printed::parse(text.as_bytes()), Some(Printed { value, step }), "{text}");
        }
        for none in ["", "x", "nan", "inf", "1e999", "1 2"] {
            assert_eq!(Printed::parse(none.as_bytes()), None, "{none}");
        }
        assert_eq!(Printed { value: 2.0, step: 0.5 } * 1e3, Printed { value: 2e3, step: 500.0 });
    }

    #[test]
    fn numbers_of_a_text() {
        let numbers = |text: &str| numbers(text).into_iter().map(|number| number.value).collect::<Vec<_>>();
        assert_eq!(numbers("Requests/sec:  12345.67\n"), [12345.67]);
        assert_eq!(numbers("tps = 1e3 (including), 5ms 7% x9 nan inf -2."), [1000.0, 5.0, 7.0, -2.0]);
        assert_eq!(numbers("no number e E . -"), [0.0; 0]);
        assert_eq!(numbers("0x1F 1.2e5 1e400"), [31.0, 120_000.0]);
        assert_eq!(numbers(&"9".repeat(320)), [0.0; 0]);
    }
}

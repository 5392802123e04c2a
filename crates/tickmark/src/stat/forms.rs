//! Forms of numbers that people paste: with units, in quotation marks, with a decimal comma, as minutes and seconds.

use tickmark_wire::Printed;

/// Forms of numbers: with a unit, in quotation marks, below a heading, and as the user says.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Forms<'a> {
    /// The heading of the column, instead of its number.
    pub(crate) heading: Option<&'a str>,
    /// True if a comma is the decimal mark.
    pub(crate) decimal_comma: bool,
    /// Words that stand for no number.
    pub(crate) missing: &'a [String],
}

/// True if a word behind a number is its unit, and no other column.
pub(super) fn is_unit(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(|word| tickmark_import::unit(word).is_some())
}

/// True if a word may name a column: it is no number in another form.
pub(super) fn is_heading(token: &str) -> bool {
    let token = token.trim_matches('"');
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !matches!(token.to_ascii_lowercase().as_str(), "nan" | "inf" | "infinity" | "na" | "null" | "none")
}

/// The factor from one unit to another of the same kind.
pub(crate) fn factor(from: &str, to: &str) -> Option<f64> {
    let ((kind, own), (other, base)) = (tickmark_import::unit(from)?, tickmark_import::unit(to)?);
    (kind == other).then_some(own / base)
}

/// A number in quotation marks, with its unit at once, with a decimal comma, or as minutes and seconds; with its unit.
pub(super) fn formed<'l>(token: &'l [u8], forms: Forms<'_>) -> Option<(Printed, &'l [u8])> {
    let token = token.trim_ascii();
    let token =
        token.strip_prefix(b"\"").and_then(|token| token.strip_suffix(b"\"")).unwrap_or(token).trim_ascii();
    let digits = token.iter().rposition(u8::is_ascii_digit)? + 1;
    let (number, unit) = token.split_at(digits);
    if unit == b"s" && number.contains(&b'm') {
        // As bash's time prints it: 0m12.100s.
        let (minutes, seconds) = std::str::from_utf8(number).ok()?.split_once('m')?;
        return sexagesimal(&[minutes, seconds], forms).map(|seconds| (seconds, unit));
    }
    if unit.is_empty() && number.contains(&b':') {
        let parts: Vec<&str> = std::str::from_utf8(number).ok()?.split(':').collect();
        return sexagesimal(&parts, forms)
            .filter(|_| parts.len() == 3)
            .map(|seconds| (seconds, b"s".as_slice()));
    }
    let known = unit.is_empty() || is_unit(unit);
    plain_or_comma(number, forms).filter(|_| known).map(|number| (number, unit))
}

fn plain_or_comma(number: &[u8], forms: Forms<'_>) -> Option<Printed> {
    if !forms.decimal_comma {
        return Printed::parse(number);
    }
    let text = tickmark_import::with_point(std::str::from_utf8(number).ok()?)?;
    Printed::parse(text.as_bytes())
}

/// Hours, minutes and seconds in s.
fn sexagesimal(parts: &[&str], forms: Forms<'_>) -> Option<Printed> {
    let (seconds, before) = parts.split_last()?;
    let seconds =
        plain_or_comma(seconds.as_bytes(), forms).filter(|seconds| (0.0..60.0).contains(&seconds.value))?;
    let minutes =
        before.iter().try_fold(0.0, |sum, part| Some(sum * 60.0 + f64::from(part.parse::<u32>().ok()?)))?;
    Some(Printed { value: seconds.value + 60.0 * minutes, step: seconds.step })
}

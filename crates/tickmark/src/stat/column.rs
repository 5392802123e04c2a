//! Reads a column of numbers, as ministat does: split at the delimiters, a token that starts with # ends the line, lines
//! that lack the column and blank ones are skipped.

use super::forms::{Forms, factor, formed, is_heading, is_unit};
use std::io::Read;
use tickmark_wire::Printed;
use tickmark_wire::text::number;

/// Which column, and how lines are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column<'a> {
    /// Counted from 1.
    pub(crate) number: usize,
    pub(crate) delimiters: &'a [u8],
    /// Longer lines are two or more, where the older tool's buffer ends.
    pub(crate) longest: usize,
    /// True if nan and inf are numbers.
    pub(crate) any: bool,
    /// True if every line but comments must have a number: pairs would shift.
    pub(crate) strict: bool,
    /// What numbers may look like beside plain ones; none for what the older tool takes.
    pub(crate) forms: Option<Forms<'a>>,
}

/// The numbers of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) values: Vec<f64>,
    /// Value of the last digit of the longest of them: all are multiples of it.
    pub(crate) step: f64,
    /// Unit behind each of them; empty where there is none.
    pub(crate) unit: String,
    /// The heading of the column.
    pub(crate) heading: Option<String>,
    /// Numbers with another unit that were converted to this one.
    pub(crate) converted: usize,
    /// Lines without a number, as the user said.
    pub(crate) missing: usize,
    /// Integers that an f64 does not hold, and their places among the values.
    pub(crate) large: Vec<(usize, i128)>,
}

/// From it on, not every integer is an f64: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The text behind a number.
enum Behind<'l> {
    /// A unit, or nothing.
    Unit(&'l [u8]),
    /// A word that is no unit.
    Label(&'l [u8]),
}

/// An error of a column.
#[derive(Debug)]
pub(crate) enum ColumnError {
    /// A token of this line (counted from 1) is no number, or not a finite one.
    Line(usize, String),
    /// This line has no such column, and should have.
    Missing(usize),
    /// This line is longer than [`LONGEST`].
    Long(usize),
    /// There are more than [`MOST`] lines.
    Many,
    /// There is no such heading; these are there.
    Heading(Vec<String>),
    /// The number of this line has one unit, and those before it another.
    Unit(usize, [String; 2]),
    Io(std::io::Error),
}

/// Size of one read, bytes.
const PIECE: usize = 1 << 20;

/// A line of more bytes is no line of numbers.
const LONGEST: usize = 16 << 20;

/// A file of more lines is refused: so many numbers take 800 MB.
pub(crate) const MOST: usize = 100_000_000;

impl Column<'_> {
    /// Every number of the column.
    pub(crate) fn read(&self, mut from: impl Read) -> Result<Numbers, ColumnError> {
        let (mut buffer, mut filled, mut values) = (vec![0; PIECE], 0, Vec::new());
        let (mut step, mut unit): (f64, Option<String>) = (f64::INFINITY, None);
        let mut labels: Option<(usize, String)> = None;
        let mut clash: Option<(usize, [String; 2])> = None;
        let (mut heading, mut converted, mut missing, mut column) = (None, 0, 0, self.number);
        let forms = self.forms.unwrap_or_default();
        let mut large: Vec<(usize, i128)> = Vec::new();
        let mut keep = |number: Printed| {
            values.push(number.value);
            step = step.min(number.step);
            values.len() - 1
        };
        let mut line = 0;
        let within = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        let simple = !forms.decimal_comma
            && self.number == 1
            && forms.heading.is_none()
            && self.longest > 18
            && !self.delimiters.iter().any(within);
        loop {
            let got = match from.read(&mut buffer[filled..]) {
                Ok(got) => got,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(ColumnError::Io(error)),
            };
            filled += got;
            let (mut start, last) = (0, got == 0);
            loop {
                let rest = &buffer[start..filled];
                if simple
                    && unit.as_ref().is_none_or(String::is_empty)
                    && let Some((number, end)) = plain(rest)
                {
                    line += 1;
                    unit.get_or_insert_default();
                    keep(number);
                    start += end;
                    continue;
                }
                let window = &rest[..rest.len().min(self.longest)];
                let end = match memchr::memchr(b'\n', window) {
                    Some(at) => at + 1,
                    None if rest.len() >= self.longest => self.longest,
                    None if last && !rest.is_empty() => rest.len(),
                    None => break,
                };
                line += 1;
                let mut text = &rest[..end];
                if line == 1 && self.forms.is_some() {
                    text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
                }
                if let Some(wanted) = forms.heading.filter(|_| heading.is_none())
                    && let Some(words) = self.words(text)
                {
                    column = words
                        .iter()
                        .position(|word| word == wanted)
                        .ok_or_else(|| ColumnError::Heading(words.clone()))?
                        + 1;
                    heading = Some(wanted.to_owned());
                    start += end;
                    continue;
                }
                let value = match self.value(text, column, forms) {
                    Ok(value) => value,
                    // Words above the first number are its name.
                    Err(token)
                        if self.forms.is_some()
                            && unit.is_none()
                            && labels.is_none()
                            && heading.is_none()
                            && is_heading(&token) =>
                    {
                        heading = Some(token);
                        start += end;
                        continue;
                    }
                    Err(token) if forms.missing.contains(&token) && !self.strict => {
                        missing += 1;
                        start += end;
                        continue;
                    }
                    Err(token) => return Err(ColumnError::Line(line, token)),
                };
                let comment = rest[..end].trim_ascii_start().starts_with(b"#");
                if self.strict && value.is_none() && !comment {
                    return Err(ColumnError::Missing(line));
                }
                if let Some((number, behind)) = value {
                    match behind {
                        Behind::Unit(own) => {
                            let own = String::from_utf8_lossy(own);
                            let before = unit.get_or_insert_with(|| own.clone().into_owned());
                            if *before == own {
                            } else if let Some(factor) = factor(&own, before) {
                                converted += 1;
                                keep(number * factor);
                                start += end;
                                continue;
                            } else if clash.is_none() {
                                clash = Some((line, [own.into_owned(), before.clone()]));
                            }
                        }
                        Behind::Label(word) => {
                            labels =
                                labels.or_else(|| Some((line, String::from_utf8_lossy(word).into_owned())));
                        }
                    }
                    let place = keep(number);
                    if number.value.abs() >= EXACT
                        && let Some(integer) = self.integer(text, column)
                    {
                        large.push((place, integer));
                    }
                }
                start += end;
            }
            buffer.copy_within(start..filled, 0);
            filled -= start;
            if line > MOST {
                return Err(ColumnError::Many);
            }
            if last {
                // Units and words that are none do not go together; a word and nothing may be labels.
                if let (Some((line, word)), Some(unit)) =
                    (&labels, unit.as_ref().filter(|unit| !unit.is_empty()))
                {
                    return Err(ColumnError::Unit(*line, [word.clone(), unit.clone()]));
                }
                if let Some((line, units)) = clash {
                    return Err(ColumnError::Unit(line, units));
                }
                let step = if step.is_finite() { step } else { 0.0 };
                let unit = unit.filter(|_| labels.is_none()).unwrap_or_default();
                return Ok(Numbers { values, step, unit, heading, converted, missing, large });
            }
            if filled == buffer.len() {
                if filled >= LONGEST {
                    return Err(ColumnError::Long(line + 1));
                }
                buffer.resize(2 * filled, 0);
            }
        }
    }

    /// The words of a line at the delimiters, up to a comment.
    fn tokens<'l>(&self, line: &'l [u8]) -> impl Iterator<Item = &'l [u8]> {
        let line = &line[..memchr::memchr(0, line).unwrap_or(line.len())];
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let end = line.iter().rposition(|byte| !blank(byte)).map_or(0, |at| at + 1);
        // Empty cells keep their place where no blank separates; the older tool drops them.
        let keeps = self.forms.is_some() && !self.delimiters.iter().any(|byte| matches!(byte, b' ' | b'\t'));
        // A separator between quotation marks is none.
        let has_quotes =
            self.forms.is_some() && line[..end].iter().filter(|byte| **byte == b'"').count() % 2 == 0;
        let mut is_quoted = false;
        line[..end]
            .split(move |byte| {
                is_quoted ^= has_quotes && *byte == b'"';
                !is_quoted && self.delimiters.contains(byte)
            })
            .filter(move |token| keeps || !token.is_empty())
            .take_while(|token| token.first() != Some(&b'#'))
    }

    /// The words of a line that may be a heading; none of an empty one.
    fn words(&self, line: &[u8]) -> Option<Vec<String>> {
        let word = |token: &[u8]| String::from_utf8_lossy(token).trim().trim_matches('"').to_owned();
        Some(self.tokens(line).map(word).collect::<Vec<_>>()).filter(|words| !words.is_empty())
    }

    /// The integer that a line has in the column `at`, all of its digits.
    fn integer(&self, line: &[u8], at: usize) -> Option<i128> {
        let token = self.tokens(line).nth(at - 1)?.trim_ascii();
        std::str::from_utf8(token).ok()?.trim_matches('"').parse().ok()
    }

    /// The number that a line has in the column, if it has one, and what stands behind it.
    fn value<'l>(
        &self,
        line: &'l [u8],
        at: usize,
        forms: Forms<'_>,
    ) -> Result<Option<(Printed, Behind<'l>)>, String> {
        let mut tokens = self.tokens(line);
        let Some(token) = tokens.nth(at - 1).filter(|token| !token.trim_ascii().is_empty()) else {
            return Ok(None);
        };
        let any = || number(token).filter(|_| self.any).map(Printed::from);
        let printed = Printed::parse(token).filter(|_| !forms.decimal_comma).or_else(any);
        let Some(printed) = printed else {
            let text = String::from_utf8_lossy(token).into_owned();
            let formed = self.forms.and_then(|forms| formed(token, forms));
            let mut behind = |unit: &'l [u8]| match tokens.next() {
                Some(word) if unit.is_empty() && is_unit(word) => word,
                _ => unit,
            };
            return formed.map(|(number, unit)| Some((number, Behind::Unit(behind(unit))))).ok_or(text);
        };
        let behind = match tokens.next().filter(|_| self.forms.is_some()) {
            Some(word) if is_unit(word) => Behind::Unit(word),
            // A number is another column.
            Some(word) if !word.is_empty() && Printed::parse(word).is_none() => Behind::Label(word),
            _ => Behind::Unit(b""),
        };
        Ok(Some((printed, behind)))
    }
}

/// A line that is nothing but digits with at most one point and a minus: its value and its length with the line break. Exact,
/// as both the digits and the power of ten are numbers without rounding (Clinger, How to read floating point numbers
/// accurately, 1990). None for all others.
fn plain(line: &[u8]) -> Option<(Printed, usize)> {
    let negative = line.first() == Some(&b'-');
    let (mut digits, mut observed, mut point, mut at) = (0u64, 0, None, usize::from(negative));
    loop {
        match *line.get(at)? {
            digit @ b'0'..=b'9' => {
                digits = digits * 10 + u64::from(digit - b'0');
                observed += 1;
            }
            b'.' if point.is_none() => point = Some(observed),
            b'\n' if (1..=15).contains(&observed) => break,
            _ => return None,
        }
        if observed > 15 {
            return None;
        }
        at += 1;
    }
    let power = POWERS[point.map_or(0, |point| observed - point)];
    let value = digits as f64 / power;
    Some((Printed { value: if negative { -value } else { value }, step: 1.0 / power }, at + 1))
}

/// Powers of ten.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

#[cfg(test)]
pub(super) mod tests;

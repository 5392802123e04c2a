//! Reads a column of numbers, as ministat does: split at the delimiters, a token that starts with # ends the line, lines
//! that lack the column and blank ones are skipped.

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
    /// True if a word of measure behind a number is its unit, which all numbers have to share.
    pub(crate) units: bool,
}

/// Units that may follow a number without being another column.
const UNITS: &[&[u8]] = &[
    b"ps",
    b"ns",
    b"us",
    "\u{b5}s".as_bytes(),
    "\u{3bc}s".as_bytes(),
    b"usec",
    b"ms",
    b"msec",
    b"s",
    b"sec",
    b"secs",
    b"seconds",
    b"min",
    b"h",
    b"%",
    b"B",
    b"bytes",
    b"kB",
    b"KB",
    b"MB",
    b"GB",
    b"TB",
    b"KiB",
    b"MiB",
    b"GiB",
    b"TiB",
    b"B/s",
    b"kB/s",
    b"KB/s",
    b"MB/s",
    b"GB/s",
    b"KiB/s",
    b"MiB/s",
    b"GiB/s",
    b"Hz",
    b"kHz",
    b"MHz",
    b"GHz",
];

/// The numbers of a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Numbers {
    pub(crate) values: Vec<f64>,
    /// Value of the last digit of the longest of them: all are multiples of it.
    pub(crate) step: f64,
    /// Unit behind each of them; empty where there is none, or they differ.
    pub(crate) unit: String,
}

/// The text behind a number.
enum Behind<'l> {
    /// A unit, or nothing.
    Unit(&'l [u8]),
    /// A word that is no unit: nor are others that stand there.
    Label,
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
        let (mut labels, mut clash): (bool, Option<(usize, [String; 2])>) = (false, None);
        let mut keep = |number: Printed| {
            values.push(number.value);
            step = step.min(number.step);
        };
        let mut line = 0;
        let within = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        let simple = self.number == 1 && self.longest > 18 && !self.delimiters.iter().any(within);
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
                let value = self.value(&rest[..end]).map_err(|token| ColumnError::Line(line, token))?;
                let comment = rest[..end].trim_ascii_start().starts_with(b"#");
                if self.strict && value.is_none() && !comment {
                    return Err(ColumnError::Missing(line));
                }
                if let Some((number, behind)) = value {
                    match behind {
                        Behind::Unit(own) => {
                            let own = String::from_utf8_lossy(own);
                            let before = unit.get_or_insert_with(|| own.clone().into_owned());
                            if *before != own && clash.is_none() {
                                clash = Some((line, [own.into_owned(), before.clone()]));
                            }
                        }
                        Behind::Label => labels = true,
                    }
                    keep(number);
                }
                start += end;
            }
            buffer.copy_within(start..filled, 0);
            filled -= start;
            if line > MOST {
                return Err(ColumnError::Many);
            }
            if last {
                // A word that is a unit and no word at all may be labels, as others are; two units are not.
                if let Some((line, units)) = clash
                    && !(labels && units.iter().any(String::is_empty))
                {
                    return Err(ColumnError::Unit(line, units));
                }
                let step = if step.is_finite() { step } else { 0.0 };
                return Ok(Numbers { values, step, unit: unit.filter(|_| !labels).unwrap_or_default() });
            }
            if filled == buffer.len() {
                if filled >= LONGEST {
                    return Err(ColumnError::Long(line + 1));
                }
                buffer.resize(2 * filled, 0);
            }
        }
    }

    /// The number that a line has in the column, if it has one, and what stands behind it.
    fn value<'l>(&self, line: &'l [u8]) -> Result<Option<(Printed, Behind<'l>)>, String> {
        let line = &line[..memchr::memchr(0, line).unwrap_or(line.len())];
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let end = line.iter().rposition(|byte| !blank(byte)).map_or(0, |at| at + 1);
        let mut tokens = line[..end]
            .split(|byte| self.delimiters.contains(byte))
            .filter(|token| !token.is_empty())
            .take_while(|token| token[0] != b'#');
        let Some(token) = tokens.nth(self.number - 1) else { return Ok(None) };
        let any = || number(token).filter(|_| self.any).map(Printed::from);
        let printed = Printed::parse(token).or_else(any);
        let printed = printed.ok_or_else(|| String::from_utf8_lossy(token).into_owned())?;
        let behind = match tokens.next().filter(|_| self.units) {
            Some(word) if UNITS.contains(&word) => Behind::Unit(word),
            // A number is another column.
            Some(word) if Printed::parse(word).is_none() => Behind::Label,
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
mod tests {
    use super::*;

    const FIRST: Column<'_> =
        Column { number: 1, delimiters: b" \t", longest: usize::MAX, any: false, strict: false, units: true };

    fn read(column: Column<'_>, text: &str) -> Result<Vec<f64>, (usize, String)> {
        column.read(text.as_bytes()).map(|numbers| numbers.values).map_err(|bad| match bad {
            ColumnError::Line(line, token) => (line, token),
            ColumnError::Missing(line) | ColumnError::Long(line) => (line, String::new()),
            ColumnError::Unit(line, [own, before]) => (line, format!("{own} after {before}")),
            ColumnError::Many => panic!("{MOST} numbers"),
            ColumnError::Io(error) => panic!("{error}"),
        })
    }

    #[test]
    fn lines_as_the_older_tool_takes_them() {
        let text = "1 #c\n\n#x\n 2\r\n\t0x10\n1e3 9\n+.5e1\n";
        assert_eq!(read(FIRST, text).unwrap(), [1.0, 2.0, 16.0, 1000.0, 5.0]);
        assert_eq!(read(Column { number: 2, ..FIRST }, "1 2\n3\n4  5 6").unwrap(), [2.0, 5.0]);
        assert_eq!(
            read(Column { delimiters: b",;", number: 2, ..FIRST }, "1,2;3\n,4;; 5\n").unwrap(),
            [2.0, 5.0]
        );
        assert_eq!(read(FIRST, "1\nabc\n").unwrap_err(), (2, "abc".to_owned()));
        assert_eq!(read(FIRST, "1\n2\ninf\n").unwrap_err(), (3, "inf".to_owned()));
        assert!(read(Column { any: true, ..FIRST }, "nan\n-inf").unwrap()[0].is_nan());
        assert_eq!(read(FIRST, "").unwrap(), [0.0; 0]);
        let strict = Column { strict: true, ..FIRST };
        assert_eq!(read(strict, "#c\n1\n\n3\n").unwrap_err(), (3, String::new()));
        assert_eq!(read(strict, "#c\n1\n3\n").unwrap(), [1.0, 3.0]);
        let pieces = Column { longest: 4, ..FIRST };
        assert_eq!(read(pieces, "123456\n7\n").unwrap(), [1234.0, 56.0, 7.0]);
    }

    #[test]
    fn the_longest_number_says_to_which_step_they_were_printed() {
        let step = |text: &str| FIRST.read(text.as_bytes()).unwrap().step;
        assert_eq!((step("1\n2\n"), step("1\n2.25\n3.5"), step("1e3\n2e3 x")), (1.0, 0.01, 1e3));
        assert_eq!((step("0x10\n2\n"), step("")), (0.0, 0.0));
    }

    #[test]
    fn one_unit_is_named_and_two_are_refused() {
        let unit = |text: &str| FIRST.read(text.as_bytes()).unwrap().unit;
        assert_eq!(
            (unit("1 ms\n2.5 ms x\n"), unit("1 a\n2 b\n"), unit("3\n")),
            ("ms".into(), String::new(), String::new())
        );
        assert_eq!(read(FIRST, "1 ms\n900 us\n3 s\n").unwrap_err(), (2, "us after ms".to_owned()));
        assert_eq!(read(FIRST, "1 ms\n2\n").unwrap_err(), (2, " after ms".to_owned()));
        assert_eq!(read(FIRST, "1\n2 ms\n").unwrap_err(), (2, "ms after ".to_owned()));
        assert_eq!(read(Column { units: false, ..FIRST }, "1 ms\n900 us\n").unwrap(), [1.0, 900.0]);
    }

    #[test]
    fn a_line_without_an_end_is_refused_before_memory_is() {
        let endless = std::io::repeat(0);
        assert!(matches!(FIRST.read(endless), Err(ColumnError::Long(1))));
    }

    #[test]
    fn lines_across_pieces_are_whole() {
        let text: String = (0..300_000).map(|i| format!("{i}.25\n")).collect();
        let values = read(FIRST, &text).unwrap();
        assert_eq!(
            (values.len(), values[299_999], values.iter().sum::<f64>()),
            (300_000, 299_999.25, 44_999_925_000.0)
        );
    }
}

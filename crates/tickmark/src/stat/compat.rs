//! ministat as Debian has it (20150715), byte for byte: its command line, its figures with their faults, its plot. The
//! figures of today's FreeBSD are to be had too. What is wrong with them, and what `tickmark stat` says instead, stands in
//! docs/METHODOLOGY.md.

use super::c_format::g;
use super::column::{Bad, Column};
use super::figures::{Figures, SYMBOLS};
use super::frame;
use crate::error::{Code, Error};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use tickmark_stats::student::{normal_point, t_point};
use tickmark_stats::summary::at_ranks;
use tickmark_wire::text::number;

/// Whose figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Debian,
    FreeBsd,
}

/// Confidence in per cent, and the share below the quantile that it is looked up at: 99.5 in the wrong column.
const LEVELS: [(f64, f64); 6] =
    [(80.0, 0.90), (90.0, 0.95), (95.0, 0.975), (98.0, 0.99), (99.0, 0.995), (99.5, 0.999)];
/// Where its table is not what Student's t is to three decimals, in the column of 99.5: degrees of freedom and entry. Found by
/// its output for every number of values.
const MISPRINTS: [(f64, f64); 6] =
    [(7.0, 4.782), (8.0, 4.499), (9.0, 4.296), (10.0, 4.143), (11.0, 4.024), (12.0, 3.929)];
const USAGE: &str = "\
Usage: ministat [-C column] [-c confidence] [-d delimiter(s)] [-Ans] [-w width] [file [file ...]]
\tconfidence = {80%, 90%, 95%, 98%, 99%, 99.5%}
\t-A : print statistics only. suppress the graph.
\t-C : column number to extract (starts and defaults to 1)
\t-d : delimiter(s) string, default to \" \\t\"
\t-n : print summary statistics only, no graph/test
\t-s : print avg/median/stddev bars on separate lines
\t-w : width of graph/test output (default 74 or terminal width)
";
/// No plot is wider.
const WIDEST: usize = 1_000_000;
/// What its line buffer holds.
const LONGEST: usize = 8191;

/// How ministat ends: what goes to the error stream, and the exit code.
struct End(Vec<u8>, u8);

impl End {
    /// Names of files are bytes.
    fn new(parts: &[&[u8]], code: u8) -> Self {
        Self(parts.concat(), code)
    }
}

fn usage(whine: &str) -> End {
    End(format!("{whine}\n{USAGE}").into_bytes(), 2)
}

/// What its options say.
struct Asked {
    plot: bool,
    test: bool,
    separate: bool,
    column: usize,
    level: usize,
    delimiters: Vec<u8>,
    width: usize,
    files: Vec<OsString>,
}

/// Whether the command line is `stat` with `--compat`: then it is ministat's, and this is whose figures and what it says.
pub(crate) fn asked(mut arguments: impl Iterator<Item = OsString>) -> Option<(Flavour, Vec<OsString>)> {
    if arguments.next()? != "stat" {
        return None;
    }
    let mut flavour = None;
    let rest = arguments.filter(|argument| {
        let found = match argument.to_str() {
            Some("--compat" | "--compat=debian") => Some(Flavour::Debian),
            Some("--compat=freebsd") => Some(Flavour::FreeBsd),
            _ => return true,
        };
        flavour = flavour.or(found);
        false
    });
    let rest = rest.collect();
    flavour.map(|flavour| (flavour, rest))
}

/// Carries out ministat's command line.
pub(crate) fn run(flavour: Flavour, arguments: &[OsString]) -> Result<Code, Error> {
    let ended = options(arguments).and_then(|asked| {
        let sets = read(&asked, flavour)?;
        let out = std::io::stdout().lock();
        let mut out = std::io::BufWriter::with_capacity(1 << 16, out);
        match report(&mut out, flavour, &asked, &sets).and_then(|end| out.flush().map(|()| end)) {
            // Whoever read has gone.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(End(format!("ministat: {error}\n").into_bytes(), 1)),
            Ok(end) => end.map_or(Ok(()), Err),
        }
    });
    match ended {
        Ok(()) => Ok(Code::Done),
        Err(End(text, code)) => {
            // Nothing is left to say where it cannot be said.
            let _ = std::io::stderr().write_all(&text);
            Ok(if code == 1 { Code::Failed } else { Code::Usage })
        }
    }
}

/// Its options, as getopt finds them: anywhere, values attached or not, up to `--`.
fn options(arguments: &[OsString]) -> Result<Asked, End> {
    let mut asked = Asked {
        plot: true,
        test: true,
        separate: false,
        column: 1,
        level: usize::MAX,
        delimiters: b" \t".to_vec(),
        width: terminal_width().unwrap_or(74),
        files: Vec::new(),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            asked.files.extend(words.by_ref().cloned());
        } else if let Some(letters @ [_, ..]) = word.as_bytes().strip_prefix(b"-") {
            let unknown = |why: &str, letter: u8| {
                let rest = usage("Unknown option").0;
                End::new(&[b"ministat: ", why.as_bytes(), b" -- '", &[letter], b"'\n", &rest], 2)
            };
            for (at, letter) in letters.iter().enumerate() {
                match letter {
                    b'A' => asked.plot = false,
                    b'n' => asked.test = false,
                    b's' => asked.separate = true,
                    b'C' | b'c' | b'd' | b'w' => {
                        let attached = &letters[at + 1..];
                        let next = || words.next().map(|word| word.as_bytes());
                        let value = Some(attached).filter(|value| !value.is_empty()).or_else(next);
                        let missing = || unknown("option requires an argument", *letter);
                        asked.set(*letter, value.ok_or_else(missing)?)?;
                        break;
                    }
                    other => return Err(unknown("invalid option", *other)),
                }
            }
        } else {
            asked.files.push(word.clone());
            // Then options end at the first word that is none.
            if std::env::var_os("POSIXLY_CORRECT").is_some() {
                asked.files.extend(words.by_ref().cloned());
            }
        }
    }
    if asked.level == usize::MAX {
        asked.level = 2;
    }
    match asked.files.len() {
        0 => asked.files.push("-".into()),
        8.. => return Err(usage("Too many datasets.")),
        _ => {}
    }
    Ok(asked)
}

impl Asked {
    fn set(&mut self, letter: u8, value: &[u8]) -> Result<(), End> {
        match letter {
            b'C' => {
                self.column = match long(value).ok_or_else(|| usage("Invalid column number."))? {
                    column @ 1.. => column as usize,
                    _ => return Err(usage("Column number should be positive.")),
                };
            }
            b'c' => {
                // Nothing at all is zero to strtod.
                let level = if value.is_empty() { Some(0.0) } else { number(value) };
                let level = level.ok_or_else(|| usage("Not a floating point number"))?;
                if let Some(at) = LEVELS.iter().position(|(percent, _)| *percent == level) {
                    self.level = at;
                }
                if self.level == usize::MAX {
                    return Err(usage("No support for confidence level"));
                }
            }
            b'd' if value.is_empty() => return Err(usage("Can't use empty delimiter string")),
            b'd' => self.delimiters = value.to_vec(),
            _ => {
                self.width = match long(value).ok_or_else(|| usage("Invalid width, not a number."))? {
                    width @ 0.. => width as usize,
                    _ => return Err(usage("Unable to move beyond left margin.")),
                };
            }
        }
        Ok(())
    }
}

/// As strtol: blanks, a sign, digits; nothing at all is zero.
fn long(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.is_empty() { Some(0) } else { text.trim_start().parse().ok() }
}

/// $COLUMNS, else two less than the terminal has; none where the output is no terminal.
fn terminal_width() -> Option<usize> {
    use std::io::IsTerminal;
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let told = std::env::var("COLUMNS").ok().filter(|columns| !columns.is_empty());
    match told {
        Some(columns) => Some(leading(&columns)),
        None => terminal_size::terminal_size().map(|(width, _)| usize::from(width.0).saturating_sub(2)),
    }
}

/// As atoi: blanks, a sign, the digits that follow; a negative width is as good as none.
fn leading(text: &str) -> usize {
    let text = text.trim_start();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().unwrap_or(if end > 0 { usize::MAX } else { 0 })
}

/// A set as ministat keeps it.
struct Set {
    name: Vec<u8>,
    values: Vec<f64>,
    figures: Figures,
}

/// Reads all files at once, and tells of the first that is bad.
fn read(asked: &Asked, flavour: Flavour) -> Result<Vec<Set>, End> {
    let column = Column {
        number: asked.column,
        delimiters: &asked.delimiters,
        longest: LONGEST,
        any: true,
        strict: false,
    };
    let shown = |file: &OsStr| if file == "-" { b"<stdin>" } else { file.as_bytes() }.to_vec();
    let one = |file: &OsStr| -> Result<Set, End> {
        let name = shown(file);
        let read = if file == "-" {
            column.read(std::io::stdin().lock())
        } else {
            let opened = std::fs::File::open(file);
            let failed = |error: std::io::Error| {
                let why = strerror(&error);
                End::new(&[b"ministat: Cannot open ", &name, b": ", why.as_bytes(), b"\n"], 1)
            };
            column.read(opened.map_err(failed)?)
        };
        let values = match read {
            Ok(numbers) => numbers.values,
            Err(Bad::Line(line, _)) => {
                let line = line.to_string();
                let parts = [b"ministat: Invalid data on line ", line.as_bytes(), b" in ", &name, b"\n"];
                return Err(End::new(&parts, 2));
            }
            // What cannot be read ends like a file that is over.
            Err(Bad::Io(_) | Bad::Missing(_)) => Vec::new(),
        };
        if values.len() < 3 {
            return Err(End::new(&[b"Dataset ", &name, b" must contain at least 3 data points\n"], 2));
        }
        let figures = figures(&values, flavour);
        Ok(Set { name, values, figures })
    };
    // Standard input can be read once; the second time it is over.
    if asked.files.iter().filter(|file| *file == "-").count() > 1 {
        return asked.files.iter().map(|file| one(file)).collect();
    }
    std::thread::scope(|scope| {
        let one = &one;
        let readers: Vec<_> = asked.files.iter().map(|file| scope.spawn(move || one(file))).collect();
        let joined = readers.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .map(|read| read.unwrap_or_else(|_| Err(End(b"ministat: out of memory\n".to_vec(), 1))))
            .collect()
    })
}

/// The system's words for an error, without Rust's number behind them.
fn strerror(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn report(
    out: &mut impl Write,
    flavour: Flavour,
    asked: &Asked,
    sets: &[Set],
) -> std::io::Result<Option<End>> {
    let plot = asked.plot && asked.test;
    if plot && asked.width > WIDEST {
        let why =
            format!("a plot of more than {WIDEST} columns is not drawn: here ministat runs out of memory");
        return Ok(Some(End(format!("ministat: {why}\n").into_bytes(), 2)));
    }
    let drawn: Vec<_> = sets.iter().map(|set| (set.values.as_slice(), set.figures)).collect();
    if plot && !frame::possible(&drawn, asked.width) {
        let why = "numbers that are not finite, or a width of 1, cannot be plotted: here ministat crashes";
        return Ok(Some(End(format!("ministat: {why}\n").into_bytes(), 2)));
    }
    for (set, symbol) in sets.iter().zip(&SYMBOLS[1..]) {
        write!(out, "{symbol} ")?;
        out.write_all(&set.name)?;
        writeln!(out)?;
    }
    if plot {
        frame::draw(out, &drawn, asked.width, asked.separate)?;
    }
    writeln!(out, "    N           Min           Max        Median           Avg        Stddev")?;
    for (index, set) in sets.iter().enumerate() {
        let f = &set.figures;
        write!(out, "{} {:3}", SYMBOLS[index + 1], set.values.len())?;
        for value in [f.least, f.most, f.median, f.mean, f.deviation()] {
            write!(out, " {:>13}", g(value, 8))?;
        }
        writeln!(out)?;
        if index > 0 && asked.test {
            relative(out, flavour, &sets[0].figures, f, asked.level)?;
        }
    }
    Ok(None)
}

fn figures(values: &[f64], flavour: Flavour) -> Figures {
    let count = values.len() as f64;
    // In the order of the input, as rounding depends on it.
    let (sum, squares) = values.iter().fold((0.0, 0.0), |(sum, squares), v| (sum + v, squares + v * v));
    let mean = sum / count;
    let variance = match flavour {
        Flavour::Debian => (squares - sum * sum / count) / (count - 1.0),
        Flavour::FreeBsd => values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (count - 1.0),
    };
    let middle = values.len() / 2;
    let (least, most, at_middle, below) = if values.iter().any(|v| v.is_nan()) {
        let sorted = merge_sorted(values);
        (sorted[0], sorted[sorted.len() - 1], sorted[middle], sorted[middle - 1])
    } else {
        let found = at_ranks(values, &[0, values.len() - 1, middle, middle - 1]);
        let at = |found: f64, rank: usize| if found == 0.0 { zero(values, rank) } else { found };
        let last = values.len() - 1;
        (at(found[0], 0), at(found[1], last), at(found[2], middle), at(found[3], middle - 1))
    };
    let median = match flavour {
        Flavour::FreeBsd if values.len().is_multiple_of(2) => (below + at_middle) / 2.0,
        _ => at_middle,
    };
    Figures { count, least, most, median, mean, variance }
}

/// The zero with this rank among values of which some are zeros: 0 and -0 are equal, and equals stay in the order of the input.
fn zero(values: &[f64], rank: usize) -> f64 {
    let below = values.iter().filter(|value| **value < 0.0).count();
    values.iter().copied().filter(|value| *value == 0.0).nth(rank - below).unwrap_or(0.0)
}

/// As glibc's qsort sorts where not all can be compared: halves, merged, the first of equals first.
fn merge_sorted(values: &[f64]) -> Vec<f64> {
    if values.len() < 2 {
        return values.to_vec();
    }
    let (first, second) = values.split_at(values.len() / 2);
    let (first, second) = (merge_sorted(first), merge_sorted(second));
    let (mut a, mut b, mut merged) = (0, 0, Vec::with_capacity(values.len()));
    while a < first.len() && b < second.len() {
        if first[a] > second[b] {
            merged.push(second[b]);
            b += 1;
        } else {
            merged.push(first[a]);
            a += 1;
        }
    }
    merged.extend_from_slice(&first[a..]);
    merged.extend_from_slice(&second[b..]);
    merged
}

/// Student's t with pooled variance against the first set.
fn relative(
    out: &mut impl Write,
    flavour: Flavour,
    base: &Figures,
    set: &Figures,
    level: usize,
) -> std::io::Result<()> {
    let (percent, below) = LEVELS[level];
    let freedom = set.count + base.count - 2.0;
    // Its table has three decimals and a hundred rows; then it goes over to the normal distribution.
    let t = if freedom > 100.0 { normal_point(1.0 - below) } else { t_point(1.0 - below, freedom) };
    let misprint = MISPRINTS.iter().find(|(df, _)| *df == freedom && below == 0.999);
    let t = misprint.map_or((t * 1000.0).round() / 1000.0, |(_, t)| *t);
    let mut pooled = (set.count - 1.0) * set.variance + (base.count - 1.0) * base.variance;
    pooled /= freedom;
    pooled = pooled.sqrt();
    let s = pooled * (1.0 / set.count + 1.0 / base.count).sqrt();
    let (difference, error) = (set.mean - base.mean, t * s);
    let level = format!("{percent:.1}%");
    if difference.abs() > error {
        let share = match flavour {
            Flavour::Debian => error * 100.0 / base.mean,
            Flavour::FreeBsd => {
                let ratio = set.mean / base.mean;
                let (m, n) = (base.count, set.count);
                let both = (m - 1.0) * base.variance * ratio * ratio + (n - 1.0) * set.variance;
                100.0 * t * (both * (m + n) / (m * n * freedom)).sqrt() / base.mean
            }
        };
        writeln!(out, "Difference at {level} confidence")?;
        writeln!(out, "\t{} +/- {}", g(difference, 6), g(error, 6))?;
        writeln!(out, "\t{}% +/- {}%", g(difference * 100.0 / base.mean, 6), g(share, 6))?;
        writeln!(out, "\t(Student's t, pooled s = {})", g(pooled, 6))
    } else {
        writeln!(out, "No difference proven at {level} confidence")
    }
}

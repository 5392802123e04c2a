//! ministat as Debian has it (20150715), byte for byte: its command line, its figures with their faults, its plot. The
//! figures of today's FreeBSD are to be had too. What is wrong with them, and what `tickmark stat` says instead, stands in
//! docs/METHODOLOGY.md.

mod options;

use super::c_format::g;
use super::column::{Column, ColumnError};
use super::figures::{Figures, SYMBOLS};
use super::frame;
use crate::error::{Code, Error};
use options::{MinistatOptions, options};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use tickmark_stats::student::{normal_point, t_point};
use tickmark_stats::summary::at_ranks;

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
/// No plot is wider.
const WIDEST: usize = 1_000_000;
/// Size of its line buffer.
const LONGEST: usize = 8191;

/// How ministat ends: what goes to the error stream, and the exit code.
struct End(Vec<u8>, u8);

impl End {
    /// Names of files are bytes.
    fn new(parts: &[&[u8]], code: u8) -> Self {
        Self(parts.concat(), code)
    }
}

/// Whether the command line is `stat` with `--compat`: then it is ministat's, and this is whose figures and what it says.
pub(crate) fn requested_ministat(
    mut arguments: impl Iterator<Item = OsString>,
) -> Option<(Flavour, Vec<OsString>)> {
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

/// ministat's page of these sets, each with its name; what it says instead where one has fewer than three values. As the documents of 2006 have it: the median
/// of an even number of values is the mean of the middle two, per cents are those of Debian's.
pub(crate) fn page(sets: &[(&str, &[f64])]) -> String {
    let few = sets.iter().find(|(_, values)| values.len() < 3);
    if let Some((name, values)) = few {
        return format!("{name} has {} values; ministat wants three\n", values.len());
    }
    let set = |(name, values): &(&str, &[f64])| Set {
        name: name.as_bytes().to_vec(),
        values: values.to_vec(),
        figures: figures(values, Flavour::FreeBsd),
    };
    let sets: Vec<Set> = sets.iter().map(set).collect();
    let mut out = Vec::new();
    match report(&mut out, Flavour::Debian, &MinistatOptions::usual(), &sets) {
        Ok(None) => String::from_utf8_lossy(&out).into_owned(),
        Ok(Some(End(text, _))) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => format!("{error}\n"),
    }
}

/// Carries out ministat's command line.
pub(crate) fn run(flavour: Flavour, arguments: &[OsString]) -> Result<Code, Error> {
    let ended = options(arguments).and_then(|requested| {
        let sets = read(&requested, flavour)?;
        let out = std::io::stdout().lock();
        let mut out = std::io::BufWriter::with_capacity(1 << 16, out);
        match report(&mut out, flavour, &requested, &sets).and_then(|end| out.flush().map(|()| end)) {
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

/// A set as ministat keeps it.
struct Set {
    name: Vec<u8>,
    values: Vec<f64>,
    figures: Figures,
}

/// Reads all files at once, and tells of the first that is bad.
fn read(options: &MinistatOptions, flavour: Flavour) -> Result<Vec<Set>, End> {
    let column = Column {
        number: options.column,
        delimiters: &options.delimiters,
        longest: LONGEST,
        any: true,
        strict: false,
        forms: None,
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
            Err(ColumnError::Line(line, _)) => {
                let line = line.to_string();
                let parts = [b"ministat: Invalid data on line ", line.as_bytes(), b" in ", &name, b"\n"];
                return Err(End::new(&parts, 2));
            }
            // What cannot be read ends like a file that is over.
            // Its buffer ends every line; of units it knows nothing.
            Err(
                ColumnError::Many
                | ColumnError::Long(_)
                | ColumnError::Unit(..)
                | ColumnError::Heading(_)
                | ColumnError::Io(_)
                | ColumnError::Missing(_),
            ) => Vec::new(),
        };
        if values.len() < 3 {
            return Err(End::new(&[b"Dataset ", &name, b" must contain at least 3 data points\n"], 2));
        }
        let figures = figures(&values, flavour);
        Ok(Set { name, values, figures })
    };
    // Standard input can be read once; the second time it is over.
    if options.files.iter().filter(|file| *file == "-").count() > 1 {
        return options.files.iter().map(|file| one(file)).collect();
    }
    std::thread::scope(|scope| {
        let one = &one;
        let readers: Vec<_> = options.files.iter().map(|file| scope.spawn(move || one(file))).collect();
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
    options: &MinistatOptions,
    sets: &[Set],
) -> std::io::Result<Option<End>> {
    let plot = options.plot && options.test;
    if plot && options.width > WIDEST {
        let why =
            format!("a plot of more than {WIDEST} columns is not drawn: here ministat runs out of memory");
        return Ok(Some(End(format!("ministat: {why}\n").into_bytes(), 2)));
    }
    let drawn: Vec<_> = sets.iter().map(|set| (set.values.as_slice(), set.figures)).collect();
    if plot && !frame::possible(&drawn, options.width) {
        let why = "numbers that are not finite, or a width of 1, cannot be plotted: here ministat crashes";
        return Ok(Some(End(format!("ministat: {why}\n").into_bytes(), 2)));
    }
    for (set, symbol) in sets.iter().zip(&SYMBOLS[1..]) {
        write!(out, "{symbol} ")?;
        out.write_all(&set.name)?;
        writeln!(out)?;
    }
    if plot {
        frame::draw(out, &drawn, options.width, options.separate)?;
    }
    writeln!(out, "    N           Min           Max        Median           Avg        Stddev")?;
    for (index, set) in sets.iter().enumerate() {
        let f = &set.figures;
        write!(out, "{} {:3}", SYMBOLS[index + 1], set.values.len())?;
        for value in [f.least, f.most, f.median, f.mean, f.deviation()] {
            write!(out, " {:>13}", g(value, 8))?;
        }
        writeln!(out)?;
        if index > 0 && options.test {
            relative(out, flavour, &sets[0].figures, f, options.level)?;
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

//! Columns of numbers, described and compared with the first.

use crate::cli::{ColumnName, Format, Stat};
use crate::error::{Code, Error};
use crate::stat::column::{Column, ColumnError, MOST, Numbers};
use crate::stat::distances::Distances;
use crate::stat::forms::{Forms, factor};
use crate::stat::{self, Manner};
use std::io::{BufRead, Read};
use tickmark_stats::verdict::{Rule, Verdict};

/// As wide as the older tool's plot.
const WIDTH: usize = 74;

pub(in crate::command) fn run(options: &Stat) -> Result<Code, Error> {
    if options.compat.is_some() {
        return Err(Error::Usage(
            "with --compat the command begins with stat: tickmark stat --compat FILE".to_owned(),
        ));
    }
    let mut read = read(options)?;
    convert(&mut read)?;
    let remarks: Vec<String> = read.iter().flat_map(|(name, numbers)| remarks(name, numbers)).collect();
    let unit = read.first().map_or_else(String::new, |(_, numbers)| numbers.unit.clone());
    let step = read.iter().map(|(_, numbers)| numbers.step).fold(0.0, f64::max);
    let exact: Vec<Option<Distances>> = read.iter().map(|(_, numbers)| numbers.distances()).collect();
    let mut sets: Vec<(String, Vec<f64>)> = read
        .into_iter()
        .map(|(name, numbers)| (named(&name, numbers.heading.as_deref()), numbers.values))
        .collect();
    let manner = Manner {
        rule: Rule { margin: options.margin, level: 1.0 - options.confidence, ..Rule::default() },
        paired: options.paired,
        drop_outliers: options.drop_outliers,
        test: !options.no_test,
        step,
    };
    check(&sets, options)?;
    let model = stat::build(&mut sets, &exact, manner);
    match options.output.format {
        Format::Json => {
            crate::command::print_page(&stat::json::StatPage::new(&model, unit, remarks))?;
        }
        Format::Text => {
            let terminal = tickmark_render::reader_width().map(|width| width.saturating_sub(2));
            let width = options.width.map_or(terminal.unwrap_or(WIDTH), usize::from).clamp(10, 500);
            let plot =
                (!options.no_plot && !options.no_test).then(|| stat::plot(&sets, &exact, &model, width));
            let unit = if unit.is_empty() { unit } else { format!("all values are in {unit}\n") };
            let remarks: String = remarks.iter().map(|remark| format!("{remark}\n")).collect();
            crate::command::print(&(stat::text::render(&model, plot.as_deref()) + &unit + &remarks))?;
        }
    }
    let any = |is: fn(&Verdict) -> bool| model.against.iter().any(|one| is(&one.comparison.verdict));
    Ok(match options.fail_on {
        None => Code::Done,
        Some(_) if any(|verdict| matches!(verdict, Verdict::Beyond | Verdict::Changed)) => Code::Differs,
        Some(_) if any(|verdict| matches!(verdict, Verdict::Undecided { .. })) => {
            crate::notice!("tickmark: warning: a set cannot be judged for --fail-on: undecided");
            Code::Unjudged
        }
        Some(_) => Code::Done,
    })
}

/// Reads all files at once: the name and the numbers of each.
fn read(options: &Stat) -> Result<Vec<(String, Numbers)>, Error> {
    let stdin = "-".to_owned();
    let files =
        if options.files.is_empty() { std::slice::from_ref(&stdin) } else { options.files.as_slice() };
    if files.iter().filter(|file| **file == stdin).count() > 1 {
        return Err(Error::Usage("standard input can be read once; name - once".to_owned()));
    }
    let (number, heading) = match &options.column {
        ColumnName::Number(number) => (*number, None),
        ColumnName::Heading(heading) => (1, Some(heading.as_str())),
    };
    let column = Column {
        number,
        delimiters: options.delimiters.as_bytes(),
        longest: usize::MAX,
        any: false,
        strict: options.paired,
        forms: Some(Forms { heading, decimal_comma: options.decimal == ",", missing: &options.missing }),
    };
    let one = |file: &String| {
        let name = if *file == stdin { "standard input".to_owned() } else { file.clone() };
        let mut input: Box<dyn BufRead> = if *file == stdin {
            Box::new(std::io::BufReader::new(std::io::stdin()))
        } else {
            Box::new(std::io::BufReader::new(std::fs::File::open(file).map_err(Error::file("read", file))?))
        };
        let start = input.fill_buf().map_err(Error::file("read", file))?;
        if start.trim_ascii_start().starts_with(b"{") || start.trim_ascii_start().starts_with(b"[") {
            return Ok((name.clone(), from_json(&name, input, heading)?));
        }
        let read = column.read(input);
        let numbers = read.map_err(|bad| match bad {
            ColumnError::Heading(known) => Error::Usage(format!(
                "{name} has no column {:?}; its first line has {} (-d gives the separators)",
                heading.unwrap_or_default(),
                known.join(", ")
            )),
            ColumnError::Long(line) => {
                Error::Usage(format!("line {line} of {name} is too long for a line of numbers"))
            }
            ColumnError::Many => Error::Usage(format!("{name} has more than {MOST} lines")),
            ColumnError::Unit(line, [own, before]) => Error::Usage(format!(
                "line {line} of {name}: {}, and the lines before it {}; convert them to one unit first",
                with_unit(&own),
                with_unit(&before)
            )),
            ColumnError::Missing(line) => Error::Usage(format!(
                "line {line} of {name} has no number in column {}: with --paired every line needs one",
                options.column
            )),
            ColumnError::Line(line, token) => {
                let short: String = token.chars().take(40).collect();
                Error::Usage(format!(
                    "line {line} of {name}: {short:?} is not a plain finite number (column {}){}",
                    options.column,
                    advice(&token)
                ))
            }
            ColumnError::Io(error) => Error::file("read", file)(error),
        })?;
        Ok((name, numbers))
    };
    std::thread::scope(|scope| {
        let one = &one;
        let readers: Vec<_> = files.iter().map(|file| scope.spawn(move || one(file))).collect();
        let ended = |_| Err(Error::Usage("a reader ended; is there enough memory?".to_owned()));
        readers.into_iter().map(|reader| reader.join().unwrap_or_else(ended)).collect::<Result<Vec<_>, _>>()
    })
}

/// The option that would take a word that is no number.
fn advice(token: &str) -> String {
    match token.trim_matches('"') {
        text if text.contains(',') && text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            "; --decimal , if the comma is the decimal mark; thousands are not read: delete them".to_owned()
        }
        text @ ("-" | "--" | "NaN" | "nan" | "NA" | "N/A" | "n/a" | "null" | "None" | "inf") => {
            format!("; --missing {text} leaves it out")
        }
        _ => "; -C chooses another column, by number or heading".to_owned(),
    }
}

/// The numbers at a path of a JSON text: members by their names, `*` for all of a list or an object.
fn from_json(name: &str, input: impl Read, path: Option<&str>) -> Result<Numbers, Error> {
    let mut text = String::new();
    input.take(MOST_JSON + 1).read_to_string(&mut text).map_err(Error::file("read", name))?;
    if text.len() as u64 > MOST_JSON {
        return Err(Error::Usage(format!("{name} has more than {} MiB of JSON", MOST_JSON >> 20)));
    }
    let mut pages = Vec::new();
    for page in serde_json::Deserializer::from_str(&text).into_iter::<serde_json::Value>() {
        pages.push(page.map_err(|error| Error::Usage(format!("{name} is no complete JSON: {error}")))?);
    }
    let Some(path) = path else {
        let example = pages
            .first()
            .and_then(|page| path_of_number(page, 0, true).or_else(|| path_of_number(page, 0, false)))
            .unwrap_or_else(|| "results.*.mean".to_owned());
        return Err(Error::Usage(format!(
            "{name} is JSON: give the path of its numbers, such as -C '{example}'"
        )));
    };
    let mut found: Vec<&serde_json::Value> = pages.iter().collect();
    for part in path.split('.') {
        found = found.into_iter().flat_map(|value| members(value, part)).collect();
    }
    // A list at the end is all of its numbers.
    let found = found
        .into_iter()
        .flat_map(|value| value.as_array().map_or_else(|| vec![value], |all| all.iter().collect()));
    let (mut values, mut large) = (Vec::new(), Vec::new());
    for value in found {
        if let Some(integer) = value.as_i64().filter(|integer| integer.unsigned_abs() >= 1 << 53) {
            large.push((values.len(), i128::from(integer)));
        }
        let number = value.as_f64().filter(|number| number.is_finite());
        values.push(number.ok_or_else(|| {
            let text: String = value.to_string().chars().take(40).collect();
            Error::Usage(format!("{name}: {text} at {path} is no number"))
        })?);
    }
    if values.is_empty() {
        return Err(Error::Usage(format!("{name} has nothing at {path}")));
    }
    Ok(Numbers { values, step: 0.0, unit: String::new(), heading: None, converted: 0, missing: 0, large })
}

/// A longer JSON text is refused, bytes.
const MOST_JSON: u64 = 64 << 20;

fn members<'v>(value: &'v serde_json::Value, part: &str) -> Vec<&'v serde_json::Value> {
    match (value, part) {
        (serde_json::Value::Array(all), "*") => all.iter().collect(),
        (serde_json::Value::Object(all), "*") => all.values().collect(),
        (serde_json::Value::Array(all), number) => {
            number.parse::<usize>().ok().and_then(|at| all.get(at)).into_iter().collect()
        }
        (serde_json::Value::Object(all), name) => all.get(name).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The path of the first number of a JSON value, or of the first fraction: counts and codes are whole.
fn path_of_number(value: &serde_json::Value, depth: usize, is_fraction: bool) -> Option<String> {
    let below = |name: &str, value| {
        let rest = path_of_number(value, depth + 1, is_fraction)?;
        Some(if rest.is_empty() { name.to_owned() } else { format!("{name}.{rest}") })
    };
    match value {
        serde_json::Value::Number(number) if number.is_f64() || !is_fraction => Some(String::new()),
        serde_json::Value::Array(all) if depth < 8 => all.first().and_then(|first| below("*", first)),
        serde_json::Value::Object(all) if depth < 8 => {
            all.iter().find_map(|(name, value)| below(name, value))
        }
        _ => None,
    }
}

/// The name of a set: its file, and the heading of its column.
fn named(name: &str, heading: Option<&str>) -> String {
    heading.map_or_else(|| name.to_owned(), |heading| format!("{name}: {heading}"))
}

/// What was done to numbers as they were read.
fn remarks(name: &str, numbers: &Numbers) -> Vec<String> {
    let converted = (numbers.converted > 0).then(|| {
        format!(
            "{name}: {} converted to {}",
            tickmark_render::count(numbers.converted as u32, "value"),
            numbers.unit
        )
    });
    let missing = (numbers.missing > 0).then(|| {
        format!(
            "{name}: {} without a number left out",
            tickmark_render::count(numbers.missing as u32, "line")
        )
    });
    let rounded = (!numbers.large.is_empty() && numbers.distances().is_none())
        .then(|| format!("{name}: integers above 2^53 lose their last digits: subtract a constant first"));
    [converted, missing, rounded].into_iter().flatten().collect()
}

/// Converts all sets to the unit of the first one.
///
/// # Errors
/// Units of other kinds: their numbers are no figures of one kind.
fn convert(sets: &mut [(String, Numbers)]) -> Result<(), Error> {
    let Some(((first, base), others)) = sets.split_first_mut() else { return Ok(()) };
    for (name, other) in others.iter_mut().filter(|(_, other)| other.unit != base.unit) {
        let Some(factor) = factor(&other.unit, &base.unit) else {
            return Err(Error::Usage(format!(
                "{first}: {}, and {name}: {}; convert them to one unit first",
                with_unit(&base.unit),
                with_unit(&other.unit)
            )));
        };
        other.values.iter_mut().for_each(|value| *value *= factor);
        other.large.clear();
        (other.step, other.converted) = (other.step * factor, other.values.len());
        other.unit.clone_from(&base.unit);
    }
    Ok(())
}

fn with_unit(unit: &str) -> String {
    if unit.is_empty() { "numbers without a unit".to_owned() } else { format!("numbers in {unit}") }
}

fn check(sets: &[(String, Vec<f64>)], options: &Stat) -> Result<(), Error> {
    for (name, values) in sets {
        let column = &options.column;
        match values.len() {
            0 => return Err(Error::Usage(format!("{name} has no number in column {column}"))),
            1 => {
                return Err(Error::Usage(format!(
                    "{name} has one number in column {column}: two or more are needed to say how far they spread"
                )));
            }
            _ => {}
        }
        // The sum of squares of so many values must be a number.
        let most = (f64::MAX / values.len() as f64).sqrt() / 2.0;
        if let Some(value) = values.iter().find(|value| value.abs() > most) {
            return Err(Error::Usage(format!(
                "{name} has {value:e}: the squares of values above {most:.0e} overflow; divide them all by a constant"
            )));
        }
    }
    if options.fail_on.is_some() && sets.len() < 2 {
        return Err(Error::Usage("--fail-on compares: give two files or more".to_owned()));
    }
    let count = |at: usize| sets[at].1.len();
    if let Some(other) = (1..sets.len()).find(|other| options.paired && count(*other) != count(0)) {
        let (base, name) = (&sets[0].0, &sets[other].0);
        return Err(Error::Usage(format!(
            "--paired needs as many values in each file: {base} has {}, {name} has {}",
            count(0),
            count(other)
        )));
    }
    Ok(())
}

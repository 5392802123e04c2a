//! Columns of numbers, described and compared with the first.

use crate::cli::{Format, Stat};
use crate::error::{Code, Error};
use crate::stat::column::{Column, ColumnError, MOST, Numbers};
use crate::stat::{self, Manner};
use std::io::IsTerminal;
use tickmark_stats::verdict::{Rule, Verdict};

/// As wide as the older tool's plot.
const WIDTH: usize = 74;

pub(in crate::command) fn run(options: &Stat) -> Result<Code, Error> {
    if options.compat.is_some() {
        return Err(Error::Usage(
            "with --compat the command begins with stat: tickmark stat --compat FILE".to_owned(),
        ));
    }
    let read = read(options)?;
    check_units(&read)?;
    let unit = read.first().map_or_else(String::new, |(_, numbers)| numbers.unit.clone());
    let step = read.iter().map(|(_, numbers)| numbers.step).fold(0.0, f64::max);
    let mut sets: Vec<(String, Vec<f64>)> =
        read.into_iter().map(|(name, numbers)| (name, numbers.values)).collect();
    let manner = Manner {
        rule: Rule { margin: options.margin, level: 1.0 - options.confidence, ..Rule::default() },
        paired: options.paired,
        drop_outliers: options.drop_outliers,
        test: !options.no_test,
        step,
    };
    check(&sets, options)?;
    let model = stat::build(&mut sets, manner);
    match options.output.format {
        Format::Json => {
            let mut page = stat::json::render(&model);
            page["unit"] = unit.into();
            crate::command::print_json(&page)?;
        }
        Format::Text => {
            let wide = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
            let terminal = wide.map(|(width, _)| usize::from(width.0).saturating_sub(2));
            let width = options.width.map_or(terminal.unwrap_or(WIDTH), usize::from).clamp(10, 500);
            let plot = (!options.no_plot && !options.no_test).then(|| stat::plot(&sets, &model, width));
            let unit = if unit.is_empty() { unit } else { format!("all values are in {unit}\n") };
            crate::command::print(&(stat::text::render(&model, plot.as_deref()) + &unit))?;
        }
    }
    let any = |is: fn(&Verdict) -> bool| model.against.iter().any(|one| is(&one.comparison.verdict));
    Ok(match options.fail_on {
        None => Code::Done,
        Some(_) if any(|verdict| matches!(verdict, Verdict::Beyond | Verdict::Changed)) => Code::Differs,
        Some(_) if any(|verdict| matches!(verdict, Verdict::Undecided { .. })) => {
            anstream::eprintln!("tickmark: warning: a set cannot be judged for --fail-on: undecided");
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
    let column = Column {
        number: options.column,
        delimiters: options.delimiters.as_bytes(),
        longest: usize::MAX,
        any: false,
        strict: options.paired,
        units: true,
    };
    let one = |file: &String| {
        let name = if *file == stdin { "standard input".to_owned() } else { file.clone() };
        let read = if *file == stdin {
            column.read(std::io::stdin().lock())
        } else {
            column.read(std::fs::File::open(file).map_err(Error::file("read", file))?)
        };
        let numbers = read.map_err(|bad| match bad {
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
                    "line {line} of {name}: {short:?} is not a plain finite number (column {})",
                    options.column
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

/// Refuses sets whose units differ: their numbers are no figures of one kind.
fn check_units(sets: &[(String, Numbers)]) -> Result<(), Error> {
    let Some(((first, base), others)) = sets.split_first() else { return Ok(()) };
    match others.iter().find(|(_, other)| other.unit != base.unit) {
        None => Ok(()),
        Some((name, other)) => Err(Error::Usage(format!(
            "{first}: {}, and {name}: {}; convert them to one unit first",
            with_unit(&base.unit),
            with_unit(&other.unit)
        ))),
    }
}

fn with_unit(unit: &str) -> String {
    if unit.is_empty() { "numbers without a unit".to_owned() } else { format!("numbers in {unit}") }
}

fn check(sets: &[(String, Vec<f64>)], options: &Stat) -> Result<(), Error> {
    for (name, values) in sets {
        let column = options.column;
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

//! From the command line to the commands that are measured, each with what is its own.

use super::typed::{Typed, plain, split, typed};
use crate::cli::Versus;
use crate::cli::versus::{Vary, lettered};
use crate::error::Error;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tickmark_drive::experiment::{Extraction, Finder, Program};
use tickmark_wire::{Better, ExecutionRequest, OutputTarget, names};

/// Commands of an experiment at most: each has a letter.
pub(super) const MOST: usize = 26;
/// A command with what comes before and after all of its runs.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) label: String,
    pub(super) program: Program,
    pub(super) setup: Option<String>,
    pub(super) cleanup: Option<String>,
    /// Values of the parameters in it.
    pub(super) parameters: Vec<(String, String)>,
}

/// All commands. `fixed` is how many there are by what differs, a knob or revisions, with their names.
pub(super) fn subjects(
    options: &Versus,
    fixed: &[String],
    folders: &[PathBuf],
) -> Result<Vec<Subject>, Error> {
    let typed = typed(options)?;
    let lettered_options = [&options.env, &options.cwd, &options.cpu, &options.priority];
    let letters = lettered_options.into_iter().flatten().filter_map(|text| lettered(text).0.map(|at| at + 1));
    let wanted = letters.max().unwrap_or(1).max(fixed.len());
    let count = if typed.len() == 1 { wanted } else { typed.len() };
    if wanted > count || (!fixed.is_empty() && typed.len() > 1) {
        let why = if fixed.is_empty() {
            format!("there are {count} commands, and an option is for {}", letter(wanted - 1))
        } else {
            format!(
                "--knob and --rev compare one command under {}; {} were given",
                fixed.join(" and "),
                typed.len()
            )
        };
        return Err(Error::Usage(why));
    }
    if count > MOST {
        return Err(Error::Usage(format!("{count} commands are too many: {MOST} at most")));
    }
    let each = |what: &str, given: &[String]| {
        let fits = given.len() <= 1 || given.len() == count;
        let why = || {
            format!("--{what} is given {} times for {count} commands: once, or once for each", given.len())
        };
        fits.then_some(()).ok_or_else(|| Error::Usage(why()))
    };
    for (what, given) in [("prepare", &options.prepare), ("conclude", &options.conclude)] {
        each(what, given)?;
    }
    for (what, given) in [("setup", &options.setup), ("cleanup", &options.cleanup)] {
        each(what, given)?;
    }
    if options.command_name.len() > count {
        return Err(Error::Usage(format!("more names than commands: {count}")));
    }
    let extractions = extractions(options)?;
    let subject = |number: usize| -> Result<Subject, Error> {
        let typed = typed.get(number).unwrap_or(&typed[0]);
        let own = |given: &[String]| {
            given.get(number).or(given.first().filter(|_| given.len() == 1)).map(|text| typed.filled(text))
        };
        let request = request(options, number, typed, folders.get(number), !extractions.is_empty())?;
        Ok(Subject {
            label: String::new(),
            program: Program {
                text: typed.text.clone(),
                request,
                prepare: own(&options.prepare),
                conclude: own(&options.conclude),
                extractions: extractions.clone(),
                counters: [false; 4],
                has_quota: false,
                ignore_failure: options.ignore_failure,
                vary_environment: options.vary.contains(&Vary::Env),
                subtract_start: options.subtract_start,
            },
            setup: own(&options.setup),
            cleanup: own(&options.cleanup),
            parameters: typed.parameters.clone(),
        })
    };
    let mut all: Vec<Subject> = (0..count).map(subject).collect::<Result<_, _>>()?;
    let texts: Vec<&str> =
        (0..count).map(|number| typed.get(number).unwrap_or(&typed[0]).text.as_str()).collect();
    for (number, subject) in all.iter_mut().enumerate() {
        subject.label = label(options, number, &texts, fixed);
    }
    Ok(all)
}

/// The letter of a command.
pub(super) fn letter(number: usize) -> char {
    char::from(b'A' + (number % MOST) as u8)
}

/// How a command is run.
fn request(
    options: &Versus,
    number: usize,
    typed: &Typed,
    folder: Option<&PathBuf>,
    is_read: bool,
) -> Result<ExecutionRequest, Error> {
    let wrong = |what: &str, text: &str, why: String| Error::Usage(format!("{what} {text}: {why}"));
    let own = |given: &[String]| {
        let mine = given.iter().map(|text| lettered(text)).filter(|(to, _)| to.is_none_or(|to| to == number));
        mine.map(|(_, text)| text.to_owned()).collect::<Vec<_>>()
    };
    let mut environment = BTreeMap::new();
    for text in own(&options.env) {
        let (name, value) =
            text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        if name.is_empty() {
            return Err(wrong("--env", &text, "give VAR=VALUE, or A:VAR=VALUE for one command".to_owned()));
        }
        environment.insert(name.to_owned(), value.map(str::to_owned));
    }
    let cpu = own(&options.cpu)
        .pop()
        .map(|text| text.parse().map_err(|_| wrong("--cpu", &text, "give a CPU number".to_owned())));
    let priority =
        own(&options.priority).pop().map(|text| text.parse().map_err(|why| wrong("--priority", &text, why)));
    let directory = match (folder, own(&options.cwd).pop()) {
        (Some(folder), Some(below)) => Some(folder.join(below)),
        (Some(folder), None) => Some(folder.clone()),
        (None, named) => named.map(PathBuf::from),
    };
    if let Some(missing) = directory.as_ref().filter(|directory| folder.is_none() && !directory.is_dir()) {
        return Err(Error::Usage(format!("--cwd {}: no such folder", missing.display())));
    }
    let by_shell = |command: &str| -> Result<Vec<String>, Error> {
        let shell = options.shell.as_deref().unwrap_or_default();
        let mut words = split(shell)?;
        words.extend(["-c".to_owned(), command.to_owned()]);
        Ok(words)
    };
    let words = match (&options.shell, &typed.words) {
        (Some(_), _) => by_shell(&typed.text)?,
        (None, Some(words)) => words.clone(),
        (None, None) => plain(&typed.text)?,
    };
    let output = match (options.show_output, options.output.as_deref()) {
        (true, _) | (_, Some("inherit")) => OutputTarget::Inherit,
        (_, Some("pipe")) => OutputTarget::Pipe,
        (_, None | Some("null")) => OutputTarget::Null,
        (_, Some(file)) => OutputTarget::File(output_file(file)?),
    };
    let output = match output {
        OutputTarget::Null if is_read => OutputTarget::Pipe,
        OutputTarget::Inherit | OutputTarget::File(_) if is_read => {
            return Err(Error::Usage(
                "--metric reads what the commands print: without --output and --show-output".to_owned(),
            ));
        }
        other => other,
    };
    Ok(ExecutionRequest {
        words,
        empty: if options.shell.is_some() { by_shell("")? } else { Vec::new() },
        environment,
        directory,
        cpu: cpu.transpose()?,
        priority: priority.transpose()?.unwrap_or_default(),
        slack: None,
        joins: None,
        input: options.input.clone(),
        output,
        randomize: options.vary.contains(&Vary::Aslr),
        limit: options.limit,
        repeats: 1,
    })
}

/// A file that commands write to: nothing but a regular file is begun anew.
fn output_file(file: &str) -> Result<PathBuf, Error> {
    let path = PathBuf::from(file);
    match path.symlink_metadata() {
        Ok(known) if !known.is_file() => Err(Error::Usage(format!("--output {file}: not a regular file"))),
        _ => Ok(path),
    }
}

/// The numbers that commands print.
fn extractions(options: &Versus) -> Result<Vec<Extraction>, Error> {
    let one = |text: &String| {
        let (name, finder) = text
            .split_once('=')
            .filter(|(name, finder)| !name.is_empty() && !finder.is_empty())
            .ok_or_else(|| Error::Usage(format!("--metric {text}: give NAME=REGEX or NAME=JSONPATH")))?;
        let is_known = name.starts_with("command.");
        if is_known || name.contains(char::is_whitespace) {
            return Err(Error::Usage(format!(
                "--metric {name}: a name has no blanks and does not begin with command."
            )));
        }
        let better =
            if options.higher.iter().any(|higher| higher == name) { Better::Higher } else { Better::Lower };
        let finder = Finder::parse(finder).map_err(|why| Error::Usage(format!("--metric {why}")))?;
        Ok(Extraction { name: name.to_owned(), finder, better })
    };
    let all: Vec<Extraction> = options.metric.iter().map(one).collect::<Result<_, _>>()?;
    let names = || all.iter().map(|one| one.name.as_str());
    let twice = (1..all.len()).find(|at| names().take(*at).any(|name| name == all[*at].name));
    if let Some(at) = twice {
        return Err(Error::Usage(format!("--metric {} is given twice", all[at].name)));
    }
    match options.higher.iter().find(|higher| !names().any(|name| name == **higher)) {
        Some(other) => Err(Error::Usage(format!("--higher {other}: no --metric has this name"))),
        None => Ok(all),
    }
}

/// The metrics that the verdict is about.
pub(super) fn primary(options: &Versus, subjects: &[Subject]) -> Result<Vec<String>, Error> {
    if options.primary.is_empty() {
        let time = if options.subtract_start { names::COMMAND_NET } else { names::COMMAND_TIME };
        return Ok(vec![time.to_owned()]);
    }
    // Whether the processor's counters are there is known later.
    let all = |subject: &Subject| {
        Program { counters: [true; 4], has_quota: true, ..subject.program.clone() }.metrics()
    };
    let metrics = subjects.first().map(all).unwrap_or_default();
    let known = || metrics.iter().map(|metric| metric.name.as_str());
    for wanted in &options.primary {
        if !known().any(|name| name == wanted) {
            let meant = tickmark_store::did_you_mean_or_all(wanted, &known().collect::<Vec<_>>());
            return Err(Error::Usage(format!("--primary {wanted}: no such metric{meant}")));
        }
    }
    Ok(options.primary.clone())
}

/// How a command is called: as it is named, as it was typed, or by what tells it from the same command beside it.
fn label(options: &Versus, number: usize, texts: &[&str], fixed: &[String]) -> String {
    if let Some(name) = options.command_name.get(number) {
        return name.clone();
    }
    if let Some(name) = fixed.get(number) {
        return name.clone();
    }
    let text = texts[number].split_whitespace().collect::<Vec<_>>().join(" ");
    if texts.iter().filter(|other| **other == texts[number]).count() == 1 {
        return text;
    }
    let given = [("", &options.env), ("in ", &options.cwd), ("CPU ", &options.cpu), ("", &options.priority)];
    let own = given.iter().flat_map(|(what, given)| given.iter().map(move |text| (what, lettered(text))));
    let own: Vec<String> = own
        .filter(|(_, (to, _))| *to == Some(number))
        .map(|(what, (_, text))| format!("{what}{text}"))
        .collect();
    let own = if own.is_empty() { letter(number).to_string() } else { own.join(", ") };
    format!("{text}, {own}")
}

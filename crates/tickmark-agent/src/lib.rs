//! The agent: it takes a plan, makes each run in a fresh process under a hard limit, and passes on what
//! was observed. It never computes a statistic.
//!
//! `tickmark agent` and the static `tickmark-agent` are the same code. A plan comes in on standard
//! input as one line of JSON; events go out on standard output, one a line. When standard input ends,
//! the agent stops.
//!
//! # Where things are
//!
//! - **Sizes of memory and files**: `agent/src/sizes.rs`.
//! - **A new fact of the environment**: a line in `agent/src/environment/`.
#![forbid(unsafe_code)]

mod child;
mod cpu;
mod environment;
mod guest;
mod links;
mod scratch;
mod serve;
mod settle;
mod sizes;
mod supervisor;
mod survey;

pub use scratch::sweep_all;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use tickmark_wire::{Arguments, Catalogue, FORMAT, Offer};

const HELP: &str = "\
tickmark-agent measures what a plan on standard input asks for (one line of JSON) and writes events to
standard output (one line of JSON each). It is started by `tickmark run`, here or on another machine.

Usage: tickmark-agent [run]        carry out a plan
       tickmark-agent list         name every metric
       tickmark-agent catalogue [PROBE:PARAMETER=VALUE,...]
                                   what it can measure, as JSON
       tickmark-agent serve ADDRESS:PORT [CPU]
                                   answer `tickmark comms --peer`; the token is the first line of standard input
       tickmark-agent survey SECONDS PLAN
                                   carry out a plan of `tickmark fleet run`, for so long at most
       tickmark-agent links SECONDS ADDRESS:PORT,... [NETWORK]
                                   measure links as `tickmark fleet links` at one of these addresses tells it, for so long at most
       tickmark-agent --version    version and size of this program

Where an emulator of programs runs it (qemu-user), TICKMARK_AGENT_STARTER names a script that starts it, with \"$@\".
";

/// Carries out the command line. `prefix` stands before the agent's own arguments when it starts
/// itself again (`agent` where it is part of the `tickmark` program).
pub fn main(arguments: impl IntoIterator<Item = OsString>, prefix: &[&str]) -> ExitCode {
    tickmark_probe::sys::limits::wait_for_children();
    if guest::is_guest() {
        guest::run();
    }
    let (command, words) = match command(arguments) {
        Ok(words) => words,
        Err(message) => return usage(&message),
    };
    match command.as_str() {
        "run" => supervisor::run(prefix, None),
        "one" => child::run(),
        "list" => print(&tickmark_load::REGISTRY.cases().map(|case| case.name() + "\n").collect::<String>()),
        "catalogue" => match catalogue(&words) {
            Ok(catalogue) => print(&(serde_json::to_string(&catalogue).unwrap_or_default() + "\n")),
            Err(message) => usage(&message),
        },
        "serve" => serve::run(&words),
        "links" => links::run(&words),
        "survey" => supervisor::run(prefix, Some(&words)),
        "version" => {
            let (version, bytes) = (env!("CARGO_PKG_VERSION"), settle::program_bytes());
            print(&format!("tickmark-agent {version}, {bytes} bytes\n"))
        }
        _ => print(HELP),
    }
}

/// Writes to standard output; whoever reads it may have gone.
fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("tickmark-agent: {message}; see tickmark-agent --help");
    ExitCode::from(2)
}

/// The catalogue of this agent: everything that suites run, or the named cases.
///
/// # Errors
/// A probe that it has not, or cannot be told so.
pub fn catalogue(cases: &[String]) -> Result<Catalogue, String> {
    let offers = if cases.is_empty() {
        tickmark_load::REGISTRY.cases().map(|case| case.offer()).collect()
    } else {
        cases.iter().map(|case| offer(case)).collect::<Result<_, _>>()?
    };
    Ok(Catalogue {
        format: FORMAT,
        agent: env!("CARGO_PKG_VERSION").to_owned(),
        offers,
        every_run: tickmark_probe::EVERY_RUN.iter().map(|(name, _)| (*name).to_owned()).collect(),
    })
}

/// A case from PROBE:PARAMETER=VALUE,...
fn offer(text: &str) -> Result<Offer, String> {
    let (name, given) = text.split_once(':').unwrap_or((text, ""));
    let probe =
        tickmark_load::REGISTRY.find(name).ok_or_else(|| format!("this agent has no probe {name}"))?;
    let mut arguments = Arguments::new();
    for pair in given.split(',').filter(|pair| !pair.is_empty()) {
        let (parameter, value) =
            pair.split_once('=').ok_or_else(|| format!("{name}: give PARAMETER=VALUE and not {pair}"))?;
        if arguments.insert(parameter.trim().to_owned(), value.trim().to_owned()).is_some() {
            return Err(format!("{name}: {parameter} is given twice"));
        }
    }
    probe.case(&arguments).map(|case| case.offer())
}

/// The command, and the words behind it.
fn command(arguments: impl IntoIterator<Item = OsString>) -> Result<(String, Vec<String>), String> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let command = match parser.next().map_err(|e| e.to_string())? {
        None => "run",
        Some(lexopt::Arg::Short('h') | lexopt::Arg::Long("help")) => "help",
        Some(lexopt::Arg::Short('V') | lexopt::Arg::Long("version")) => "version",
        Some(lexopt::Arg::Value(value)) => match value.to_str() {
            Some("run") => "run",
            Some("one") => "one",
            Some("list") => "list",
            Some("serve") => "serve",
            Some("links") => "links",
            Some("survey") => "survey",
            Some("catalogue") => "catalogue",
            _ => return Err(format!("no command {}", value.display())),
        },
        Some(other) => return Err(other.unexpected().to_string()),
    };
    let words =
        parser.raw_args().map(|words| words.map(|word| word.to_string_lossy().into_owned()).collect());
    Ok((command.to_owned(), words.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_asked_for_by_what_it_is_told() {
        let named =
            |text: &str| catalogue(&[text.to_owned()]).map(|all| all.offers[0].metrics[0].name.to_string());
        assert_eq!(named("switch:processes=4,kib=32").unwrap(), "switch.4p.32k");
        assert_eq!(named("syscall.null").unwrap(), "syscall.null");
        for (wrong, why) in [
            ("nothing:a=1", "no probe nothing"),
            ("switch:processes", "PARAMETER=VALUE"),
            ("switch:place=same,place=across", "twice"),
            ("switch:processes=1000", "from 2 to 96"),
        ] {
            assert!(named(wrong).unwrap_err().contains(why), "{wrong}");
        }
    }
}

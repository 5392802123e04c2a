//! The agent: it takes a plan, makes each run in a fresh process under a hard limit, and passes on what
//! was observed. It never computes a statistic.
//!
//! `tickmark agent` and the static `tickmark-agent` are the same code. A plan comes in on standard
//! input as one line of JSON; events go out on standard output, one a line. When standard input ends,
//! the agent stops.
#![forbid(unsafe_code)]

mod child;
mod cpu;
mod environment;
mod guest;
mod scratch;
mod settle;
mod sizes;
mod supervisor;

use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = "\
tickmark-agent measures what a plan on standard input asks for (one line of JSON) and writes events to
standard output (one line of JSON each). It is started by `tickmark run`, here or on another machine.

Usage: tickmark-agent [run]        carry out a plan
       tickmark-agent list         name every probe
       tickmark-agent --version    version and size of this program
";

/// Carries out the command line. `prefix` stands before the agent's own arguments when it starts
/// itself again (`agent` where it is part of the `tickmark` program).
pub fn main(arguments: impl IntoIterator<Item = OsString>, prefix: &[&str]) -> ExitCode {
    tickmark_probe::sys::limits::wait_for_children();
    if guest::is_guest() {
        guest::run();
    }
    match command(arguments).as_deref() {
        Ok("run") => supervisor::run(prefix),
        Ok("one") => child::run(),
        Ok("list") => {
            for probe in tickmark_probe::all() {
                println!("{}", probe.spec.name);
            }
            ExitCode::SUCCESS
        }
        Ok("version") => {
            println!("tickmark-agent {}, {} bytes", env!("CARGO_PKG_VERSION"), settle::program_bytes());
            ExitCode::SUCCESS
        }
        Ok(_) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("tickmark-agent: {message}; see tickmark-agent --help");
            ExitCode::from(2)
        }
    }
}

fn command(arguments: impl IntoIterator<Item = OsString>) -> Result<String, String> {
    let mut parser = lexopt::Parser::from_args(arguments);
    match parser.next().map_err(|e| e.to_string())? {
        None => Ok("run".to_owned()),
        Some(lexopt::Arg::Short('h') | lexopt::Arg::Long("help")) => Ok("help".to_owned()),
        Some(lexopt::Arg::Short('V') | lexopt::Arg::Long("version")) => Ok("version".to_owned()),
        Some(lexopt::Arg::Value(value)) => match value.to_str() {
            Some(known @ ("run" | "one" | "list")) => Ok(known.to_owned()),
            _ => Err(format!("no command {}", value.display())),
        },
        Some(other) => Err(other.unexpected().to_string()),
    }
}

//! tickmark measures what timekeeping and communication cost on Linux.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod error;
mod progress;
mod selection;
mod stat;

use clap::{CommandFactory, FromArgMatches};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // Before anything else is set up: a run's process starts here too, and should be small.
    if arguments.next().is_some_and(|first| first == "agent") {
        return tickmark_agent::main(arguments, &["agent"]);
    }
    if let Some((flavour, rest)) = stat::compat::asked(std::env::args_os().skip(1)) {
        return exit(stat::compat::run(flavour, &rest));
    }
    // A file that may not grow is an error of writing, and not the end of this process.
    tickmark_probe::sys::limits::keep_writing_errors();
    cli::complete::answer();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return cli::exit(&error),
    };
    exit(command::dispatch(cli))
}

/// The command line. A variable that is set to nothing is as one that is not set.
fn parse() -> Result<cli::Cli, clap::Error> {
    let mut command = cli::Cli::command();
    if std::env::var_os(cli::STORE).is_some_and(|place| place.is_empty()) {
        command = command.mut_arg("store", |store| store.env(None::<&str>));
    }
    let mut found = command.try_get_matches_from_mut(std::env::args_os())?;
    cli::Cli::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command))
}

fn exit(result: Result<error::Code, error::Error>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code.number()),
        Err(error) => {
            anstream::eprintln!("tickmark: {}", tickmark_wire::text::printable(&error.to_string(), false));
            ExitCode::from(error.code().number())
        }
    }
}

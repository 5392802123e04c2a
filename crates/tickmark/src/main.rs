//! tickmark measures what timekeeping and communication cost on Linux.
//!
//! # Where things are
//!
//! - **ministat**: `tickmark/src/stat/compat.rs` and `frame.rs` are the old one with its faults; the rest of the folder is ours.
//! - **A command at several HZ**: `probe/src/probes/command.rs` runs it (in guests and over ssh), `stats/src/balance.rs` has the curve,
//!   `tickmark-analysis/src/balance.rs` what it says; `tickmark/src/command/setting/hz.rs` makes the matrix of boots.
//! - **Documents**: `papers/NAME.toml` has what one asks, found and claims; `tickmark-analysis/src/paper/` finds our figure for each claim in recordings,
//!   `tickmark-render/src/paper/` shows them, `tickmark/src/command/setting/papers/` measures, gathers and has the tables in the document's form.
//! - **The live view**: `probe/src/live.rs` watches, `analysis/src/live.rs` keeps, `tickmark/src/command/machine/live/` shows.
//! - **Exit codes and error texts**: `tickmark/src/error.rs`; those of recordings: `tickmark-store/src/error.rs`.
#![forbid(unsafe_code)]

mod cli;
mod command;
mod error;
mod notice;
mod progress;
mod selection;
mod stat;
mod suggest;

use clap::{CommandFactory, FromArgMatches};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // Before anything else is set up: a run's process starts here too, and should be small.
    let first = arguments.next().unwrap_or_default();
    if first == "agent" {
        return tickmark_agent::main(arguments, &["agent"]);
    }
    if first == tickmark_drive::runner::NAME {
        return tickmark_drive::runner::serve();
    }
    if let Some((flavour, rest)) = stat::compat::requested_ministat(std::env::args_os().skip(1)) {
        return exit(stat::compat::run(flavour, &rest));
    }
    // A file that may not grow is an error of writing, and not the end of this process.
    tickmark_probe::sys::limits::keep_writing_errors();
    report_panics();
    cli::complete::answer();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return cli::exit(&error),
    };
    exit(command::dispatch(cli))
}

/// The release program aborts after a panic: what is to be restored or explained is done before that.
fn report_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(error) = tickmark_tables::error_of_panic() {
            let error = error::Error::from(error);
            print_error(&error);
            std::process::exit(error.code().number().into());
        }
        usual(panic);
        tickmark_drive::restore_after_panic();
    }));
}

/// The command line. A variable that is set to nothing is as one that is not set.
fn parse() -> Result<cli::Cli, clap::Error> {
    let mut command = cli::Cli::command();
    if std::env::var_os(cli::STORE).is_some_and(|place| place.is_empty()) {
        command = command.mut_arg("store", |store| store.env(None::<&str>));
    }
    let mut command = cli::grouped(command);
    let mut found = command.try_get_matches_from_mut(std::env::args_os())?;
    cli::Cli::from_arg_matches_mut(&mut found).map_err(|error| error.format(&mut command))
}

fn exit(result: Result<error::Code, error::Error>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code.number()),
        Err(error) => {
            print_error(&error);
            ExitCode::from(error.code().number())
        }
    }
}

fn print_error(error: &error::Error) {
    crate::notice!("tickmark: {}", tickmark_wire::text::printable(&error.to_string(), false));
}

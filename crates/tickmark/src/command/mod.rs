//! One file a command.

mod compare;
mod export;
mod import;
mod list;
mod manual;
mod recordings;
mod run;
mod show;
mod verify;

use crate::cli::{Cli, Command};
use crate::error::{Code, Error};
use crate::store::Store;
use std::io::Write;

/// Carries out a command line.
pub(crate) fn dispatch(cli: Cli) -> Result<Code, Error> {
    let store = || Store::at(cli.store.clone());
    match cli.command {
        Command::Run(run) => run::run(&store()?, &run),
        Command::List(list) => list::run(&list),
        Command::Verify(verify) => verify::run(&verify),
        Command::Recordings(recordings) => recordings::run(&store()?, &recordings),
        Command::Show(show) => show::run(&store()?, &show),
        Command::Compare(compare) => compare::run(&store()?, &compare),
        Command::Import(import) => import::run(&store()?, &import),
        Command::Export(export) => export::run(&store()?, &export),
        Command::Completions(completions) => manual::completions(&completions),
        Command::Man(man) => manual::man(&man),
    }
}

/// Writes text to standard output; colours go where they are wanted. A reader that has gone (`| head`)
/// is no error.
fn print(text: &str) -> Result<(), Error> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}

/// Writes a value as indented JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::Output(e.into()))?;
    print(&format!("{text}\n"))
}

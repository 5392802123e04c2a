//! A team's store: each command works on a copy, which is made like the server before and after it.

use super::dispatch_here;
use crate::cli::{Cli, Command};
use crate::error::{Code, Error};
use std::collections::BTreeSet;
use tickmark_shared::Shared;
use tickmark_store::Store;

/// The shared store that `--store` names, if it names one and the command has to do with recordings.
pub(super) fn of(cli: &Cli) -> Option<Result<Shared, Error>> {
    let needs = !matches!(
        cli.command,
        Command::List(_)
            | Command::Verify(_)
            | Command::Stat(_)
            | Command::Live(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Fleet(_)
    );
    let address = cli.store.as_deref()?.to_str()?;
    Shared::at(address).filter(|_| needs).map(|shared| shared.map_err(Error::from))
}

/// The ids in the copy.
fn ids(store: &Store) -> BTreeSet<String> {
    let entries = std::fs::read_dir(store.root().join("recordings")).into_iter().flatten().flatten();
    let whole = entries.filter(|entry| entry.path().join("meta.json").exists());
    whole.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

pub(super) fn dispatch(shared: &Shared, mut cli: Cli) -> Result<Code, Error> {
    let store = super::open(Some(shared.root()))?;
    // Without the server there is the copy: what is measured is not lost.
    let reached = told(&shared.sync(&store, &[]));
    let before = ids(&store);
    cli.store = Some(shared.root());
    let done = dispatch_here(cli);
    let after = ids(&store);
    let deleted: Vec<String> = before.difference(&after).cloned().collect();
    let sent = told(&shared.sync(&store, &deleted));
    match done {
        Ok(Code::Done) if !(reached && sent) => Ok(Code::Partly),
        done => done,
    }
}

/// Whether it was done; what was not is told.
fn told(done: &Result<tickmark_shared::Synced, tickmark_shared::Error>) -> bool {
    if let Err(error) = done {
        let said = tickmark_wire::text::printable(&error.to_string(), false).into_owned();
        anstream::eprintln!("tickmark: {said}; what is new is kept here, and sent with the next command");
    }
    done.is_ok()
}

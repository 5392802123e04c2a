//! A team's store: each command works on a copy, which is made like the server before and after it.

use crate::cli::{Change, Cli, Command};
use crate::command::dispatch_here;
use crate::error::{Code, Error};
use std::collections::BTreeSet;
use tickmark_shared::Shared;
use tickmark_store::Store;

/// The shared store that `--store` names, if it names one and the command has to do with recordings.
pub(in crate::command) fn shared_store(cli: &Cli) -> Option<Result<Shared, Error>> {
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

/// The ids in the copy; none where it cannot be read.
fn ids(store: &Store) -> Option<BTreeSet<String>> {
    let entries = std::fs::read_dir(store.root().join("recordings")).ok()?;
    let entries = entries.collect::<Result<Vec<_>, _>>().ok()?;
    let whole = entries.iter().filter(|entry| entry.path().join("meta.json").exists());
    Some(whole.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

/// True if the command is one that deletes recordings: what is gone after any other was lost, and comes back.
fn deletes(command: &Command) -> bool {
    let Command::Recordings(options) = command else { return false };
    matches!(options.change, Some(Change::Delete { .. } | Change::Prune { .. }))
}

pub(in crate::command) fn dispatch(shared: &Shared, mut cli: Cli) -> Result<Code, Error> {
    let store = crate::command::open(Some(shared.root()))?;
    // Without the server there is the copy: what is measured is not lost.
    let reached = report_sync(&shared.sync(&store, &[]));
    let before = deletes(&cli.command).then(|| ids(&store)).flatten();
    cli.store = Some(shared.root());
    let done = dispatch_here(cli);
    let both = before.zip(ids(&store));
    let deleted = both.map(|(before, after)| before.difference(&after).cloned().collect::<Vec<_>>());
    let deleted = deleted.unwrap_or_default();
    // A server that did not answer is asked again by the next command, and not at the end of this one.
    let sent =
        if reached || !deleted.is_empty() { report_sync(&shared.sync(&store, &deleted)) } else { false };
    match done {
        Ok(Code::Done) if !(reached && sent) => Ok(Code::Partly),
        done => done,
    }
}

/// True if all of it was done; what was not is told.
fn report_sync(done: &Result<tickmark_shared::Synced, tickmark_shared::Error>) -> bool {
    if let Err(error) = done {
        let said = tickmark_wire::text::printable(&error.to_string(), false).into_owned();
        crate::notice!("tickmark: {said}; what is new is kept here, and sent with the next command");
    }
    let conflicts = done.as_ref().map_or(0, |done| done.conflicts);
    if conflicts > 0 {
        crate::notice!(
            "tickmark: {conflicts} recordings went on here and on the server in two ways (resumed on two machines?): both stay as they are"
        );
    }
    done.is_ok() && conflicts == 0
}

//! What a shell offers behind a command: the probes of this machine's agent, the recordings of the store.

use crate::selection::suites;
use clap::CommandFactory;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use std::collections::BTreeSet;
use tickmark_drive::ThisMachine;
use tickmark_store::Store;

/// The variable by which a shell asks.
const ASKED: &str = "TICKMARK_COMPLETE";

/// Answers a shell and ends, where one asks.
pub(crate) fn answer() {
    CompleteEnv::with_factory(super::Cli::command).var(ASKED).bin("tickmark").complete();
}

/// What a shell reads to ask from then on.
pub(crate) fn script(shell: clap_complete::Shell) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&shell.to_string()).ok_or(std::io::ErrorKind::Unsupported)?;
    shell.write_registration(ASKED, "tickmark", "tickmark", "tickmark", &mut text)?;
    Ok(text)
}

/// Suites and metrics.
pub(super) fn probes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let offers = ThisMachine::catalogue(&[]).map(|catalogue| catalogue.offers).unwrap_or_default();
        let suites = suites().map(|suite| CompletionCandidate::new(suite).help(Some("suite".into())));
        let metrics = offers.iter().flat_map(|offer| &offer.metrics).map(|metric| {
            CompletionCandidate::new(metric.name.as_str()).help(Some(metric.title.trim().to_owned().into()))
        });
        suites.chain(metrics).collect()
    })
}

/// Names of recordings, those of the user's store or TICKMARK_STORE's.
pub(super) fn recordings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let root = std::env::var_os("TICKMARK_STORE").filter(|root| !root.is_empty()).map(Into::into);
        let entries = Store::at(root, |_| {}).and_then(|store| store.list()).unwrap_or_default();
        let names: BTreeSet<String> = entries.iter().map(|entry| entry.name.clone()).collect();
        let ids = entries
            .iter()
            .map(|entry| CompletionCandidate::new(entry.id.short()).help(Some(entry.name.clone().into())));
        let last = CompletionCandidate::new("last").help(Some("the newest".into()));
        std::iter::once(last).chain(names.into_iter().map(CompletionCandidate::new)).chain(ids).collect()
    })
}

//! Node lists of Slurm.

use super::hosts;
use crate::Error;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;
use tickmark_process::{End, Until};

/// Longest time for a query.
const ASKED: Duration = Duration::from_secs(20);

/// What helps where there is no Slurm.
const WITHOUT: &str = "; without Slurm give --launcher COMMAND";

/// Asks Slurm.
pub(super) fn ask(program: &str, words: &[&str]) -> Result<String, Error> {
    let mut command = Command::new(program);
    command.args(words);
    let until = Until { limit: Some(ASKED), stop: &|| false };
    let done = tickmark_process::output(command, Vec::new(), true, &until).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        Error::Refused(format!("{program}: {error}{}", if missing { WITHOUT } else { "" }))
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match done.end {
        End::Exited(status, _) if status.success() => Ok(text(&done.stdout)),
        // The last of its lines says why.
        _ => {
            let why = text(&done.stderr);
            let why = why.lines().last().unwrap_or("it failed");
            let why = why.trim_start_matches(&format!("{program}: "));
            Err(Error::Refused(format!("Slurm does not answer ({program}: {why}){WITHOUT}")))
        }
    }
}

/// The machines where none are named: those of the allocation that this runs in, else all of the cluster.
///
/// # Errors
/// Slurm does not answer.
pub fn members() -> Result<Vec<String>, Error> {
    if let Ok(list) = std::env::var("SLURM_JOB_NODELIST") {
        return hosts::expand(&list).map_err(|why| Error::Usage(format!("SLURM_JOB_NODELIST: {why}")));
    }
    let names = ask("sinfo", &["--noheader", "--Node", "--format=%N"])?;
    hosts::expand(&names.lines().collect::<Vec<_>>().join(","))
        .map_err(|why| Error::Refused(format!("sinfo: {why}")))
}

/// Of these machines, those that Slurm knows it cannot use now, and why: with one of them a step would not begin.
///
/// # Errors
/// Slurm does not answer.
pub fn down(nodes: &[String]) -> Result<BTreeMap<String, String>, Error> {
    let list = nodes.join(",");
    let said = ask("sinfo", &["--noheader", "--Node", "--format=%N|%T|%E", "--nodes", &list])?;
    let mut states = BTreeMap::new();
    for line in said.lines() {
        let mut words = line.splitn(3, '|');
        if let (Some(node), Some(state), reason) = (words.next(), words.next(), words.next()) {
            states.insert(
                node.trim().to_owned(),
                (state.trim().to_owned(), reason.unwrap_or("none").trim().to_owned()),
            );
        }
    }
    let unusable = |state: &str| {
        state.ends_with('*')
            || ["down", "drain", "fail", "unknown", "power", "maint", "reboot"]
                .iter()
                .any(|bad| state.contains(bad))
    };
    let why = |node: &String| match states.get(node) {
        None => Some("Slurm knows no such node".to_owned()),
        Some((state, reason)) if unusable(state) => {
            let star = if state.ends_with('*') { ", does not respond" } else { "" };
            let reason = if reason == "none" { String::new() } else { format!(": {reason}") };
            Some(format!("Slurm has it as {}{star}{reason}", state.trim_end_matches('*')))
        }
        Some(_) => None,
    };
    Ok(nodes.iter().filter_map(|node| Some((node.clone(), why(node)?))).collect())
}

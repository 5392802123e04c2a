//! The recordings of the store.

use crate::cli::{Format, Recordings};
use crate::error::{Code, Error};
use crate::store::Store;
use std::fmt::Write;

pub(super) fn run(store: &Store, asked: &Recordings) -> Result<Code, Error> {
    if asked.rebuild {
        let count = store.rebuild()?;
        anstream::eprintln!("the index was made again from {count} recordings");
    }
    let entries = store.list()?;
    if asked.output.format == Format::Json {
        super::print_json(&entries)?;
        return Ok(Code::Done);
    }
    if entries.is_empty() {
        super::print(&format!("no recordings in {}; tickmark run makes one\n", store.root().display()))?;
        return Ok(Code::Done);
    }
    let mut text = String::new();
    for e in &entries {
        let unknown = || "unknown".to_owned();
        let when = e.created.get(..16).unwrap_or(&e.created).replace('T', " ");
        let state = if e.complete { "complete" } else { "open" };
        let _ = writeln!(
            text,
            "{}  {when} UTC  {:20} {:4} metrics  {:>5} of {} runs  {state:8}  Linux {}  clock source {}",
            e.id,
            e.name,
            e.metrics,
            e.runs_done,
            e.runs_planned,
            e.kernel.clone().unwrap_or_else(unknown),
            e.clock_source.clone().unwrap_or_else(unknown),
        );
    }
    super::print(&text)?;
    Ok(Code::Done)
}
